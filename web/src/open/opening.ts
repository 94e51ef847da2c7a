// Opens what was dropped, chosen, pasted or named in the URL: checkpoints, listings, rules.
import examples from 'virtual:examples';
import type { App } from '../app';
import { CoreError } from '../core/client';
import { bytesOfDataUrl } from '../core/data-url';
import type { Reading, Summary } from '../core/types';
import { brief } from '../dom';
import { count } from '../quantity';
import type { Doc, Problem } from '../store';
import { likelyPlace, title } from '../words';
import { gather, nothing, type Container, type Gathered } from './gather';
import { halfOf, kindOf, kindOfText } from './kind';

/** So many checkpoints of a dropped directory are opened. */
const MOST_DOCUMENTS = 40;

/** So many files that are nothing known are spoken of one by one. */
const MOST_UNKNOWN = 3;

export interface Busy {
  show(text: string, fraction: number | null, cancel: (() => void) | null): void;
  hide(): void;
}

export class Opening {
  private nextKey = 1;
  /** How often the core was started anew. */
  private generation = 0;

  constructor(
    private readonly app: App,
    private readonly busy: Busy,
  ) {}

  async dropped(entries: readonly FileSystemEntry[], files: readonly File[]): Promise<void> {
    const ending = new AbortController();
    const cancel = (): void => ending.abort();
    this.busy.show('Looking at what was dropped', null, cancel);
    let told = 0;
    const at = (text: string, fraction: number | null): void => {
      // Thousands of entries, but nobody sees more than some changes a second.
      if (performance.now() - told < 50) return;
      told = performance.now();
      this.busy.show(text, fraction, cancel);
    };
    try {
      await this.gathered(await gather(entries, files, { signal: ending.signal, at }));
    } catch (error) {
      if (ending.signal.aborted) this.app.toast('Cancelled');
      else this.trouble('what was dropped', error);
    } finally {
      this.busy.hide();
    }
  }

