// From what was dropped, chosen or pasted to files with paths: directories are walked, archives are looked into.
import { count } from '../quantity';
import { kindOf } from './kind';
import { unpack, type Watch } from './pages';
import { isTar, tarEntries } from './tar';
import { isZip, zipContents, zipEntries } from './zip';

export interface Found {
  /** Path within what was dropped, with `/`. */
  path: string;
  file: Blob;
  /** Nobody gave it by name: it lay in a directory or an archive. */
  within?: boolean;
}

/** A directory or an archive. */
export interface Container {
  name: string;
  what: 'directory' | 'archive';
  /** How many files were looked at. */
  files: number;
  /** Of them, archives: they aren't opened. */
  archives: number;
}

export interface Gathered {
  files: Found[];
  /** Paths and sizes of everything that lay in a dropped directory or archive: a listing. */
  seen: { path: string; size: number }[];
  containers: Container[];
  /** What could not be looked at: its name, and what is to be said of it. */
  notes: { name: string; message: string }[];
}

/** So many entries of a dropped directory or archive are looked at. */
const MOST_ENTRIES = 200_000;

export function nothing(): Gathered {
  return { files: [], seen: [], containers: [], notes: [] };
}

/** Takes the entries out of a drop. They are gone when the event's handler returns, so this part isn't asynchronous. */
export function entriesOf(transfer: DataTransfer): { entries: FileSystemEntry[]; files: File[] } {
  const entries: FileSystemEntry[] = [];
  const files: File[] = [];
  for (const item of transfer.items) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry?.();
    // A page from a disk gets files, but can't read entries (Chromium).
    if (entry?.isDirectory === true) entries.push(entry);
    else {
      const file = item.getAsFile();
      if (file !== null) files.push(file);
    }
  }
  return { entries, files };
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> => new Promise((resolve, reject) => entry.file(resolve, reject));

async function children(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  // A reader gives a part at a time, and nothing at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    for (const one of some) all.push(one);
  }
}

/** So many questions for files are on their way at once: each takes a message to another process and back. */
const AT_ONCE = 256;

/** Something within a directory or an archive, whose contents may not be at hand yet. */
interface Within {
  path: string;
  size: number;
  contents(): Promise<Blob>;
}

class Gathering {
  readonly into = nothing();
  private left = MOST_ENTRIES;

  constructor(private readonly watch: Watch) {}

  private say(files: number): void {
    this.watch.at(`Looking at what was dropped: ${count(files, 'file', 'files')}`, null);
  }

