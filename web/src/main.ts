import './style/base.css';
import './style/shell.css';
import './style/views.css';
import { App, type View } from './app';
import { single } from '#deliver';
import { brief, fill, h } from './dom';
import { hideTip, loadTerms, startTips } from './explain';
import { icon } from './icons';
import { Help, keysOn } from './keys';
import { entriesOf } from './open/gather';
import { Opening } from './open/opening';
import { problemNotice } from './open/problem';
import { ShareDialog } from './share/dialog';
import { VIEWS, readHash, type ViewId } from './store';
import { startTheme, toggleTheme } from './theme';
import { VIEW_MAKERS } from './views';
import { welcome } from './views/welcome';
import { title } from './words';

const app = new App();
const root = document.getElementById('app')!;

// --- the frame ---------------------------------------------------------------------------------------------------------------------------

const fileInput = h('input', { type: 'file', multiple: true, class: 'hidden', id: 'file-input', 'aria-hidden': 'true', tabindex: '-1' });
const directoryInput = h('input', { type: 'file', webkitdirectory: true, class: 'hidden', id: 'directory-input', 'aria-hidden': 'true', tabindex: '-1' });
const docSelect = h('select', { 'aria-label': 'Open checkpoints', id: 'docs' });
const searchInput = h('input', { type: 'search', id: 'search', placeholder: 'Find files', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Find files by a part of their path' });
const closeButton = h('button', { type: 'button', class: 'icon quiet', 'aria-label': 'Close this checkpoint', 'data-text': 'Close this checkpoint' }, icon('close'));
const shareButton = h('button', { type: 'button', class: 'needs-doc', id: 'share' }, icon('share'), 'Share');
const openButton = h('button', { type: 'button', id: 'open' }, icon('open'), 'Open');
const themeButton = h('button', { type: 'button', class: 'icon quiet', 'aria-label': 'Light or dark', onclick: toggleTheme }, icon('sun'));
const helpButton = h('button', { type: 'button', class: 'icon quiet', 'aria-label': 'Keys and help' }, '?');

const top = h(
  'header',
  { class: 'top' },
  h('button', { type: 'button', class: 'brand', 'aria-label': 'Stayput inspector: back to the first view', onclick: () => app.go('glance') },
    h('span', { class: 'mark' }, icon('mark')), h('span', { class: 'text' }, 'Stayput ', h('span', { class: 'thin' }, 'inspector'))),
  h('div', { class: 'docs' }, docSelect),
  h('div', { class: 'docs-close' }, closeButton),
  h('form', { class: 'search', role: 'search', onsubmit: (event) => { event.preventDefault(); app.go('files', { text: searchInput.value }); } }, searchInput, h('kbd', { 'aria-hidden': 'true' }, '/')),
  h('div', { class: 'space' }),
  h('div', { class: 'actions' }, shareButton, openButton, themeButton, helpButton),
);

const viewButtons = new Map<ViewId, HTMLButtonElement>();
const rail = h(
  'nav',
  { class: 'rail', 'aria-label': 'Views' },
  h('ul', {}, VIEWS.map(({ id, title: words }, i) => {
    const button = h('button', { type: 'button', class: 'view', onclick: () => app.go(id) }, words, h('kbd', { 'aria-hidden': 'true' }, String(i + 1)));
    viewButtons.set(id, button);
    return h('li', {}, button);
  })),
  h('p', { class: 'privacy' },
    h('strong', {}, icon('lock'), 'Nothing leaves this browser'),
    single ? 'This file is forbidden to connect to anything; the browser enforces it.' : 'The page may connect to its own server only, to load itself; the browser enforces it.'),
);
const problems = h('div', { class: 'problems', 'aria-live': 'polite' });
const place = h('div', { class: 'place' });
const main = h('main', { id: 'main', tabindex: '-1' }, problems, place);
const shell = h('div', { class: 'shell empty' }, top, rail, main);
const veil = h('div', { class: 'dropping', 'aria-hidden': 'true' }, h('div', {}, 'Drop to open. Nothing is uploaded.'));
const toasts = h('div', { class: 'toasts', role: 'status' });
const busyBox = h('div', { class: 'busy hidden', role: 'status' });
root.append(shell, fileInput, directoryInput, veil, busyBox, toasts);

app.toast = (text) => {
  const toast = h('div', {}, text);
  toasts.append(toast);
  setTimeout(() => toast.remove(), 2600);
};

const busyText = h('span', {});
const busyBar = h('progress', { 'aria-label': 'Progress' });
const busyCancel = h('button', { type: 'button' }, 'Cancel');
let cancel: (() => void) | null = null;
busyCancel.addEventListener('click', () => cancel?.());
busyBox.append(h('div', { class: 'line' }, busyText, busyCancel), busyBar);
let busyTimer: ReturnType<typeof setTimeout> | undefined;

const opening = new Opening(app, {
  show(text, fraction, canCancel) {
    busyText.textContent = text;
    cancel = canCancel;
    busyCancel.classList.toggle('hidden', canCancel === null);
    if (fraction === null || fraction >= 1) busyBar.removeAttribute('value');
    else busyBar.value = fraction;
    // What is done at once needs no box that flashes.
    busyTimer ??= setTimeout(() => busyBox.classList.remove('hidden'), 150);
  },
  hide() {
    clearTimeout(busyTimer);
    busyTimer = undefined;
    busyBox.classList.add('hidden');
  },
});

app.openFiles = (files) => opening.dropped([], files);
const chooseFiles = (): void => fileInput.click();
const chooseDirectory = (): void => directoryInput.click();
for (const input of [fileInput, directoryInput]) {
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])];
    input.value = '';
    void app.openFiles(files);
  });
}
openButton.addEventListener('click', chooseFiles);
closeButton.addEventListener('click', () => {
  const { doc } = app;
  if (doc !== undefined) opening.close(doc);
});
docSelect.addEventListener('change', () => app.store.set({ current: Number(docSelect.value) }));

