// Serves a folder on the loopback address: for looking at the built page, and for its tests. `node build/serve.mjs FOLDER [PORT]`
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.svg': 'image/svg+xml',
  '.json': 'application/json', '.webmanifest': 'application/manifest+json', '.txt': 'text/plain; charset=utf-8',
};

/** `more` gives further files by their path in the URL. */
export function serve(folder, port = 0, more = {}) {
  const root = resolve(folder);
  const asked = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    asked.push(path);
    const file = more[path] ?? join(root, normalize(path.endsWith('/') ? `${path}index.html` : path));
    const allowed = more[path] !== undefined || file.startsWith(root + sep);
    let length;
    try {
      length = allowed ? statSync(file).size : undefined;
    } catch {
      length = undefined;
    }
    if (length === undefined || !['GET', 'HEAD'].includes(request.method)) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
      return;
    }
    response.writeHead(200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-length': length, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    if (request.method === 'HEAD') response.end();
    else createReadStream(file).pipe(response);
  });
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      done({ url: `http://127.0.0.1:${server.address().port}/`, asked, close: () => new Promise((closed) => { server.closeAllConnections(); server.close(closed); }) });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve(process.argv[2] ?? fileURLToPath(new URL('../dist/static', import.meta.url)), Number(process.argv[3] ?? 0));
  console.log(`the inspector: ${url}  (Ctrl+C ends it)`);
}
