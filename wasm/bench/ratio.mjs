// Opens a file of a million handles in turn with the native core and with the one in WebAssembly, and holds their times against each other.
// CPU time, so that other work on the machine counts less, and of the runs of each core the fastest: what else runs only makes a run slower.
// Linux only.
// `node ratio.mjs NATIVE PACKAGE [MOST]`: the example `open`, the package for Node.js, and the ratio that is too much.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { million } from '../../web/tests/support/made.mjs';

const RUNS = 5;
/** A ratio that is too much counts when it shows as often as this: it swings by a fifth from one time to the next. */
const ROUNDS = 3;
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

try {
  const file = join(folder, '_metadata');
  writeFileSync(file, bytes);
  const process_ = spawn(native, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  const asked = async (what) => {
    process_.stdin.write(`${what}\n`);
    return (await lines.next()).value;
  };
  const times = async () => {
    const times = { native: [], wasm: [], handles: 0 };
    for (let run = 0; run <= RUNS; run++) {
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
      times.handles = rows;
      // The first of each warms up: pages of memory, and the compiler of WebAssembly.
      if (run === 0) continue;
      times.native.push(took);
      times.wasm.push(ended - began);
    }
    return times;
  };
  let isTooMuch = true;
  for (let round = 0; isTooMuch && round < ROUNDS; round++) {
    const { native, wasm, handles } = await times();
    const [one, other] = [Math.min(...native), Math.min(...wasm)];
    console.log(`${handles} handles opened, fastest of ${RUNS}: CPU time natively ${one.toFixed(0)} ms, in WebAssembly ${other.toFixed(0)} ms, ${(other / one).toFixed(2)} times`);
    isTooMuch = most !== undefined && other / one > Number(most);
  }
  process_.stdin.end();
  if (isTooMuch) {
    console.error(`that is more than ${most} times: look at what changed in the core's loops, or in the profile wasm of Cargo.toml`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
