// The help: what the keys do, and the switch for people whom single keys disturb (speech input types them).
import { h } from './dom';
import { VIEWS } from './store';

const KEY = 'stayput-keys';

export function keysOn(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
}

function setKeys(on: boolean): void {
  try {
    localStorage.setItem(KEY, on ? 'on' : 'off');
  } catch {
    // Without storage they stay on.
  }
}

const KEYS: [string[], string][] = [
  [['?'], 'This help'],
  [['/'], 'Find files by a part of their path'],
  [['o'], 'Open files'],
  [['s'], 'Share: report, JSON'],
  [['[', ']'], 'The checkpoint before, the next'],
  [['t'], 'Light or dark'],
  [['Esc'], 'Close what is open, clear what is filtered'],
  [['↑', '↓'], 'Move in a table, the treemap or the bytes; Page, Home and End go further'],
  [['Enter'], 'Open a row; zoom into the treemap'],
  [['Backspace'], 'Zoom out of the treemap'],
  [['c'], 'Copy the path of the row'],
];

export function dialogOf(heading: string, id: string, ...children: (Node | null)[]): HTMLDialogElement {
  const close = h('button', { type: 'button', class: 'quiet' }, 'Close');
  const dialog = h('dialog', { 'aria-labelledby': id }, h('div', { class: 'head' }, h('h2', { id }, heading), close), ...children);
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}

export class Help {
  private readonly dialog: HTMLDialogElement;

  constructor(single: boolean) {
    const box = h('input', { type: 'checkbox', id: 'keys-on', onchange: () => setKeys(box.checked) });
    box.checked = keysOn();
    this.dialog = dialogOf(
      'Keys',
      'help-title',
      h('dl', { class: 'keys' },
        VIEWS.map(({ title }, i) => h('div', {}, h('dt', {}, h('kbd', {}, String(i + 1))), h('dd', {}, title))),
        KEYS.map(([keys, words]) => h('div', {}, h('dt', {}, keys.map((key) => [h('kbd', {}, key), ' '])), h('dd', {}, words)))),
      h('p', { class: 'small keys-foot' }, h('label', { class: 'check' }, box, 'Single keys act (switch off if you use speech input)')),
      h('p', { class: 'small muted spaced' },
        single
          ? "This file works from a disk, without a network. Its policy says connect-src 'none': the browser lets it connect to nothing."
          : "The page works without a network once it was opened. Its policy says connect-src 'self': the browser lets it connect to its own server only, and it sends nothing there."),
    );
  }

  open(): void {
    this.dialog.showModal();
  }
}
