// Writes `_metadata` files that no job would write: hostile names, and a million handles.
import { readFileSync } from 'node:fs';
import { metadata } from './corpus.mjs';

class Writer {
  constructor(size) {
    this.buffer = Buffer.allocUnsafe(size);
    this.at = 0;
  }
  room(n) {
    if (this.at + n <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + n));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
  u8(n) {
    this.room(1);
    this.at = this.buffer.writeUInt8(n, this.at);
  }
  i32(n) {
    this.room(4);
    this.at = this.buffer.writeInt32BE(n, this.at);
  }
  i64(n) {
    this.room(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(n), this.at);
  }
  bytes(bytes) {
    this.room(bytes.length);
    this.at += Buffer.from(bytes).copy(this.buffer, this.at);
  }
  utf(text) {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length > 65_535) throw new Error('longer than Java can write');
    this.room(2);
    this.at = this.buffer.writeUInt16BE(bytes.length, this.at);
    this.bytes(bytes);
  }
  done() {
    return this.buffer.subarray(0, this.at);
  }
}

/** Keyed state with RocksDB's incremental files: tag 11 with file handles, tag 2. */
function keyed(out, { first, groups, backend, files }) {
  out.u8(11);
  out.i64(42);
  out.utf(backend);
  out.i32(first);
  out.i32(groups);
  out.i64(files.length * 1000);
  out.u8(0);
  out.i32(files.length);
  for (const { local, size, path } of files) {
    out.utf(local);
    out.u8(2);
    out.i64(size);
    out.utf(path);
  }
  out.i32(0);
  out.utf('caa6134a-39fb-443e-9e8c-3efde21a6f97');
}

function operator(out, version, { name = '', uid = '', id, parallelism, maxParallelism, subtasks }) {
  if (version >= 5) {
    out.utf(name);
    out.utf(uid);
  }
  out.bytes(id);
  out.i32(parallelism);
  out.i32(maxParallelism);
  out.u8(0);
  out.i32(subtasks);
}

/** A checkpoint of format 5 whose names, uids and paths are these. */
export function hostile(names, id = 7) {
  // What stands behind the operators, as Flink 2.0 wrote it.
  const real = readFileSync(metadata('2.0.2-heap-nouid-chk2'));
  const tail = real.subarray(real.lastIndexOf(Buffer.from([0xac, 0xed, 0x00, 0x05])));
  const out = new Writer(1 << 20);
  out.bytes([0x49, 0x60, 0x67, 0x2d]);
  out.i32(5);
  out.i64(id);
  out.i32(0);
  out.i32(names.length);
  names.forEach((name, i) => {
    const id = Buffer.alloc(16, i + 1);
    operator(out, 5, { name, uid: name, id, parallelism: 1, maxParallelism: 128, subtasks: 1 });
    out.i32(0);
    out.bytes(Buffer.alloc(8));
    const room = 65_535 - Buffer.byteLength('s3://bucket/cp/shared/');
    let part = name;
    while (Buffer.byteLength(part) > room) part = part.slice(0, -8);
    keyed(out, { first: 0, groups: 128, backend: '4a6a9158-2ef2-4c32-9dc2-3b3200c106c3', files: [{ local: '000001.sst', size: 1000 + i, path: `s3://bucket/cp/shared/${part}` }] });
    out.u8(0);
    out.bytes(Buffer.alloc(8));
  });
  out.bytes(tail);
  return out.done();
}

const hex = (n, digits) => n.toString(16).padStart(digits, '0').slice(-digits);

/** Format 3, 40 operators of 25 subtasks with 1,000 files each: a million handles in about 127 MB. */
export function million({ operators = 40, subtasks = 25, files = 1000 } = {}) {
  const out = new Writer(128 << 20);
  out.bytes([0x49, 0x60, 0x67, 0x2d]);
  out.i32(3);
  out.i64(42);
  out.i32(0);
  out.i32(operators);
  let number = 0;
  for (let o = 0; o < operators; o += 1) {
    const id = Buffer.alloc(16, 7);
    id.writeUInt32BE(o, 0);
    operator(out, 3, { id, parallelism: subtasks, maxParallelism: 32_768, subtasks });
    for (let s = 0; s < subtasks; s += 1) {
      out.i32(s);
      out.bytes(Buffer.alloc(8));
      const list = Array.from({ length: files }, (_, f) => {
        number += 1;
        const mixed = Math.imul(number, 0x9e3779b1) >>> 0;
        const other = Math.imul(number ^ 0x5bd1e995, 0x85ebca6b) >>> 0;
        return {
          local: `${String(f).padStart(6, '0')}.sst`,
          size: 1024 + (mixed % 67_108_864),
          path: `s3://flink-state/checkpoints/96de47a692a3dc91fecc1516c6a11a0c/shared/${hex(mixed, 8)}-${hex(other, 4)}-4${hex(other >>> 16, 3)}-8${hex(mixed >>> 20, 3)}-${hex(number, 12)}`,
        };
      });
      const groups = Math.floor(32_768 / subtasks);
      keyed(out, { first: s * groups, groups, backend: '4a6a9158-2ef2-4c32-9dc2-3b3200c106c3', files: list });
      out.u8(0);
      out.bytes(Buffer.alloc(8));
    }
  }
  return out.done();
}
