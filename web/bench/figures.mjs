// Measures five times and writes docs/benchmarks-web.md. `node bench/figures.mjs [RUNS]` after `cargo xtask web build`.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { DIST, PROGRAM } from '../tests/support/browser.mjs';
import { REPO } from '../tests/support/corpus.mjs';
import { measure } from './measure.mjs';

const runs = [];
const loads = [loadavg()[0]];
for (let i = 0; i < Number(process.argv[2] ?? 5); i += 1) {
  runs.push(await measure());
  loads.push(loadavg()[0]);
  console.log(runs.at(-1));
}
const values = (key) => runs.map((run) => run[key]).sort((a, b) => a - b);
const median = (key) => values(key)[Math.floor(runs.length / 2)];
const ms = (n) => `${Math.round(n)} ms`;
const compressed = (ending) => {
  const folder = join(DIST, 'static/assets');
  return readdirSync(folder).filter((name) => name.endsWith(ending)).reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(folder, name))).length, 0);
};
const lines = [
  ['drop to first rows', '≤ 1,000 ms', 'dropToRows', ms, 1000],
  ['· reading the file', '', 'read', ms],
  ['· understanding it', '', 'parse', ms],
  ['· until the rows are drawn', '', 'firstPaint', ms],
  ['sort a million rows by size', '≤ 300 ms', 'sort', ms, 300],
  ['sort them by path', '≤ 300 ms', 'sortByName', ms, 300],
  ['filter them by text', '≤ 300 ms', 'filter', ms, 300],
  ['10 s of scrolling: 95 % of frames', '≤ 20 ms', 'scrollP95', (n) => `${n.toFixed(1)} ms`, 20],
  ['· longest task of the page meanwhile (0: none above 50 ms)', '≤ 100 ms', 'scrollLongestTask', ms, 100],
  ['memory of the core, in files', '≤ 2.5', 'memoryShare', (n) => n.toFixed(2), 2.5],
];
const sizes = [['scripts of the page, brotli', '≤ 60 kB', compressed('.js'), 60_000], ['the core, brotli', '≤ 250 kB', compressed('.wasm'), 250_000]];
const version = execFileSync(PROGRAM, ['--version', '--no-sandbox'], { encoding: 'utf8' }).trim();
const page = `# Benchmarks of the page

Written by \`node bench/figures.mjs\` in \`web/\`. A file of ${runs[0].bytes.toLocaleString('en')} bytes with ${runs[0].rows.toLocaleString('en')} handles (format 3, RocksDB's incremental files) is dropped on the built page;
times are wall clock, by the page's own marks, from the drop until the rows are drawn. Median of ${runs.length} runs, each in a new browser.

${version}, headless; ${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB. Load average before the runs and after each: ${loads.map((n) => n.toFixed(1)).join(', ')}.${Math.max(...loads) > 3 ? ' **Other work ran on the machine meanwhile**: these times are above what an idle one gives.' : ''}

| what | goal | median | least | |
| --- | --- | --- | --- | --- |
${lines.map(([what, goal, key, show, limit]) => `| ${what} | ${goal} | ${show(median(key))} | ${show(values(key)[0])} | ${limit === undefined ? '' : median(key) <= limit ? 'met' : '**missed**'} |`).join('\n')}
${sizes.map(([what, goal, size, limit]) => `| ${what} | ${goal} | ${(size / 1000).toFixed(1)} kB | | ${size <= limit ? 'met' : '**missed**'} |`).join('\n')}

${readFileSync(join(REPO, 'web/bench/missed.md'), 'utf8')}`;
writeFileSync(join(REPO, 'docs/benchmarks-web.md'), page);
console.log(page);
