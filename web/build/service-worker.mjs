// A service worker that has every file of the page in its cache, under the hash of them all: the page works without a network, and a new
// build replaces the old one whole.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

function filesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesOf(path) : [path];
  });
}

const source = (version, files) => `// Made by the build.
const CACHE = 'stayput-inspector-${version}';
const FILES = ${JSON.stringify(files)};
addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});
addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith('stayput-inspector-') && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  })());
});
addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET') return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE);
    const url = new URL(event.request.url);
    // A page with a query is the same page.
    const known = event.request.mode === 'navigate' && url.pathname.endsWith('/') ? './index.html' : event.request;
    return (await cache.match(known, { ignoreSearch: event.request.mode === 'navigate' })) ?? fetch(event.request);
  })());
});
`;

export function serviceWorker() {
  let folder;
  let emit;
  return {
    name: 'stayput-service-worker',
    apply: 'build',
    configResolved: (config) => {
      folder = config.build.outDir;
    },
    closeBundle: {
      order: 'post',
      async handler() {
        const { writeFileSync } = await import('node:fs');
        const hash = createHash('sha256');
        const files = filesOf(folder)
          .filter((path) => !path.endsWith(`${sep}sw.js`))
          .sort();
        for (const path of files) hash.update(relative(folder, path)).update(readFileSync(path));
        const names = files.map((path) => `./${relative(folder, path).split(sep).join('/')}`);
        writeFileSync(join(folder, 'sw.js'), source(hash.digest('hex').slice(0, 16), names));
        emit = names.length;
        if (emit < 5) throw new Error(`only ${emit} files for the service worker: the build is incomplete`);
      },
    },
  };
}
