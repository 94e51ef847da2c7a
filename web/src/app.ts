// What every part of the page may ask for: the core, what is open, and to be taken somewhere.
import { Core } from './core/client';
import { Store, readHash, writeHash, type Doc, type Kept, type ViewId } from './store';

export interface View {
  readonly element: HTMLElement;
  /** It is on the page now: sizes can be measured, focus can be taken. */
  shown?(): void;
  /** Escape was pressed: true if there was something to close. */
  escape?(): boolean;
  dispose?(): void;
}

export class App {
  readonly core = new Core();
  readonly store = new Store();
  kept: Kept = readHash(location.hash);
  /** Set by the shell. */
  toast: (text: string) => void = () => {};
  openFiles: (files: readonly File[]) => Promise<void> = async () => {};
  /** For the view that is opened next: what it shall look for. */
  wanted: { text?: string; row?: number; operator?: string } = {};

  get doc(): Doc | undefined {
    return this.store.doc;
  }

  go(view: ViewId, wanted: App['wanted'] = {}): void {
    this.wanted = wanted;
    this.keep({ view });
    this.store.set({ view });
  }

  keep(change: Partial<Kept>): void {
    this.kept = { ...this.kept, ...change };
    history.replaceState(null, '', writeHash(this.kept));
  }

  /** An answer of the core about a document, which is JSON text. */
  async ask<T>(doc: Doc, method: string, ...args: (string | number)[]): Promise<T> {
    return JSON.parse(await this.core.ask('ask', { doc: doc.doc, method, args })) as T;
  }

  private checks = new Map<string, Promise<string>>();

  /** The check of a document against the listing that is open; rows know their status from then on. Undefined: there is no listing. */
  checked(doc: Doc): Promise<string> | undefined {
    const { listing } = this.store.state;
    if (listing === null) return undefined;
    const key = `${doc.doc}/${listing.listing}`;
    let check = this.checks.get(key);
    if (check === undefined) {
      check = this.core.ask('check', { doc: doc.doc, listing: listing.listing });
      this.checks.clear();
      this.checks.set(key, check);
    }
    return check;
  }

  /** After the core was started anew. */
  forget(): void {
    this.checks.clear();
  }

  async copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.toast('Copied');
    } catch {
      this.toast('The browser didn’t allow copying');
    }
  }

  save(content: Blob, name: string): void {
    const url = URL.createObjectURL(content);
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
}
