// Archives as people pack them.
import { gzipSync as gzip } from 'node:zlib';
import { zipSync as zip } from 'fflate';

export const gzipSync = gzip;
export const zipSync = (files) => zip(Object.fromEntries(Object.entries(files).map(([path, bytes]) => [path, new Uint8Array(bytes)])));

/** A tar (POSIX ustar) of short names. */
export function tarSync(files) {
  const blocks = [];
  for (const [path, bytes] of Object.entries(files)) {
    const header = Buffer.alloc(512);
    header.write(path, 0, 100);
    header.write('0000644\0', 100);
    header.write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('0', 156);
    header.write('ustar\x0000', 257, 'latin1');
    header.write('        ', 148);
    header.write(`${header.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, '0')}\0 `, 148);
    blocks.push(header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
