// Serves the installed package and one case to a browser that has never seen them. Called by npm_package.rs: node browser.mjs CORPUS CHROMIUM
import { strictEqual } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [corpus, chromium] = process.argv.slice(2);
const name = '2.3.0-rocks-inc-chk8';
const page = `<!doctype html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'">
<script type="module" src="/page.js"></script><pre id="said">nothing</pre>`;
const script = `import { load, open } from '/package/index.js';
const said = document.getElementById('said');
try {
  await load();
  const bytes = new Uint8Array(await (await fetch('/case')).arrayBuffer());
  const { document: snapshot } = open(bytes);
  said.textContent = JSON.stringify({ id: snapshot.glance().checkpoint_id, rows: snapshot.rows });
} catch (error) {
  said.textContent = String(error);
}`;
const files = {
  '/': ['text/html', page],
  '/page.js': ['text/javascript', script],
  '/case': ['application/octet-stream', readFileSync(join(corpus, name, '_metadata'))],
};
for (const file of ['index.js', 'stayput_wasm.js', 'stayput_wasm_bg.wasm']) {
  const type = file.endsWith('.wasm') ? 'application/wasm' : 'text/javascript';
  files[`/package/${file}`] = [type, readFileSync(join('node_modules/stayput-core', file))];
}
const server = createServer((request, response) => {
  const [type, body] = files[request.url] ?? ['text/plain', 'not here'];
  response.writeHead(files[request.url] === undefined ? 404 : 200, { 'content-type': type }).end(body);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const profile = mkdtempSync(join(tmpdir(), 'stayput-npm-'));
try {
  const { stdout } = await promisify(execFile)(
    chromium,
    ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', `--user-data-dir=${profile}`,
      '--virtual-time-budget=20000', '--dump-dom', `http://127.0.0.1:${server.address().port}/`],
    { timeout: 120_000 },
  );
  const oracle = JSON.parse(readFileSync(join(corpus, name, 'oracle.json'), 'utf8'));
  const said = /<pre id="said">(.*?)<\/pre>/s.exec(stdout)?.[1].replaceAll('&quot;', '"');
  const rows = oracle.files.reduce((sum, file) => sum + file.refs, 0);
  strictEqual(said, JSON.stringify({ id: oracle.checkpoint_id, rows }));
  console.log(`${said} in the browser: all is well`);
} finally {
  server.close();
  rmSync(profile, { recursive: true, force: true });
}
