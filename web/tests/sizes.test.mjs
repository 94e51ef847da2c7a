// What a person waits for before the first file can be dropped.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { DIST } from './support/browser.mjs';

const assets = join(DIST, 'static/assets');
const compressed = (ending) => {
  const files = readdirSync(assets).filter((name) => name.endsWith(ending));
  assert.ok(files.length >= 1, `no ${ending} in ${assets}`);
  return files.reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(assets, name))).length, 0);
};

// The goal for the core is 250 kB; it is missed, and mustn't grow.
test('all scripts of the page are at most 60 kB, the core at most 360 kB, compressed', (t) => {
  const scripts = compressed('.js');
  const core = compressed('.wasm');
  t.diagnostic(`figure: scripts ${scripts} bytes, core ${core} bytes, with brotli`);
  assert.ok(scripts <= 60_000, `scripts: ${scripts} bytes`);
  assert.ok(core <= 360_000, `core: ${core} bytes`);
});
