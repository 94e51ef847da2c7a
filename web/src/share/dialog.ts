import type { App } from '../app';
import { h } from '../dom';
import { dialogOf } from '../keys';
import { Redactor, redacted, report } from './report';

export class ShareDialog {
  private readonly dialog: HTMLDialogElement;
  private readonly box: HTMLInputElement;

  constructor(private readonly app: App) {
    this.box = h('input', { type: 'checkbox', id: 'redact' });
    this.dialog = dialogOf('Share', 'share-title',
      h('p', {}, 'Files are made here and saved to your disk; sending them is up to you.'),
      h('p', { class: 'spaced' }, h('label', {}, this.box, ' Leave out paths, names and ids')),
      h('div', { class: 'input-row spaced' },
        h('button', { type: 'button', class: 'primary', id: 'save-report', onclick: () => this.html() }, 'Report (HTML)'),
        h('button', { type: 'button', id: 'save-json', onclick: () => this.json() }, 'Summary (JSON)'),
        h('button', { type: 'button', onclick: () => void this.app.copy(location.href.split('?')[0]!.split('#')[0]! + location.hash) }, 'Copy link to this view')),
      h('p', { class: 'small muted spaced' }, 'The link keeps the view and the order of the table, never anything out of a file. The table of files has an export of its own, as CSV, JSON or text.'));
  }

  open(): void {
    if (this.app.doc !== undefined) this.dialog.showModal();
  }

  private get name(): string {
    const { doc } = this.app;
    return `${doc?.summary.kind?.savepoint === true ? 'savepoint' : 'checkpoint'}-${doc?.summary.checkpoint_id ?? 0}`;
  }

  private html(): void {
    const { doc } = this.app;
    if (doc !== undefined) this.app.save(new Blob([report(doc, new Redactor(this.box.checked))], { type: 'text/html;charset=utf-8' }), `${this.name}.html`);
  }

  private json(): void {
    const { doc } = this.app;
    if (doc === undefined) return;
    // As the command prints it, where nothing is left out.
    const summary = redacted(doc.summary, new Redactor(this.box.checked));
    this.app.save(new Blob([`${JSON.stringify(summary, null, 2)}\n`], { type: 'application/json' }), `${this.name}.json`);
  }
}
