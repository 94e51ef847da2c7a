// Large files: cancelling while they are read and while they are understood gives the page and its memory back.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { drop, go, start, view } from './support/browser.mjs';
import { metadata } from './support/corpus.mjs';
import { million } from './support/made.mjs';

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stayput-page-'));
  // Nothing but zeros after the magic number, and nothing on the disk: only its reading takes time.
  const file = openSync(join(folder, 'long'), 'w');
  writeSync(file, Buffer.from([0x49, 0x60, 0x67, 0x2d, 0, 0, 0, 3]));
  ftruncateSync(file, 900_000_000);
  closeSync(file);
  writeFileSync(join(folder, '_metadata'), million());
  browser = await start();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const cancelWhile = async (words) => {
  const { page } = browser;
  await page.waitForFunction((wanted) => {
    const box = document.querySelector('.busy');
    if (box === null || box.classList.contains('hidden') || !box.textContent.includes(wanted)) return false;
    const button = box.querySelector('button:not(.hidden)');
    button?.click();
    return button !== null;
  }, words, { polling: 5, timeout: 30_000 });
};

/** An ended worker may take a moment to be gone. */
async function one() {
  for (let i = 0; i < 100 && browser.page.workers().length > 1; i += 1) await browser.page.waitForTimeout(50);
  assert.equal(browser.page.workers().length, 1);
}

/** Bytes that the core held when it had opened the last file. */
const memory = () => browser.page.evaluate(() => performance.getEntriesByName('stayput:opened').at(-1).detail.memory);

test('cancelled while it is read: the start page is there, and the next file opens', async () => {
  const { page } = browser;
  await drop(browser, [join(folder, 'long')]);
  const began = Date.now();
  await cancelWhile('Reading');
  await page.locator('.busy.hidden').waitFor({ state: 'attached' });
  assert.ok(Date.now() - began < 20_000);
  assert.equal(await page.locator('.welcome').count(), 1);
  assert.equal(await page.locator('.notice').count(), 0);
  await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
  await view(page, 'glance');
  // The memory that was taken for the long file is no longer there.
  assert.ok((await memory()) < 64e6, `${await memory()} bytes are held`);
  await one();
});

test('cancelled while it is understood: what was open is open again, with its listing and its view', async () => {
  const { page } = browser;
  const listing = join(folder, 'objects.txt');
  writeFileSync(listing, '2026-03-01 12:00:00 10 a/b\n');
  await drop(browser, [listing]);
  await view(page, 'exists');
  await go(page, 3, 'files');
  await page.locator('.grid .row').first().waitFor();
  const rows = await page.locator('[data-view="files"]').getAttribute('data-rows');
  // With a small one before it, which is opened and stays.
  await drop(browser, [metadata('2.0.2-heap-nouid-chk2'), join(folder, '_metadata')]);
  await cancelWhile('Understanding');
  await page.locator('.busy.hidden').waitFor({ state: 'attached' });
  await view(page, 'files');
  await page.locator('#docs option').nth(1).waitFor({ state: 'attached' });
  assert.equal(await page.locator('#docs option').count(), 2);
  await page.locator('#docs').selectOption({ index: 0 });
  await page.waitForFunction((wanted) => document.querySelector('[data-view="files"]')?.dataset.rows === wanted, rows);
  await page.locator('.grid .scroll').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('[data-detail]').waitFor();
  await go(page, 6, 'exists');
  await page.locator('[data-verdict]').waitFor();
  await drop(browser, [metadata('2.3.0-rocks-inc-sp1')]);
  await page.locator('#docs option').nth(2).waitFor({ state: 'attached' });
  await one();
  assert.ok((await memory()) < 64e6, `${await memory()} bytes are held`);
  assert.deepEqual(browser.complaints, []);
});