// --- views -------------------------------------------------------------------------------------------------------------------------------

const views = new Map<string, View>();
let current: View | undefined;

function dropViews(fits: (key: string) => boolean): void {
  for (const [key, view] of views) {
    if (!fits(key)) continue;
    view.dispose?.();
    views.delete(key);
  }
}

function showView(): void {
  const { state, doc } = app.store;
  const empty = state.docs.length === 0;
  // The start page gives way to another page: what is there for that moment isn't seen to move.
  if (shell.classList.contains('empty') !== empty) {
    main.style.visibility = 'hidden';
    requestAnimationFrame(() => requestAnimationFrame(() => {
      main.style.visibility = '';
    }));
  }
  shell.classList.toggle('empty', empty);
  for (const [id, button] of viewButtons) {
    if (!empty && id === state.view) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  }
  for (const element of [docSelect.parentElement!, closeButton.parentElement!]) element.classList.toggle('hidden', empty);
  // Its place is kept, so that its neighbours stay where they are.
  shareButton.style.visibility = empty ? 'hidden' : '';
  hideTip();
  if (doc === undefined) {
    current = undefined;
    fill(place, welcome(app, opening, chooseFiles, chooseDirectory));
    document.title = 'Stayput inspector for Flink checkpoints';
    return;
  }
  const words = VIEWS.find(({ id }) => id === state.view)!.title;
  document.title = `${words} · ${title(doc)} · Stayput inspector`;
  const key = `${doc.key}/${doc.doc}/${state.view}`;
  let view = views.get(key);
  if (view === undefined) {
    view = VIEW_MAKERS[state.view](app, doc, opening);
    views.set(key, view);
  }
  current = view;
  if (place.firstElementChild !== view.element) fill(place, view.element);
  place.classList.toggle('filled', view.element.classList.contains('full'));
  main.scrollTop = 0;
  view.shown?.();
  const button = viewButtons.get(state.view)!;
  button.scrollIntoView?.({ block: 'nearest', inline: 'nearest' });
}

function showDocs(): void {
  fill(docSelect, app.store.state.docs.map((doc) => h('option', { value: doc.key, selected: doc.key === app.store.state.current }, brief(title(doc), 90))));
}

function showProblems(): void {
  fill(problems, app.store.state.problems.map((problem) => problemNotice(problem, app)));
  problems.classList.toggle('hidden', app.store.state.problems.length === 0);
}

app.store.on((state, changed) => {
  if (changed.has('docs') || changed.has('current')) {
    showDocs();
    const open = new Set(state.docs.map(({ key, doc }) => `${key}/${doc}/`));
    dropViews((key) => ![...open].some((prefix) => key.startsWith(prefix)));
    // What compares sees all that is open.
    if (changed.has('docs')) dropViews((key) => key.endsWith('/compare'));
  }
  if (changed.has('listing')) dropViews((key) => /\/(glance|exists|files|rules)$/.test(key));
  if (changed.has('rules')) dropViews((key) => key.endsWith('/rules'));
  if (changed.has('problems')) showProblems();
  if (['docs', 'current', 'view', 'listing', 'rules'].some((key) => changed.has(key as keyof typeof state))) showView();
});

