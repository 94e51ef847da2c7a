import { gzipSync as gzip } from 'node:zlib';
import { zipSync as zip } from 'fflate';

export const gzipSync = gzip;
export const zipSync = (files) => zip(Object.fromEntries(Object.entries(files).map(([path, bytes]) => [path, new Uint8Array(bytes)])));
