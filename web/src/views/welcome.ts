import examples from 'virtual:examples';
import { single } from '#deliver';
import type { App } from '../app';
import { brief, h, type Child } from '../dom';
import { icon } from '../icons';
import type { Opening } from '../open/opening';

/** Browsers let such a page read a directory that was chosen, but none that was dropped. */
const FROM_DISK = location.protocol === 'file:';

/** What was given before there is a checkpoint that it could be held against. */
function kept(app: App, opening: Opening): Child {
  const { listing, rules } = app.store.state;
  const notice = (what: 'rules' | 'listing', words: string, name: string): HTMLElement => h('div', { class: 'notice info', 'data-kept': what, role: 'status' },
    h('div', { class: 'text' }, h('p', {}, h('b', {}, `${words} read: `), h('bdi', {}, brief(name, 120))), h('p', {}, 'Kept for the checkpoint to come: now drop a checkpoint.')),
    h('button', { type: 'button', onclick: () => opening.forget(what) }, 'Forget'));
  return [rules === null ? null : notice('rules', 'Lifecycle rules', rules.name), listing === null ? null : notice('listing', 'Listing', listing.name)];
}

export function welcome(app: App, opening: Opening, chooseFiles: () => void, chooseDirectory: () => void): HTMLElement {
  return h('div', { class: 'welcome' },
    kept(app, opening),
    h('h1', {}, 'What is this checkpoint made of?'),
    h('p', { class: 'lead' }, 'Drop a ', h('code', {}, '_metadata'), ' file of Apache Flink®. You see what it is, how big, which operator holds most of it, which directories it needs, and what breaks if a file is gone.'),
    h('div', { class: 'dropbox' },
      h('p', { class: 'big' }, 'Drop files anywhere on this page'),
      h('div', { class: 'buttons' },
        h('button', { type: 'button', class: 'primary', onclick: chooseFiles }, 'Choose files'),
        h('button', { type: 'button', onclick: chooseDirectory }, 'Choose a directory')),
      h('p', { class: 'small muted' }, FROM_DISK
        ? 'One _metadata or several, a .zip, .tar or .tar.gz of a checkpoint or job directory; a listing of the bucket, its lifecycle rules. Pasting works too. A page from a disk can’t look into a dropped directory: choose it with the button.'
        : 'One _metadata or several, a whole checkpoint or job directory, a .zip, .tar or .tar.gz of it; a listing of the bucket, its lifecycle rules. Pasting works too.')),
    h('p', { class: 'promise' }, icon('lock'), h('span', {}, h('strong', {}, 'Nothing leaves this browser. '),
      single ? ['This file’s policy forbids every connection (', h('code', {}, "connect-src 'none'"), '), and the browser enforces that.'] : ['The page may connect to its own server only, to load itself (', h('code', {}, "connect-src 'self'"), '); the browser enforces that. It works offline.'])),
    h('h2', {}, 'Or look at one that Flink wrote'),
    h('ul', { class: 'examples' }, examples.map(({ id, title, about }) =>
      h('li', {}, h('button', { type: 'button', class: 'example', 'data-example': id, onclick: () => void opening.example(id) }, h('b', {}, title), h('span', {}, about))))));
}
