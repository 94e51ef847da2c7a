// Everything about one row: its path, its bytes, and the chain from the checkpoint to the file.
import type { App } from '../app';
import type { Detail } from '../core/types';
import { brief, h, name, type Child } from '../dom';
import { term } from '../explain';
import { bytes, count, number } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import { STATUS_LEVEL, statusWords } from './files';
import { badge, copyButton } from './parts';

const NAMES: Record<Detail['names'], string> = { absolute: 'an absolute path', relative: 'a path relative to _metadata', directory: 'a directory as a whole' };

/** The steps are escaped by the core. */
export function steps(chain: readonly string[]): HTMLElement {
  return h('ol', { class: 'chain' }, chain.map((text) => h('li', {}, h('bdi', { class: 'wrap' }, brief(text, 500)))));
}

export function chain(app: App, doc: Doc, detail: Detail): HTMLElement {
  const size = detail.size;
  const facts: [Child, Child][] = [
    ['Size', size === null ? 'the handle doesn’t say' : `${detail.size_means === 'at_least' ? 'at least ' : ''}${number(size)} bytes${size < 1024 ? '' : ` (${bytes(size)})`}${detail.size_means === 'uncompressed' ? ', uncompressed' : ''}`],
    ['For', term(detail.role_in_words, detail.role.split('.')[0])],
  ];
  if (detail.segment_start !== null && detail.state_bytes !== null) facts.push([term('Part', 'file_merging'), `${bytes(detail.state_bytes)} from byte ${number(detail.segment_start)} of the file`]);
  if (detail.key_groups !== null) facts.push([term('Key groups', 'key_groups'), detail.key_groups[0] === detail.key_groups[1] ? String(detail.key_groups[0]) : `${detail.key_groups[0]} to ${detail.key_groups[1]}`]);
  if (detail.local_path !== null) facts.push(['Known as', name(detail.local_path)]);
  facts.push(['Written as', `${NAMES[detail.names]}, ${count(detail.bytes[1] - detail.bytes[0], 'byte', 'bytes')} at ${number(detail.bytes[0])}`]);
  facts.push(['Lies in', words.whose(detail.whose)]);
  facts.push(['Named', `${count(detail.handles, 'time', 'times')} in this ${doc.summary.kind?.savepoint === true ? 'savepoint' : 'checkpoint'}`]);
  return h('div', { 'data-detail': detail.row },
    h('section', {}, h('h2', {}, detail.names === 'directory' ? 'The directory' : 'The file'), h('p', {}, name(detail.location)),
      h('div', { class: 'input-row spaced' }, copyButton(app, detail.location, 'Copy path'), h('button', { type: 'button', onclick: () => app.go('raw', { row: detail.row }) }, 'Its bytes'))),
    detail.status === 'not_checked' ? null : h('section', {}, h('h2', {}, 'In the listing'), h('p', {}, badge(STATUS_LEVEL[detail.status] ?? 'info'), ' ', statusWords(detail.status))),
    h('section', {}, h('dl', { class: 'facts' }, facts.map(([key, value]) => [h('dt', {}, key), h('dd', {}, value)]))),
    h('section', {}, h('h2', {}, 'Why it is needed'), steps(detail.chain),
      h('p', { class: 'small' }, h('button', { type: 'button', class: 'link', onclick: () => app.go('operators', { operator: detail.operator.id }) }, 'Show the operator'))));
}