  /** A dropped directory. */
  async walk(top: FileSystemDirectoryEntry): Promise<void> {
    const found: Within[] = [];
    const before = this.into.notes.length;
    const todo: { directory: FileSystemDirectoryEntry; path: string }[] = [{ directory: top, path: top.name }];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const { directory, path } = next;
      this.watch.signal.throwIfAborted();
      try {
        const files: FileSystemFileEntry[] = [];
        for (const child of await children(directory)) {
          if (child.isDirectory) todo.push({ directory: child as FileSystemDirectoryEntry, path: `${path}/${child.name}` });
          else files.push(child as FileSystemFileEntry);
        }
        for (let at = 0; at < files.length && this.left > 0; at += AT_ONCE) {
          this.watch.signal.throwIfAborted();
          const some = files.slice(at, at + Math.min(AT_ONCE, this.left));
          for (const [i, got] of (await Promise.allSettled(some.map(fileOf))).entries()) {
            const name = `${path}/${some[i]!.name}`;
            if (got.status === 'rejected') this.unreadable(name, got.reason);
            else found.push({ path: name, size: got.value.size, contents: async () => got.value });
          }
          this.left -= some.length;
          this.say(found.length);
        }
      } catch (error) {
        this.unreadable(path, error);
      }
    }
    // Of one that can't be read that is said, and not that it is empty.
    if (found.length > 0 || this.into.notes.length === before) await this.within(top.name, 'directory', found);
  }

  note(name: string, message: string): void {
    this.into.notes.push({ name, message });
  }

  private unreadable(path: string, error: unknown): void {
    this.watch.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    this.note(path, location.protocol === 'file:' ? 'browsers don’t let a page from a disk look into a dropped directory. Use “Choose a directory” on the start page, or drop the _metadata itself, or a zip or tar of the directory' : `it can’t be read: ${why}`);
  }

  /** Files of a chosen directory have a path of their own. */
  async chosen(files: readonly File[]): Promise<void> {
    const of = new Map<string, Within[]>();
    for (const file of files.slice(0, this.left)) {
      const path = file.webkitRelativePath;
      const name = path.split('/', 1)[0]!;
      const list = of.get(name) ?? [];
      if (list.length === 0) of.set(name, list);
      list.push({ path, size: file.size, contents: async () => file });
    }
    this.left -= Math.min(this.left, files.length);
    for (const [name, list] of of) await this.within(name, 'directory', list);
  }

  async take(found: Found): Promise<void> {
    const head = new Uint8Array(await found.file.slice(0, 512).arrayBuffer());
    if (isZip(head)) await this.zip(found);
    else if (isTar(head)) await this.tar(found);
    else if (head[0] === 0x1f && head[1] === 0x8b) {
      const path = found.path.replace(/\.gz$/i, '').replace(/\.tgz$/i, '.tar');
      let file: Blob;
      try {
        file = await unpack(found.file, 'gzip', this.watch, `Unpacking ${found.path}`);
      } catch (error) {
        this.watch.signal.throwIfAborted();
        throw new Error(`it can’t be unpacked, it is cut or damaged: ${error instanceof Error ? error.message : String(error)}`);
      }
      await this.take({ path, file });
    } else this.into.files.push(found);
  }

  private async tar({ path, file }: Found): Promise<void> {
    const { entries, cut } = await tarEntries(file, this.left, this.watch, `Looking into ${path}`);
    this.left -= entries.length;
    if (cut) this.note(path, `this archive is cut: it ends within ${entries.at(-1)?.path ?? 'its first entry'}`);
    await this.within(path, 'archive', entries.map((entry) => ({
      path: entry.path.replace(/^\.\//, ''), size: entry.size, contents: async () => file.slice(entry.at, entry.at + entry.size),
    })));
  }

  private async zip({ path, file }: Found): Promise<void> {
    const { entries, cut } = await zipEntries(file, this.left, this.watch, `Looking into ${path}`);
    this.left -= entries.length;
    if (cut) this.note(path, `this archive is cut: the end, where a zip says what is in it, is missing. ${entries.length === 0 ? 'Nothing in it could be found' : `${count(entries.length, 'file was', 'files were')} found from its beginning on; there can be more`}. Download it again, or copy it again`);
    await this.within(path, 'archive', entries.map((entry) => ({
      path: entry.path, size: entry.size, contents: () => zipContents(file, entry, this.watch, `Unpacking ${entry.path}`),
    })));
  }

  /** Of what lies in a directory or an archive only what the page can read is opened; the rest is a listing. */
  private async within(name: string, what: Container['what'], found: readonly Within[]): Promise<void> {
    const { into, watch } = this;
    into.containers.push({ name, what, files: found.length, archives: found.filter(({ path }) => ARCHIVE.test(path)).length });
    const beside = new Set<string>([parent(found[0]?.path ?? '', what === 'directory')]);
    for (const { path } of found) if (METADATA.test(path)) beside.add(folder(path));
    let looked = 0;
    for (const one of found) {
      const seen = { path: one.path, size: one.size };
      into.seen.push(seen);
      const metadata = METADATA.test(one.path);
      if (!metadata && !(DOCUMENT.test(one.path) && beside.has(folder(one.path)) && one.size <= LARGEST_DOCUMENT && looked++ < MOST_DOCUMENTS)) continue;
      watch.signal.throwIfAborted();
      try {
        const file = await one.contents();
        if (metadata) {
          seen.size = file.size;
          into.files.push({ path: one.path, file, within: true });
        } else if (['listing', 'rules'].includes(await kindOf(file, one.path))) into.files.push({ path: one.path, file, within: true });
      } catch (error) {
        watch.signal.throwIfAborted();
        this.note(`${name}: ${one.path}`, `it can’t be opened: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  done(): Gathered {
    const { into } = this;
    if (this.left <= 0) this.note('What was dropped', `only the first ${MOST_ENTRIES.toLocaleString('en')} files were looked at`);
    // Newest first: the highest number of chk-N.
    into.files.sort((a, b) => numberOf(b.path) - numberOf(a.path));
    return into;
  }
}

const METADATA = /(^|\/)_metadata$/;
const ARCHIVE = /\.(zip|tar|tgz|gz)$/i;
/** A listing or rules may lie beside a checkpoint, or at the top of what was dropped. */
const DOCUMENT = /\.(tsv|txt|csv|json|xml)$/i;
const LARGEST_DOCUMENT = 256 << 20;
const MOST_DOCUMENTS = 50;

const folder = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
/** The top of a directory, whose name all paths begin with, or of an archive. */
const parent = (path: string, named: boolean): string => (named ? path.slice(0, path.indexOf('/') + 1) : '');

export async function gather(entries: readonly FileSystemEntry[], files: readonly File[], watch: Watch): Promise<Gathered> {
  const gathering = new Gathering(watch);
  for (const entry of entries) await gathering.walk(entry as FileSystemDirectoryEntry);
  await gathering.chosen(files.filter(({ webkitRelativePath: path }) => path !== ''));
  for (const file of files) {
    if (file.webkitRelativePath !== '') continue;
    try {
      await gathering.take({ path: file.name, file });
    } catch (error) {
      watch.signal.throwIfAborted();
      gathering.note(file.name, error instanceof Error ? error.message : String(error));
    }
  }
  return gathering.done();
}

function numberOf(path: string): number {
  const found = /(?:^|\/)chk-(\d+)(?:\/|$)/.exec(path);
  return found === null ? -1 : Number(found[1]);
}
