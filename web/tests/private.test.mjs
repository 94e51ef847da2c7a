// Nothing leaves the browser, and the page needs no network.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { drop, go, start, view } from './support/browser.mjs';
import { metadata } from './support/corpus.mjs';

test('a whole session asks its own server only for the page itself, and other servers for nothing', async () => {
  const browser = await start();
  try {
    const asked = [];
    browser.context.on('request', (request) => asked.push(request.url()));
    await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
    await view(browser.page, 'glance');
    for (const [i, name] of ['glance', 'operators', 'files', 'treemap', 'breaks', 'exists', 'rules', 'compare', 'raw'].entries()) await go(browser.page, i + 1, name);
    const others = asked.filter((url) => !/^(data|blob):/.test(url) && !url.startsWith(browser.url));
    assert.deepEqual(others, []);
    assert.ok(browser.server.asked.every((path) => !/metadata\b.*chk8/.test(path)), 'the name of the file reached the server');
    assert.match(await browser.page.evaluate(() => location.href), /#view=raw$/, 'the URL keeps more than the view');
  } finally {
    await browser.close();
  }
});

test('the browser refuses a connection to another server, from the page and from the worker', async () => {
  const browser = await start();
  try {
    const refused = await browser.page.evaluate(async () => {
      const said = [];
      document.addEventListener('securitypolicyviolation', (event) => said.push(event.effectiveDirective));
      const tries = {
        fetch: () => fetch('http://127.0.0.1:9/x', { method: 'POST', body: 'secret' }),
        socket: () => new Promise((done, failed) => { const socket = new WebSocket('ws://127.0.0.1:9/'); socket.onopen = done; socket.onerror = failed; }),
        beacon: async () => { if (!navigator.sendBeacon('http://127.0.0.1:9/', 'secret')) throw new Error('refused'); },
        image: () => new Promise((done, failed) => { const image = new Image(); image.onload = done; image.onerror = failed; image.src = 'http://127.0.0.1:9/x.png'; }),
      };
      for (const one of Object.values(tries)) await one().then(() => said.push('went through'), () => {});
      await new Promise((later) => setTimeout(later, 200));
      return said;
    });
    assert.ok(!refused.includes('went through') || refused.filter((one) => one === 'connect-src').length >= 3, refused.join());
    assert.ok(refused.filter((one) => one === 'connect-src').length >= 3, `refused: ${refused}`);
    assert.ok(refused.includes('img-src'), `refused: ${refused}`);
  } finally {
    await browser.close();
  }
});

test('it works without a network once it was opened', async () => {
  const browser = await start();
  try {
    await browser.page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      for (let i = 0; i < 100 && navigator.serviceWorker.controller === null; i += 1) await new Promise((later) => setTimeout(later, 50));
    });
    await browser.server.close();
    await browser.page.reload();
    await browser.page.locator('.welcome').waitFor();
    await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
    await view(browser.page, 'glance');
    await browser.page.reload();
    await browser.page.click('[data-example="savepoint"]');
    await view(browser.page, 'glance');
  } finally {
    await browser.close();
  }
});

test('one file from a disk does all of it, and may connect to nothing', async () => {
  const browser = await start({ single: true });
  try {
    assert.ok(existsSync(new URL(browser.url)));
    const asked = [];
    browser.context.on('request', (request) => asked.push(request.url()));
    await browser.page.locator('.welcome').waitFor();
    await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
    await view(browser.page, 'glance');
    for (const [i, name] of ['glance', 'operators', 'files', 'treemap', 'breaks', 'exists', 'rules', 'compare', 'raw'].entries()) await go(browser.page, i + 1, name);
    assert.deepEqual(asked.filter((url) => !/^(data|blob):/.test(url)), []);
    const policy = await browser.page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content');
    assert.match(policy, /connect-src 'none'/);
    assert.doesNotMatch(policy, /'unsafe-inline'|'unsafe-eval'/);
    const refused = await browser.page.evaluate(async () => {
      const said = [];
      document.addEventListener('securitypolicyviolation', (event) => said.push(event.effectiveDirective));
      await fetch('http://127.0.0.1:9/').catch(() => {});
      await new Promise((later) => setTimeout(later, 100));
      return said;
    });
    assert.deepEqual(refused, ['connect-src']);
    assert.deepEqual(browser.complaints.filter((text) => !/127\.0\.0\.1:9/.test(text)), []);
    await browser.page.reload();
    await browser.page.click('[data-example="chain"]');
    // The hash has kept the view.
    await view(browser.page, 'raw');
  } finally {
    await browser.close();
  }
});
