import type { App } from '../app';
import { h } from '../dom';
import { dialogOf } from '../keys';
import type { Doc } from '../store';
import type { Format } from '../core/protocol';
import type { Summary } from '../core/types';
import { report } from './report';

export class ShareDialog {
  private readonly dialog: HTMLDialogElement;
  private readonly box: HTMLInputElement;

  constructor(private readonly app: App) {
    this.box = h('input', { type: 'checkbox', id: 'redact' });
    this.dialog = dialogOf('Share', 'share-title',
      h('p', {}, 'Files are made here and saved to your disk; sending them is up to you.'),
      h('p', { class: 'spaced' }, h('label', { class: 'check' }, this.box, 'Replace names of buckets, directories, files and operators')),
      h('p', { class: 'small muted' }, 'What has the same name before has the same replacement after: who shares what can still be seen. Numbers and Flink’s own words stay.'),
      h('div', { class: 'input-row spaced' },
        h('button', { type: 'button', class: 'primary', id: 'save-report', onclick: () => void this.html() }, 'Report (HTML)'),
        h('button', { type: 'button', id: 'save-json', onclick: () => void this.json() }, 'Summary (JSON)'),
        h('button', { type: 'button', id: 'save-files-csv', onclick: () => void this.files('csv') }, 'Files (CSV)'),
        h('button', { type: 'button', id: 'save-files-json', onclick: () => void this.files('json') }, 'Files (JSON)')),
      h('p', { class: 'spaced' }, h('button', { type: 'button', onclick: () => void this.app.copy(location.href.split('?')[0]!.split('#')[0]! + location.hash) }, 'Copy link to this view')),
      h('p', { class: 'small muted' }, 'The link keeps the view and the order of the table, never anything out of a file.'));
  }

  open(): void {
    if (this.app.doc !== undefined) this.dialog.showModal();
  }

  private get name(): string {
    const { doc } = this.app;
    return `${doc?.summary.kind?.savepoint === true ? 'savepoint' : 'checkpoint'}-${doc?.summary.checkpoint_id ?? 0}`;
  }

  /** The summary to share: as the command prints it, or without names. */
  private async summary(doc: Doc): Promise<Summary> {
    return this.box.checked ? (JSON.parse(await this.app.core.ask('redacted', { doc: doc.doc })) as Summary) : doc.summary;
  }

  private async saved(make: (doc: Doc) => Promise<Blob>, ending: string): Promise<void> {
    const { doc } = this.app;
    if (doc === undefined) return;
    const name = `${this.name}${ending}`;
    try {
      this.app.save(await make(doc), name);
    } catch (error) {
      this.app.toast(error instanceof Error ? error.message : String(error));
    }
  }

  private html(): Promise<void> {
    return this.saved(async (doc) => new Blob([report(doc, await this.summary(doc), this.box.checked)], { type: 'text/html;charset=utf-8' }), '.html');
  }

  private json(): Promise<void> {
    return this.saved(async (doc) => new Blob([`${JSON.stringify(await this.summary(doc), null, 2)}\n`], { type: 'application/json' }), '.json');
  }

  private files(format: Format): Promise<void> {
    return this.saved((doc) => this.app.core.ask('export', { doc: doc.doc, format, redacted: this.box.checked }), `-files.${format}`);
  }
}
