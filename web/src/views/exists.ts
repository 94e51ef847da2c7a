// The checkpoint against a listing: what is missing, what can be had again, what nobody names.
import type { App, View } from '../app';
import type { Check } from '../core/types';
import { brief, fill, h, name, prose, type Child } from '../dom';
import type { Opening } from '../open/opening';
import { bytes, count, number } from '../quantity';
import type { Doc } from '../store';
import { steps } from './chain';
import { STATUS_LEVEL, statusWords } from './files';
import { badge, failed, verdict, type Level } from './parts';

const LEVEL: Record<Check['verdict'], Level> = { healthy: 'ok', repairable: 'warn', lost: 'bad', unknown: 'info' };

/** Where something is missing, not knowing whether it can be had again is no comfort. */
export function levelOf(said: Check): Level {
  const missing = said.by_status.some(({ status, objects }) => objects > 0 && (status === 'missing' || status === 'wrong_size'));
  return missing ? 'bad' : (LEVEL[said.verdict] ?? 'info');
}

function list(key: string, heading: Child, about: string, examples: readonly string[], total: number, app: App, needed: boolean): Child {
  if (total === 0) return null;
  return h('section', { class: 'card spaced', 'data-status': key }, h('h2', {}, heading), h('p', { class: 'small muted' }, about),
    h('ul', { class: 'stack spaced' }, examples.map((one) => h('li', {}, name(one), needed ? [' ', h('button', { type: 'button', class: 'link small', onclick: () => app.go('breaks', { text: one }) }, 'who needs it')] : null))),
    total > examples.length ? h('p', { class: 'small muted spaced' }, `and ${number(total - examples.length)} more`) : null);
}

export function exists(app: App, doc: Doc, opening: Opening): View {
  const { listing } = app.store.state;
  const area = h('textarea', { rows: 4, id: `listing-${doc.key}`, 'aria-label': 'A listing, as text', placeholder: 'Paste a listing here, or drop its file anywhere.', spellcheck: 'false' });
  const how = h('div', { class: 'card stack' },
    h('p', {}, 'A listing says what exists. Any of these will do:'),
    h('pre', { tabindex: '0' }, 'aws s3api list-object-versions --bucket BUCKET --prefix checkpoints/ > versions.json\naws s3api list-objects-v2      --bucket BUCKET --prefix checkpoints/ > objects.json\naws s3 ls --recursive s3://BUCKET/checkpoints/ > objects.txt'),
    h('p', { class: 'small muted' }, 'Or a file of S3 Inventory (CSV, also gzipped), or drop the whole directory. Only list-object-versions shows what was deleted and can be had again.'),
    area,
    h('div', { class: 'input-row' },
      h('button', { type: 'button', class: 'primary', onclick: () => { if (area.value.trim() !== '') void opening.listing(new TextEncoder().encode(area.value), 'the pasted listing'); } }, 'Check'),
      h('button', { type: 'button', onclick: () => document.getElementById('file-input')?.click() }, 'Choose a file')));
  const answer = h('div', { 'aria-live': 'polite' });
  const element = h('div', { class: 'page', 'data-view': 'exists' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Is all that it needs there?'), h('p', {}, 'Hold the checkpoint against a listing of the bucket or the directory.')), answer,
    listing === null ? how : h('details', { class: 'spaced' }, h('summary', {}, 'Check against another listing'), how));
  if (listing === null) return { element };
  const show = (said: Check): void => {
    const sentence = typeof listing.describe.sentence === 'string' ? listing.describe.sentence : '';
    fill(answer,
      verdict(levelOf(said), h('span', { 'data-verdict': said.verdict }, prose(said.sentence)), prose(said.next_step)),
      doc.at === undefined ? h('p', { class: 'notice warn' }, h('span', {}, 'Where the checkpoint lies isn’t known, so files that it names relative to itself can’t be looked for by their key. ', h('button', { type: 'button', class: 'link', onclick: () => app.go('glance') }, 'Say where it lies'))) : null,
      h('dl', { class: 'figures' }, said.by_status.filter(({ objects }) => objects > 0).map((one) => h('div', {},
        h('dt', {}, badge(STATUS_LEVEL[one.status] ?? 'info'), ' ', cap(statusWords(one.status))), h('dd', { 'data-count': one.status }, number(one.objects)), h('dd', { class: 'sub' }, bytes(one.bytes)))),
        said.metadata === null ? null : h('div', {}, h('dt', {}, badge(STATUS_LEVEL[said.metadata] ?? 'info'), ' _metadata itself'), h('dd', {}, statusWords(said.metadata)), h('dd', { class: 'sub' }, 'the file that you see'))),
      h('p', { class: 'small muted spaced' }, `Checked against ${brief(listing.name, 120)}. `, prose(sentence, 400)),
      said.by_status.filter(({ status }) => status !== 'present' && status !== 'not_checked').map((one) => list(one.status, `${cap(statusWords(one.status))}: ${count(one.objects, 'file', 'files')}, ${bytes(one.bytes)}`, `${cap(one.meaning)}.`, one.examples, one.objects, app, true)),
      list('unreferenced_own', `In its own directory, and not named: ${count(said.unreferenced_own.objects, 'file', 'files')}, ${bytes(said.unreferenced_own.bytes)}`, 'This checkpoint doesn’t need them.', said.unreferenced_own.examples, said.unreferenced_own.objects, app, false),
      list('unreferenced_elsewhere', `Elsewhere in its job’s directory, and not named: ${count(said.unreferenced_elsewhere.objects, 'file', 'files')}, ${bytes(said.unreferenced_elsewhere.bytes)}`, 'This checkpoint doesn’t need them; other checkpoints can. Orphans only if no other one names them.', said.unreferenced_elsewhere.examples, said.unreferenced_elsewhere.objects, app, false),
      said.chain.length === 0 ? null : h('section', { class: 'card spaced' }, h('h2', {}, 'What the verdict rests on'), steps(said.chain)));
  };
  app.checked(doc)!.then((text) => show(JSON.parse(text) as Check), (error: unknown) => fill(answer, failed(error)));
  return { element };
}

const cap = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
