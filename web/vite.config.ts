import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { examples } from './build/examples.mjs';
import { policy } from './build/policy.mjs';
import { serviceWorker } from './build/service-worker.mjs';
import { singleFile } from './build/single-file.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? resolve(here, '../target');
const wasm = process.env.STAYPUT_WASM_WEB ?? resolve(target, 'wasm-package/web');
if (!existsSync(resolve(wasm, 'stayput_wasm.js'))) {
  throw new Error(`no core in ${wasm}: build it with \`cargo xtask wasm\`, or name its folder with STAYPUT_WASM_WEB`);
}

// Two pages out of one source: a folder for a web server, and one file that opens from a disk.
export default defineConfig(({ mode }) => {
  const single = mode === 'single';
  const out = process.env.STAYPUT_WEB_OUT ?? resolve(here, 'dist');
  return {
    root: here,
    base: './',
    publicDir: single ? false : 'public',
    resolve: {
      alias: {
        'stayput-wasm': wasm,
        '#deliver': resolve(here, single ? 'src/core/deliver-single.ts' : 'src/core/deliver-static.ts'),
      },
    },
    build: {
      target: 'es2022',
      outDir: resolve(out, single ? 'single' : 'static'),
      emptyOutDir: true,
      assetsInlineLimit: single ? Number.MAX_SAFE_INTEGER : 0,
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      reportCompressedSize: false,
    },
    worker: { format: single ? 'iife' : 'es' },
    server: { fs: { allow: [resolve(here, '..'), wasm] } },
    plugins: [
      examples(resolve(here, '../tests/corpus'), single),
      policy(single),
      ...(single ? [singleFile()] : [serviceWorker()]),
    ],
  };
});
