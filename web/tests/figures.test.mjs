// A file of 128 MB with a million handles. The numbers of a loaded machine mean little; what is checked here are wide bounds, and the
// figures themselves come from `node bench/figures.mjs` on an idle one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from '../bench/measure.mjs';

const wanted = process.env.STAYPUT_WEB_FIGURES === '1';

test('a million handles: opened, sorted, filtered and scrolled', { skip: wanted ? false : 'only with `cargo xtask test --all`' }, async (t) => {
  const run = await measure();
  for (const [name, value] of Object.entries(run)) t.diagnostic(`figure: ${name}: ${typeof value === 'number' ? Math.round(value * 100) / 100 : value}`);
  assert.equal(run.rows, 1_000_000);
  assert.ok(run.memoryShare <= 2.5, `the core took ${run.memoryShare} times the file`);
  assert.ok(run.dropToRows <= 10_000, `${run.dropToRows} ms until the first rows`);
  assert.ok(run.sort <= 3000 && run.filter <= 3000, `sorting ${run.sort} ms, filtering ${run.filter} ms`);
});
