// “What breaks if this object vanishes?”: a key or a URL in, who needs it out.
import type { App, View } from '../app';
import { brief, fill, h, name, prose } from '../dom';
import { count, number } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import type { Referrers } from '../core/types';
import { steps } from './chain';
import { failed, later, verdict } from './parts';

export function breaks(app: App, doc: Doc): View {
  const input = h('input', { type: 'text', id: `key-${doc.key}`, placeholder: 's3://bucket/…/shared/34d2d0e5-…, a key, an https URL, or a file name', spellcheck: 'false', autocomplete: 'off' });
  const answer = h('div', { 'aria-live': 'polite', class: 'spaced answer-room' });
  const tries = h('ul', { class: 'stack' });
  const empty = (): void => fill(answer, h('div', { class: 'card' }, h('p', {}, 'For example the file of a ', h('code', {}, 'FileNotFoundException'), ', or a key that somebody is about to delete. All spellings mean the same object: ', h('code', {}, 's3://'), ', ', h('code', {}, 's3a://'), ', ', h('code', {}, 'https://'), ', an ARN, the bare key, or only the file’s name.'), h('h2', { class: 'spaced' }, 'Or try one of its largest files'), tries));
  const element = h('div', { class: 'page', 'data-view': 'breaks' },
    h('div', { class: 'view-head' }, h('h1', {}, 'What breaks if this object vanishes?'), h('p', {}, 'Paste a key or a URL, from an error message, a console or a clean-up script.')),
    h('label', { for: `key-${doc.key}`, class: 'small muted' }, 'Key, URL or file name'), input, answer);
  // Somebody who only looks around has no key at hand.
  void app.core.ask('view', { doc: doc.doc, query: { sort: { column: 'size', descending: true }, each_object_once: true } }).then(async (made) => {
    const { texts, count: rows } = await app.core.ask('window', { view: made.view, from: 0, count: 3 });
    void app.core.ask('closeView', { view: made.view });
    if (rows === 0) return;
    fill(tries, texts.split('\n').map((line) => {
      const path = line.split('\t')[0] ?? '';
      return h('li', {}, h('button', { type: 'button', class: 'link', 'data-try': true, onclick: () => { input.value = path; ask(); } }, name(path)));
    }));
  }, () => {});
  empty();
  let asked = 0;
  const show = (said: Referrers): void => {
    const found = said.found_by !== 'nothing';
    const more = said.object_count - said.objects.length;
    fill(answer, verdict(found ? 'bad' : 'info', h('span', { 'data-found-by': said.found_by }, prose(said.sentence))),
      said.objects.length === 0 ? null : h('div', { class: 'cards' },
        h('section', { class: 'card' }, h('h2', {}, said.object_count === 1 ? 'The object' : `${number(said.object_count)} objects`),
          h('ul', { class: 'stack' }, said.objects.map((one) => h('li', {}, name(one)))), more > 0 ? h('p', { class: 'muted' }, `and ${number(more)} more`) : null,
          h('p', { class: 'spaced' }, h('button', { type: 'button', onclick: () => app.go('files', { text: said.objects[0]!.split('/').at(-1) ?? '' }) }, 'Show in the files'))),
        h('section', { class: 'card' }, h('h2', {}, 'Who needs it'),
          h('ul', { class: 'stack' }, said.operators.map(({ operator, subtasks, subtask_count: all, handles, roles }) => h('li', {},
            h('button', { type: 'button', class: 'link', onclick: () => app.go('operators', { operator: operator.id }) }, h('bdi', {}, brief(words.operatorName(operator), 120))),
            h('div', { class: 'small muted' }, `${count(handles, 'handle', 'handles')}${all === 0 ? '' : `, subtask ${subtasks.join(', ')}${all > subtasks.length ? ` and ${number(all - subtasks.length)} more` : ''}`}: ${roles.map(words.role).join('; ')}`))))),
        h('section', { class: 'card' }, h('h2', {}, 'Why it is needed'), steps(said.chain))));
  };
  const ask = (): void => {
    const text = input.value.trim();
    const mine = ++asked;
    if (text === '') {
      empty();
      return;
    }
    app.ask<Referrers>(doc, 'referrers', text).then((said) => {
      if (mine === asked) show(said);
    }, (error: unknown) => {
      if (mine === asked) fill(answer, failed(error));
    });
  };
  const soon = later(160);
  input.addEventListener('input', () => soon(ask));
  return {
    element,
    shown() {
      if (app.wanted.text !== undefined) {
        input.value = app.wanted.text;
        app.wanted = {};
        ask();
      }
      input.focus({ preventScroll: true });
    },
    escape() {
      if (input.value === '') return false;
      input.value = '';
      ask();
      return true;
    },
  };
}