app.core.onLost = (message) => {
  views.clear();
  app.store.set({ docs: [], current: null, listing: null });
  app.store.set({ problems: [...app.store.state.problems, { key: -Date.now(), name: 'The core', reading: { reading: 'failed', message: `${message}. Everything was closed; open the files again` } }] });
};

// --- dropping, pasting, keys -------------------------------------------------------------------------------------------------------------

let depth = 0;
const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') === true;
document.addEventListener('dragenter', (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  depth += 1;
  veil.classList.add('on');
});
document.addEventListener('dragover', (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  event.dataTransfer!.dropEffect = 'copy';
});
document.addEventListener('dragleave', () => {
  depth = Math.max(0, depth - 1);
  if (depth === 0) veil.classList.remove('on');
});
document.addEventListener('drop', (event) => {
  event.preventDefault();
  depth = 0;
  veil.classList.remove('on');
  if (event.dataTransfer === null) return;
  performance.mark('stayput:dropped');
  const { entries, files } = entriesOf(event.dataTransfer);
  if (entries.length + files.length > 0) void opening.dropped(entries, files);
});
document.addEventListener('paste', (event) => {
  const inField = event.target instanceof Element && event.target.closest('input, textarea') !== null;
  const files = [...(event.clipboardData?.files ?? [])];
  if (files.length > 0) {
    event.preventDefault();
    void app.openFiles(files);
    return;
  }
  const text = event.clipboardData?.getData('text/plain') ?? '';
  if (inField || text.trim() === '') return;
  event.preventDefault();
  void opening.pasted(text).then((taken) => {
    if (taken) return;
    // A key or a URL: what breaks if it vanishes?
    if (app.doc !== undefined && !text.trim().includes('\n')) app.go('breaks', { text: text.trim() });
    else app.toast(app.doc === undefined ? 'What was pasted is no listing and no lifecycle rules' : 'What was pasted is no listing, no lifecycle rules, and no key');
  });
});

const help = new Help(single);
const share = new ShareDialog(app);
helpButton.addEventListener('click', () => help.open());
shareButton.addEventListener('click', () => share.open());

function step(by: number): void {
  const { docs, current: key } = app.store.state;
  const at = docs.findIndex((doc) => doc.key === key);
  const next = docs[(at + by + docs.length) % docs.length];
  if (next !== undefined) app.store.set({ current: next.key });
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector('dialog[open]') !== null) return;
  const target = event.target instanceof HTMLElement ? event.target : null;
  const typing = target?.closest('input, textarea, select') != null;
  if (event.key === 'Escape') {
    if (hideTip()) return;
    if (typing) target?.blur();
    else if (current?.escape?.() === true) return;
    else if (app.store.state.problems.length > 0) app.store.set({ problems: [] });
    return;
  }
  if (typing || !keysOn()) return;
  const number = Number(event.key);
  const withDoc = app.doc !== undefined;
  if (number >= 1 && number <= VIEWS.length && withDoc) app.go(VIEWS[number - 1]!.id);
  else if (event.key === '/' && withDoc) searchInput.focus();
  else if (event.key === '?') help.open();
  else if (event.key === 'o') chooseFiles();
  else if (event.key === 's' && withDoc) share.open();
  else if (event.key === 't') toggleTheme();
  else if (event.key === '[' && withDoc) step(-1);
  else if (event.key === ']' && withDoc) step(1);
  else return;
  event.preventDefault();
});

addEventListener('hashchange', () => {
  app.kept = readHash(location.hash);
  app.store.set({ view: app.kept.view });
});

// --- beginning ---------------------------------------------------------------------------------------------------------------------------

startTheme();
startTips();
app.store.state.view = app.kept.view;
showProblems();
showView();
app.core.start().then(
  () => loadTerms(app.core),
  (error: unknown) => {
    app.store.set({ problems: [{ key: 0, name: 'This browser', reading: { reading: 'failed', message: `the core can’t be started: ${error instanceof Error ? error.message : String(error)}. A browser of the last years is needed` } }] });
  },
);
if (!single && location.search !== '') void opening.fromUrl(location.search);
// A page on a port of this machine is served by a program that ends; it must not stay behind in the browser.
if (!single && 'serviceWorker' in navigator && import.meta.env.PROD && !document.querySelector('meta[name="stayput-served"]')) {
  void navigator.serviceWorker.register('./sw.js').catch(() => {});
}
