// Reads a zip where it lies: its table of contents stands at its end, contents are slices of the file (APPNOTE.TXT 6.3.10, with Zip64).
import { Pages, unpack, type Watch } from './pages';

export interface ZipEntry {
  path: string;
  /** Bytes when unpacked, as the archive says. */
  size: number;
  packed: number;
  method: number;
  encrypted: boolean;
  /** Where its local header begins. */
  at: number;
}

export interface Zip {
  entries: ZipEntry[];
  /** The end is missing: what could be found from the beginning on. */
  cut: boolean;
  /** There are more than were wanted. */
  more: boolean;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const UNKNOWN = 0xffffffff;
const DEFLATE = 8;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const long = (view: DataView, at: number): number => view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
const utf8 = new TextDecoder();

export function isZip(head: Uint8Array): boolean {
  // One without entries begins with its end.
  return head[0] === 0x50 && head[1] === 0x4b && ((head[2] === 3 && head[3] === 4) || (head[2] === 5 && head[3] === 6));
}

/** Sizes and place that don't fit into 32 bits stand in the extra field, in this order, each only if it is needed. */
function widened(extra: Uint8Array, values: number[]): number[] {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    let next = at + 4;
    return values.map((value) => {
      if (value !== UNKNOWN || next + 8 > extra.length) return value;
      next += 8;
      return long(view, next - 8);
    });
  }
  return values;
}

/** Where the table of contents begins, and how many bytes precede the archive in the file. */
async function contents(file: Blob): Promise<{ at: number; end: number; before: number } | undefined> {
  // After the end comes a remark of at most 65,535 bytes.
  const from = Math.max(0, file.size - 22 - 65_535);
  const tail = viewOf(new Uint8Array(await file.slice(from).arrayBuffer()));
  for (let at = tail.byteLength - 22; at >= 0; at -= 1) {
    if (tail.getUint32(at, true) !== END || at + 22 + tail.getUint16(at + 20, true) !== tail.byteLength) continue;
    let size = tail.getUint32(at + 12, true);
    let offset = tail.getUint32(at + 16, true);
    let end = from + at;
    if (at >= 20 && tail.getUint32(at - 20, true) === LOCATOR_64) {
      const place = long(tail, at - 12);
      const record = viewOf(new Uint8Array(await file.slice(place, place + 56).arrayBuffer()));
      if (record.byteLength === 56 && record.getUint32(0, true) === END_64) {
        size = long(record, 40);
        offset = long(record, 48);
        end = place;
      }
    }
    const before = end - size - offset;
    return before < 0 ? undefined : { at: offset + before, end, before };
  }
  return undefined;
}

export async function zipEntries(file: Blob, atMost: number, watch: Watch, text: string): Promise<Zip> {
  const found = await contents(file);
  if (found === undefined) return fromTheBeginning(file, atMost, watch, text);
  const entries: ZipEntry[] = [];
  const pages = new Pages(file, watch);
  let { at } = found;
  for (; at + 46 <= found.end; ) {
    if (entries.length === atMost) return { entries, cut: false, more: true };
    const head = viewOf(await pages.read(at, 46));
    if (head.byteLength < 46 || head.getUint32(0, true) !== CENTRAL) break;
    const [names, extras, remark] = [head.getUint16(28, true), head.getUint16(30, true), head.getUint16(32, true)] as const;
    const [flags, method] = [head.getUint16(8, true), head.getUint16(10, true)] as const;
    const said = [head.getUint32(24, true), head.getUint32(20, true), head.getUint32(42, true)];
    const rest = await pages.read(at + 46, names + extras);
    const path = utf8.decode(rest.subarray(0, names));
    const [size, packed, place] = widened(rest.subarray(names), said) as [number, number, number];
    if (!path.endsWith('/')) entries.push({ path, size, packed, method, encrypted: (flags & 1) !== 0, at: place + found.before });
    at += 46 + names + extras + remark;
    if ((entries.length & 1023) === 0) watch.at(text, (at - found.at) / (found.end - found.at));
  }
  return { entries, cut: at < found.end, more: false };
}

/** An archive without its end: local headers follow each other as long as they say how long their contents are. */
async function fromTheBeginning(file: Blob, atMost: number, watch: Watch, text: string): Promise<Zip> {
  const entries: ZipEntry[] = [];
  const pages = new Pages(file, watch);
  for (let at = 0; ; ) {
    if (entries.length === atMost) return { entries, cut: true, more: true };
    const head = viewOf(await pages.read(at, 30));
    if (head.byteLength < 30 || head.getUint32(0, true) !== LOCAL) break;
    const [flags, method, names, extras] = [head.getUint16(6, true), head.getUint16(8, true), head.getUint16(26, true), head.getUint16(28, true)] as const;
    const said = [head.getUint32(22, true), head.getUint32(18, true)];
    const rest = await pages.read(at + 30, names + extras);
    if (rest.length < names + extras) break;
    const path = utf8.decode(rest.subarray(0, names));
    const [size, packed] = widened(rest.subarray(names), said) as [number, number];
    const next = at + 30 + names + extras + packed;
    // Lengths that stand behind the contents, or contents that are cut.
    if ((flags & 8) !== 0 || next > file.size) break;
    if (!path.endsWith('/')) entries.push({ path, size, packed, method, encrypted: (flags & 1) !== 0, at });
    at = next;
    watch.at(text, at / file.size);
  }
  return { entries, cut: true, more: false };
}

/** The contents of an entry. Throws a sentence's end that says why there are none. */
export async function zipContents(file: Blob, entry: ZipEntry, watch: Watch, text: string): Promise<Blob> {
  if (entry.encrypted) throw new Error('it is encrypted');
  if (entry.method !== 0 && entry.method !== DEFLATE) throw new Error(`it is packed by method ${entry.method}, which browsers don’t know`);
  const head = viewOf(new Uint8Array(await file.slice(entry.at, entry.at + 30).arrayBuffer()));
  if (head.byteLength < 30 || head.getUint32(0, true) !== LOCAL) throw new Error('it isn’t where the archive says');
  const at = entry.at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  if (at + entry.packed > file.size) throw new Error('the archive ends within it');
  const packed = file.slice(at, at + entry.packed);
  return entry.method === 0 ? packed : unpack(packed, 'deflate-raw', watch, text);
}
