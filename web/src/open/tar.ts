// Reads a tar archive where it lies: headers are looked at, contents are slices of the file. POSIX ustar, pax paths, GNU long names.

import { Pages, type Watch } from './pages';

export interface TarEntry {
  path: string;
  size: number;
  /** Where its contents begin. */
  at: number;
}

const BLOCK = 512;
const decoder = new TextDecoder();

function text(header: Uint8Array, from: number, length: number): string {
  const field = header.subarray(from, from + length);
  const end = field.indexOf(0);
  return decoder.decode(end === -1 ? field : field.subarray(0, end));
}

function size(header: Uint8Array): number {
  // GNU writes sizes above 8 GiB in base 256, with the first bit set.
  if ((header[124]! & 0x80) !== 0) {
    let value = header[124]! & 0x7f;
    for (let i = 125; i < 136; i += 1) value = value * 256 + header[i]!;
    return value;
  }
  return Number.parseInt(text(header, 124, 12).trim() || '0', 8);
}

export function isTar(head: Uint8Array): boolean {
  return head.length >= 262 && text(head, 257, 5) === 'ustar';
}

/** Every file in it. `cut`: it ends within the last one. */
export async function tarEntries(file: Blob, atMost: number, watch: Watch, words: string): Promise<{ entries: TarEntry[]; cut: boolean }> {
  const entries: TarEntry[] = [];
  const pages = new Pages(file, watch);
  let long: string | undefined;
  let at = 0;
  while (at + BLOCK <= file.size && entries.length < atMost) {
    const header = await pages.read(at, BLOCK);
    if (header[0] === 0 && header.every((byte) => byte === 0)) break;
    if (!isTar(header)) break;
    const length = size(header);
    if (!Number.isSafeInteger(length) || length < 0) break;
    const kind = String.fromCharCode(header[156]!);
    const contents = at + BLOCK;
    if (kind === 'L' || kind === 'x') {
      const extra = await pages.read(contents, Math.min(length, 1 << 20));
      if (kind === 'L') long = text(extra, 0, extra.length);
      else long = paxPath(extra) ?? long;
    } else {
      if (kind === '0' || kind === '\0') {
        const prefix = text(header, 345, 155);
        const name = text(header, 0, 100);
        entries.push({ path: long ?? (prefix === '' ? name : `${prefix}/${name}`), size: length, at: contents });
      }
      long = undefined;
    }
    at = contents + Math.ceil(length / BLOCK) * BLOCK;
    watch.at(words, Math.min(1, at / file.size));
  }
  const last = entries.at(-1);
  return { entries, cut: last !== undefined && last.at + last.size > file.size };
}

/** Records are "LENGTH KEY=VALUE\n", the length of the whole record in bytes. */
function paxPath(records: Uint8Array): string | undefined {
  let at = 0;
  while (at < records.length) {
    const space = records.indexOf(32, at);
    if (space === -1) return undefined;
    const length = Number(decoder.decode(records.subarray(at, space)));
    if (!Number.isSafeInteger(length) || length <= space - at) return undefined;
    const record = decoder.decode(records.subarray(space + 1, at + length - 1));
    if (record.startsWith('path=')) return record.slice(5);
    at += length;
  }
  return undefined;
}
