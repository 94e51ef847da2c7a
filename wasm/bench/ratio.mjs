// Opens a file of a million handles in turn with the native core and with the one in WebAssembly, and holds their times against each other.
// CPU time, so that other work on the machine counts less; Linux only.
// `node ratio.mjs NATIVE PACKAGE [MOST]`: the example `open`, the package for Node.js, and the ratio that is too much.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { million } from '../../web/tests/support/made.mjs';

const RUNS = 5;
const [native, packaged, most] = process.argv.slice(2);
const core = createRequire(import.meta.url)(join(packaged, 'stayput_wasm.js'));
const bytes = million();
const folder = mkdtempSync(join(tmpdir(), 'stayput-ratio-'));
/** CPU time of a process with one thread, in milliseconds. */
const cpuOf = (pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
const ownCpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

try {
  const file = join(folder, '_metadata');
  writeFileSync(file, bytes);
  const process_ = spawn(native, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  const times = { native: [], wasm: [] };
  let handles;
  // The first of each warms up: pages of memory, and the compiler of WebAssembly.
  for (let run = 0; run <= RUNS; run++) {
    const asked = async (what) => {
      process_.stdin.write(`${what}\n`);
      return (await lines.next()).value;
    };
    await asked('copy');
    const idle = cpuOf(process_.pid);
    const rows = Number(await asked('open'));
    const took = cpuOf(process_.pid) - idle;
    const upload = new core.Upload(bytes.length);
    for (let at = 0; at < bytes.length; at += 1 << 20) upload.push(bytes.subarray(at, at + (1 << 20)));
    const began = ownCpu();
    const opened = upload.finish();
    const ended = ownCpu();
    const document = opened.document();
    if (document?.rows !== rows) throw new Error(`${document?.rows} rows, and ${rows} natively`);
    document.free();
    opened.free();
    handles = rows;
    if (run === 0) continue;
    times.native.push(took);
    times.wasm.push(ended - began);
  }
  process_.stdin.end();
  const [one, other] = [median(times.native), median(times.wasm)];
  console.log(`${handles} handles opened, median of ${RUNS}: CPU time natively ${one.toFixed(0)} ms, in WebAssembly ${other.toFixed(0)} ms, ${(other / one).toFixed(2)} times`);
  if (most !== undefined && other / one > Number(most)) {
    console.error(`that is more than ${most} times: look at what changed in the core's loops, or in the profile wasm of Cargo.toml`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