  private trouble(name: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof CoreError && error.code === 'cancelled') {
      this.app.toast('Cancelled');
      return;
    }
    this.add({ key: this.nextKey++, name, reading: { reading: 'failed', message } });
  }

  private add(problem: Problem): void {
    this.app.store.set({ problems: [...this.app.store.state.problems, problem] });
  }

  private async gathered(found: Gathered): Promise<void> {
    const { store } = this.app;
    let opened: Doc[] = [];
    const since = this.generation;
    let other = false;
    let listed = false;
    const metadata: typeof found.files = [];
    const unknown: typeof found.files = [];
    for (const one of found.files) {
      const kind = await kindOf(one.file, one.path);
      if (kind === 'metadata') metadata.push(one);
      else if (kind === 'unknown') unknown.push(one);
      else {
        const bytes = new Uint8Array(await one.file.arrayBuffer());
        if (kind === 'rules') other = this.rules(new TextDecoder().decode(bytes), one.path) || other;
        else listed = (await this.listing(bytes, one.path, one.within === true)) || listed;
      }
    }
    other ||= listed;
    // Somebody dropped all files of a directory by their names: a sentence about each would hide what they wanted to see.
    if (unknown.length > MOST_UNKNOWN && (metadata.length > 0 || other)) {
      const examples = unknown.slice(0, 3).map(({ path }) => path).join(', ');
      this.note(count(unknown.length, 'other file', 'other files'), `these are no _metadata, no listing and no rules, and weren’t opened: ${examples} and ${count(unknown.length - 3, 'more', 'more')}`);
    } else metadata.push(...unknown.slice(0, MOST_DOCUMENTS));
    const again: Doc[] = [];
    for (const one of metadata.slice(0, MOST_DOCUMENTS)) {
      const open = await already(one.file, [...store.state.docs, ...opened]);
      if (open !== undefined) {
        again.push(open);
        await this.placed(open, one.path);
        continue;
      }
      const doc = await this.openOne(one.file, one.path, undefined);
      if (doc === 'cancelled') break;
      if (doc !== undefined) opened.push(doc);
    }
    opened = await this.still(opened, since);
    if (metadata.length > MOST_DOCUMENTS) {
      found.notes.push({ name: 'What was dropped', message: `${count(metadata.length, 'checkpoint', 'checkpoints')} were found; the newest ${MOST_DOCUMENTS} are open` });
    }
    const files = found.seen.filter(({ path }) => !/(^|\/)_metadata$/.test(path)).length;
    // A directory or archive is also a listing of what exists, if there is more in it than checkpoints. A listing that lies in it says more.
    const serves = !listed && files > 0 && (metadata.length > 0 || store.state.docs.length > 0);
    if (metadata.length === 0 && !other) for (const one of found.containers) this.note(one.name, without(one, serves));
    if (serves) {
      const text = found.seen.map(({ path, size }) => `${path.replace(/[\t\n\r]/g, ' ')}\t${Math.max(0, size)}`).join('\n');
      await this.listing(new TextEncoder().encode(text), 'what was dropped', metadata.length > 0);
    }
    for (const { name, message } of found.notes) this.note(name, message);
    if (opened.length > 0) store.set({ docs: [...store.state.docs, ...opened], current: opened[0]!.key });
    else if (again.length > 0) store.set({ current: again[0]!.key });
    if (again.length > 0) this.app.toast(again.length === 1 ? `${title(again[0]!)} is open already` : `${count(again.length, 'checkpoint was', 'checkpoints were')} open already`);
    if (opened.length > 1 && !other) this.app.toast(`${count(opened.length, 'checkpoint', 'checkpoints')} opened`);
  }

  private note(name: string, message: string): void {
    this.add({ key: this.nextKey++, name, note: true, reading: { reading: 'failed', message } });
  }

  /** The same file once more, but now its path says where it lies. */
  private async placed(doc: Doc, path: string): Promise<void> {
    if (doc.at !== undefined || !this.app.store.state.docs.includes(doc)) return;
    const likely = likelyPlace(doc.summary, path);
    if (likely?.sure === true) await this.move(doc, likely.at);
  }

  /** Reads one file. Undefined: it is no whole checkpoint, which is said on the page. */
  async openOne(file: Blob, path: string, at: string | undefined): Promise<Doc | undefined | 'cancelled'> {
    const { core } = this.app;
    const name = brief(path, 120);
    let request = 0;
    const cancel = (): void => void core.ask('cancel', { request });
    let abandoned = false;
    const large = file.size > 2_000_000;
    if (large) this.busy.show(`Reading ${name}`, 0, cancel);
    try {
      const args = at === undefined ? { file, name: path } : { file, name: path, at };
      // The core can't be interrupted while it understands a file: it is ended, and begins anew with what was open.
      const abandon = (): void => {
        abandoned = true;
        void this.anew();
      };
      const opened = await core.ask('open', args, {
        asked: (id) => {
          request = id;
        },
        progress: (fraction) => {
          if (large) this.busy.show(fraction < 1 ? `Reading ${name}` : `Understanding ${name}`, fraction, fraction < 1 ? cancel : abandon);
        },
      });
      const reading = JSON.parse(opened.reading) as Reading;
      if (opened.doc === null || reading.reading !== 'whole') {
        await this.notWhole(path, reading, file, at);
        return undefined;
      }
      let summary: Summary = reading;
      let place = at;
      if (at === undefined) {
        const likely = likelyPlace(summary, path);
        if (likely?.sure === true) {
          place = likely.at;
          summary = JSON.parse(await core.ask('liesAt', { doc: opened.doc, at: place })) as Summary;
        }
      }
      performance.mark('stayput:opened', { detail: { readMs: opened.readMs, parseMs: opened.parseMs, memory: opened.memory } });
      return { key: this.nextKey++, doc: opened.doc, name: path, file, at: place, summary, readMs: opened.readMs, parseMs: opened.parseMs };
    } catch (error) {
      if (error instanceof CoreError && (error.code === 'cancelled' || abandoned)) {
        this.app.toast('Cancelled');
        // Memory of WebAssembly never shrinks; a new core begins small.
        if (!abandoned && this.app.store.state.docs.length === 0) await this.anew();
        return 'cancelled';
      }
      this.trouble(path, error);
      return undefined;
    } finally {
      this.busy.hide();
    }
  }

  /** Ends the core, and opens in a new one what was open. */
  private async anew(): Promise<void> {
    const { core, store } = this.app;
    const { docs, listing, current } = store.state;
    this.generation += 1;
    core.restart();
    this.app.forget();
    store.set({ docs: [], listing: null, current: null });
    const again = await this.still(docs, this.generation - 1);
    if (listing !== null) {
      const bytes = new Uint8Array(await listing.source.arrayBuffer());
      const read = await core.ask('listing', { bytes, name: listing.name });
      store.set({ listing: { ...listing, listing: read.listing } });
    }
    // What was dropped with the cancelled file may have come meanwhile.
    if (again.length > 0) store.set({ docs: [...again, ...store.state.docs], current: again.some(({ key }) => key === current) ? current : again[0]!.key });
  }

  /** Documents that were opened when the core had been started so often; if it was started anew since then, they are opened in the new one. */
  private async still(docs: readonly Doc[], since: number): Promise<Doc[]> {
    if (since === this.generation) return [...docs];
    const again: Doc[] = [];
    for (const doc of docs) {
      const opened = await this.app.core.ask('open', { file: doc.file, name: doc.name, ...(doc.at === undefined ? {} : { at: doc.at }) });
      if (opened.doc !== null) again.push({ ...doc, doc: opened.doc });
    }
    return again;
  }

  private async notWhole(path: string, reading: Reading, file: Blob, at: string | undefined): Promise<void> {
    const problem: Problem = { key: this.nextKey++, name: path, reading, file, at };
    // A file of an HA store says which checkpoint a job would be restored from.
    if (reading.reading === 'not_metadata' && file.size < 4_000_000) {
      try {
        const bytes = new Uint8Array(await file.arrayBuffer());
        const said = await this.app.core.ask('pointer', { bytes });
        if (said !== null) problem.pointer = JSON.parse(said) as unknown;
      } catch {
        // It is none: the sentence about the file says what it is.
      }
    }
    this.add(problem);
  }

  /** Opens a document again, with the place where it lies. */
  async move(doc: Doc, at: string): Promise<string | undefined> {
    const { core, store } = this.app;
    const opened = await core.ask('open', { file: doc.file, name: doc.name, ...(at === '' ? {} : { at }) });
    const reading = JSON.parse(opened.reading) as Reading;
    if (opened.doc === null || reading.reading !== 'whole') {
      return reading.reading === 'refused' ? reading.message : 'the file can’t be read again';
    }
    const old = doc.doc;
    const moved: Doc = { ...doc, doc: opened.doc, at: at === '' ? undefined : at, summary: reading };
    store.set({ docs: store.state.docs.map((one) => (one.key === doc.key ? moved : one)) });
    await core.ask('close', { doc: old });
    return undefined;
  }

  close(doc: Doc): void {
    const { core, store } = this.app;
    const docs = store.state.docs.filter((one) => one !== doc);
    const current = store.state.current === doc.key ? (docs[0]?.key ?? null) : store.state.current;
    store.set({ docs, current });
    if (docs.length === 0) {
      // Memory of WebAssembly never shrinks; a new worker begins small.
      store.set({ listing: null });
      core.restart();
    } else void core.ask('close', { doc: doc.doc });
  }

  /** Gives whether it is one. `quietly`: nobody asked for it, so that it isn't shown, and nothing is said of what is none. */
  async listing(bytes: Uint8Array, name: string, quietly = false): Promise<boolean> {
    const { core, store } = this.app;
    try {
      const { listing, describe } = await core.ask('listing', { bytes, name });
      const old = store.state.listing;
      store.set({ listing: { listing, name, source: new Blob([bytes as Uint8Array<ArrayBuffer>]), describe: JSON.parse(describe) as Record<string, unknown> } });
      if (old !== null) void core.ask('closeListing', { listing: old.listing });
      if (!quietly) this.app.go('exists');
      return true;
    } catch (error) {
      if (!quietly) this.trouble(name, error);
      return false;
    }
  }

  /** Gives whether they can be rules: half a document isn't kept. */
  rules(text: string, name: string): boolean {
    const half = halfOf(text);
    if (half !== undefined) {
      this.trouble(name, new Error(`these look like lifecycle rules, but they aren’t whole: ${half}. Nothing of them was used; give the whole output of aws s3api get-bucket-lifecycle-configuration, or the whole XML`));
      return false;
    }
    this.app.store.set({ rules: { text, name } });
    this.app.go('rules');
    return true;
  }

  /** Text from the clipboard that isn't meant for a field. */
  async pasted(text: string): Promise<boolean> {
    const trimmed = text.trim();
    const kind = kindOfText(trimmed);
    if (kind === 'rules') this.rules(trimmed, 'pasted rules');
    else if (kind === 'listing') await this.listing(new TextEncoder().encode(trimmed), 'pasted listing');
    else return false;
    return true;
  }

  /** Puts away what is kept for a checkpoint to come. */
  forget(what: 'rules' | 'listing'): void {
    const { core, store } = this.app;
    const { listing } = store.state;
    if (what === 'rules') store.set({ rules: null });
    else {
      store.set({ listing: null });
      if (listing !== null) void core.ask('closeListing', { listing: listing.listing });
    }
  }

  async example(id: string): Promise<void> {
    const example = examples.find((one) => one.id === id);
    if (example === undefined) return;
    this.busy.show('Opening the example', null, null);
    try {
      const opened: Doc[] = [];
      for (const file of example.files) {
        const doc = await this.openOne(await blobOf(file.metadata), `${file.name}/_metadata`, file.at);
        if (doc !== undefined && doc !== 'cancelled') opened.push(doc);
      }
      const last = example.files.at(-1)!;
      // Its listing was taken when the job had ended; keys are relative to the root.
      const listing = await (await blobOf(last.listing)).text();
      const lines = listing.split('\n').filter((line) => line.includes('\t'));
      const absolute = lines.map((line) => `${last.root.replace(/\/$/, '')}/${line}`).join('\n');
      await this.listing(new TextEncoder().encode(last.rules === null ? absolute : listing), 'the listing of the example', true);
      const { store } = this.app;
      if (last.rules !== null) store.set({ rules: { text: last.rules, name: 'the rules of the example' } });
      if (opened.length > 0) store.set({ docs: [...store.state.docs, ...opened], current: opened.at(-1)!.key });
      if (opened.length > 1) this.app.go('compare');
    } catch (error) {
      this.trouble(example.title, error);
    } finally {
      this.busy.hide();
    }
  }

  /** `?url=FILE&at=PLACE`, each may come several times: files of this page's own server. */
  async fromUrl(search: string): Promise<void> {
    const parameters = new URLSearchParams(search);
    const urls = parameters.getAll('url');
    const places = parameters.getAll('at');
    const opened: Doc[] = [];
    for (const [i, text] of urls.entries()) {
      const found = nothing();
      try {
        const url = new URL(text, location.href);
        if (url.origin !== location.origin) throw new Error(`${brief(text, 200)} lies on another server; this page reads from its own only. Download the file and drop it here`);
        this.busy.show(`Fetching ${brief(url.pathname, 120)}`, null, null);
        const answer = await fetch(url);
        if (!answer.ok) throw new Error(`the server says ${answer.status} ${answer.statusText}`);
        const path = decodeURIComponent(url.pathname).replace(/^\//, '');
        const file = new File([await answer.blob()], path.split('/').slice(-2).join('/'));
        const kind = await kindOf(file, path);
        if (kind === 'metadata' || kind === 'unknown') {
          const doc = await this.openOne(file, file.name, places[i] === '' ? undefined : places[i]);
          if (doc !== undefined && doc !== 'cancelled') opened.push(doc);
        } else {
          found.files.push({ path, file });
          await this.gathered(found);
        }
      } catch (error) {
        this.trouble(text, error);
      } finally {
        this.busy.hide();
      }
    }
    const { store } = this.app;
    if (opened.length > 0) store.set({ docs: [...store.state.docs, ...opened], current: opened[0]!.key });
  }
}

