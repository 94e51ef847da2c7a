// From what was dropped, chosen or pasted to files with paths: directories are walked, archives are looked into.
import { Unzip, UnzipInflate } from 'fflate';
import { isTar, tarEntries } from './tar';

export interface Found {
  /** Path within what was dropped, with `/`. */
  path: string;
  file: Blob;
}

export interface Gathered {
  files: Found[];
  /** Paths and sizes of everything that lay in a dropped directory or archive: a listing. */
  seen: { path: string; size: number }[];
  /** What could not be looked at. */
  notes: string[];
}

/** So many entries of a dropped directory or archive are looked at. */
const MOST_ENTRIES = 200_000;

export function nothing(): Gathered {
  return { files: [], seen: [], notes: [] };
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
    all.push(...some);
  }
}

async function walk(entry: FileSystemEntry, path: string, within: boolean, into: Gathered): Promise<void> {
  if (into.seen.length >= MOST_ENTRIES) return;
  try {
    if (entry.isDirectory) {
      for (const child of await children(entry as FileSystemDirectoryEntry)) await walk(child, `${path}/${child.name}`, true, into);
      return;
    }
    const file = await fileOf(entry as FileSystemFileEntry);
    await take({ path, file }, within, into);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    into.notes.push(location.protocol === 'file:' ? `${path} can't be looked into: browsers don't let a page from a disk read a dropped directory. Use “Choose a directory”, or drop the _metadata itself` : `${path} can't be read: ${why}`);
  }
}

/** Of what lies in a directory only what the page can read is opened: `_metadata`; the rest is a listing. */
const wantedWithin = (path: string): boolean => /(^|\/)_metadata$/.test(path);

async function take(found: Found, within: boolean, into: Gathered): Promise<void> {
  if (within) {
    into.seen.push({ path: found.path, size: found.file.size });
    if (wantedWithin(found.path)) into.files.push(found);
    return;
  }
  if (!(await unpacked(found, into))) into.files.push(found);
}

async function unpacked(found: Found, into: Gathered): Promise<boolean> {
  const head = new Uint8Array(await found.file.slice(0, 512).arrayBuffer());
  if (head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4) {
    await fromZip(found, into);
    return true;
  }
  if (isTar(head)) {
    await fromTar(found, into);
    return true;
  }
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const file = await gunzipped(found.file);
    const path = found.path.replace(/\.gz$/i, '').replace(/\.tgz$/i, '.tar');
    await take({ path, file }, false, into);
    return true;
  }
  return false;
}

async function gunzipped(file: Blob): Promise<Blob> {
  const stream = file.stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).blob();
}

async function fromTar({ path, file }: Found, into: Gathered): Promise<void> {
  for (const entry of await tarEntries(file, MOST_ENTRIES)) {
    const name = entry.path.replace(/^\.\//, '');
    into.seen.push({ path: name, size: entry.size });
    if (!wantedWithin(name)) continue;
    if (entry.at + entry.size > file.size) into.notes.push(`${path} ends within ${name}: the archive is cut`);
    into.files.push({ path: name, file: file.slice(entry.at, entry.at + entry.size) });
  }
}

async function fromZip({ path, file }: Found, into: Gathered): Promise<void> {
  const unzip = new Unzip();
  unzip.register(UnzipInflate);
  const trouble: string[] = [];
  unzip.onfile = (entry) => {
    if (entry.name.endsWith('/')) return;
    const wanted = wantedWithin(entry.name);
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    const seen = { path: entry.name, size: entry.originalSize ?? -1 };
    into.seen.push(seen);
    entry.ondata = (error, chunk, final) => {
      if (error) {
        trouble.push(`${entry.name} in ${path}: ${error.message}`);
        return;
      }
      size += chunk.length;
      if (wanted) parts.push(chunk.slice());
      if (!final) return;
      seen.size = size;
      if (wanted) into.files.push({ path: entry.name, file: new Blob(parts) });
    };
    // A size that the header doesn't say (it then stands behind the contents) is known only by unpacking.
    if (wanted || entry.originalSize === undefined) entry.start();
  };
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    unzip.push(value, false);
  }
  unzip.push(new Uint8Array(0), true);
  into.notes.push(...trouble);
}

export async function gather(entries: readonly FileSystemEntry[], files: readonly File[]): Promise<Gathered> {
  const into = nothing();
  for (const entry of entries) await walk(entry, entry.name, false, into);
  for (const file of files) {
    // Files of a chosen directory have a path of their own.
    const path = file.webkitRelativePath;
    await take({ path: path === '' ? file.name : path, file }, path !== '', into);
  }
  if (into.seen.length >= MOST_ENTRIES) into.notes.push(`only the first ${MOST_ENTRIES.toLocaleString('en')} files of the directory were looked at`);
  // Newest first: the highest number of chk-N.
  into.files.sort((a, b) => numberOf(b.path) - numberOf(a.path));
  return into;
}

function numberOf(path: string): number {
  const found = /(?:^|\/)chk-(\d+)(?:\/|$)/.exec(path);
  return found === null ? -1 : Number(found[1]);
}
