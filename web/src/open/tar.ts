// Reads a tar archive where it lies: headers are looked at, contents are slices of the file. POSIX ustar, pax paths, GNU long names.

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

/** Every file in it. Stops where the archive is cut. */
export async function tarEntries(file: Blob, atMost: number): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  let long: string | undefined;
  let at = 0;
  while (at + BLOCK <= file.size && entries.length < atMost) {
    const header = new Uint8Array(await file.slice(at, at + BLOCK).arrayBuffer());
    if (header.every((byte) => byte === 0)) break;
    if (!isTar(header)) break;
    const length = size(header);
    if (!Number.isSafeInteger(length) || length < 0) break;
    const kind = String.fromCharCode(header[156]!);
    const contents = at + BLOCK;
    if (kind === 'L' || kind === 'x') {
      const extra = new Uint8Array(await file.slice(contents, contents + Math.min(length, 1 << 20)).arrayBuffer());
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
  }
  return entries;
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