/** What is said of a directory or an archive in which there is no checkpoint. */
function without({ what, files, archives }: Container, serves: boolean): string {
  if (files === 0) return `this ${what} is empty: no file named _metadata is in it`;
  const looked = `no file named _metadata is in it; ${count(files, 'file was', 'files were')} looked at`;
  if (archives > 0) return `${looked}, ${archives === files ? '' : 'among them '}${count(archives, 'archive', 'archives')}: an archive in ${what === 'archive' ? 'an archive' : 'a directory'} isn’t looked into. Unpack it, or drop it itself`;
  return serves ? `${looked}, and taken for a listing of what exists` : `${looked}. Drop the directory of a checkpoint (chk-N, savepoint-…), the job’s directory above it, or an archive of one`;
}

/** The document that is open with the very same bytes. */
async function already(file: Blob, docs: readonly Doc[]): Promise<Doc | undefined> {
  for (const doc of docs) if (doc.file.size === file.size && (await same(doc.file, file))) return doc;
  return undefined;
}

const PIECE = 4 << 20;

async function same(one: Blob, other: Blob): Promise<boolean> {
  try {
    for (let at = 0; at < one.size; at += PIECE) {
      const [a, b] = await Promise.all([one, other].map(async (file) => new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer())));
      if (a!.length !== b!.length || a!.some((byte, i) => byte !== b![i])) return false;
    }
    return true;
  } catch {
    // One of them was changed or moved on the disk since it was opened.
    return false;
  }
}

async function blobOf(url: string): Promise<Blob> {
  if (url.startsWith('data:')) return new Blob([bytesOfDataUrl(url)]);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the example can't be loaded: the server says ${answer.status}`);
  return answer.blob();
}
