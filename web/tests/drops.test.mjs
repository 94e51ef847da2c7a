// Large, cut, empty and odd drops: everything is opened in a moment or can be cancelled, and nothing vanishes without a word.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { gzipSync, tarSync, zipSync } from './support/archives.mjs';
import { drop, go, start, view } from './support/browser.mjs';
import { CORPUS, metadata } from './support/corpus.mjs';

const CASE = '2.3.0-rocks-inc-chk8';
const REAL = readFileSync(metadata(CASE));
let browser;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stayput-page-'));
  browser = await start();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  browser.complaints.length = 0;
  await browser.page.goto('about:blank');
  await browser.page.goto(browser.url);
  await browser.page.locator('.welcome').waitFor();
});

const options = () => browser.page.locator('#docs option').count();
const notices = () => browser.page.locator('.problems .notice');
const said = async () => {
  await notices().first().waitFor();
  return (await notices().allTextContents()).join(' | ');
};

/** Writes files below the folder of this test; gives the path of the first name's top. */
function made(top, files) {
  for (const [path, bytes] of Object.entries(files)) {
    const at = join(folder, top, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, bytes);
  }
  return join(folder, top);
}
function packed(name, bytes) {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}
const paste = (text) => browser.page.evaluate((given) => {
  const data = new DataTransfer();
  data.setData('text/plain', given);
  document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
}, text);

const MANY = 60_000;
function many(count) {
  const files = {};
  for (let i = 0; i < count; i += 1) files[`job/shared/${i.toString(16).padStart(8, '0')}`] = Buffer.from('x');
  files['job/chk-8/_metadata'] = REAL;
  return files;
}

test('archives of 60,000 files open in seconds, and all of them are the listing', async () => {
  const archives = { 'many.zip': zipSync(many(MANY)), 'many.tar': tarSync(many(MANY)) };
  for (const [name, bytes] of Object.entries(archives)) {
    await browser.page.goto('about:blank');
    await browser.page.goto(browser.url);
    await browser.page.locator('.welcome').waitFor();
    const began = Date.now();
    await drop(browser, [packed(name, bytes)]);
    await view(browser.page, 'glance');
    const took = Date.now() - began;
    assert.ok(took < 30_000, `${name} took ${took} ms`);
    assert.equal(await options(), 1, name);
    assert.equal(await notices().count(), 0, name);
    await go(browser.page, 6, 'exists');
    await browser.page.locator('[data-verdict]').waitFor();
    assert.match(await browser.page.locator('[data-view="exists"]').textContent(), /60,?001/, name);
  }
  assert.deepEqual(browser.complaints, []);
});

test('a directory of 5,000 files opens in seconds', async () => {
  const job = made('large/job', Object.fromEntries(Object.entries(many(5_000)).map(([path, bytes]) => [path.replace(/^job\//, ''), bytes])));
  const began = Date.now();
  await drop(browser, [job]);
  await view(browser.page, 'glance');
  assert.ok(Date.now() - began < 25_000, `${Date.now() - began} ms`);
  await go(browser.page, 6, 'exists');
  await browser.page.locator('[data-verdict]').waitFor();
  assert.match(await browser.page.locator('[data-view="exists"]').textContent(), /5,?001/);
});

test('looking into an archive shows how far it is, and can be cancelled', async () => {
  // Each header stands behind so much that every one is a read of its own.
  const hole = Buffer.alloc(40_000);
  const files = {};
  for (let i = 0; i < 8_000; i += 1) files[`job/shared/${i}`] = hole;
  files['job/chk-8/_metadata'] = REAL;
  await drop(browser, [packed('long.tar', tarSync(files))]);
  const { page } = browser;
  await page.waitForFunction(() => {
    const box = document.querySelector('.busy:not(.hidden)');
    if (box === null || !/Looking into long\.tar/.test(box.textContent) || !box.querySelector('progress').hasAttribute('value')) return false;
    box.querySelector('button:not(.hidden)')?.click();
    return true;
  }, undefined, { polling: 5, timeout: 30_000 });
  await page.locator('.toasts', { hasText: 'Cancelled' }).waitFor();
  await page.locator('.busy.hidden').waitFor({ state: 'attached' });
  assert.equal(await page.locator('.welcome').count(), 1);
  assert.equal(await options(), 0);
  rmSync(join(folder, 'long.tar'));
  await drop(browser, [metadata(CASE)]);
  await view(page, 'glance');
});

test('a drop with no checkpoint in it says so', async () => {
  const foreign = { 'job/notes.txt': Buffer.from('hello') };
  const inner = zipSync({ '_metadata': REAL });
  mkdirSync(join(folder, 'nothing'));
  const drops = [
    [packed('nometa.zip', zipSync(foreign)), /no file named _metadata is in it; 1 file was looked at/],
    [packed('nometa.tar', tarSync(foreign)), /no file named _metadata is in it; 1 file was looked at/],
    [made('foreign', { 'notes.txt': 'hello' }), /no file named _metadata is in it; 1 file was looked at/],
    [join(folder, 'nothing'), /directory is empty: no file named _metadata is in it/],
    [packed('none.zip', zipSync({})), /archive is empty: no file named _metadata is in it/],
    [packed('nested.zip', zipSync({ 'nest.zip': inner })), /no file named _metadata is in it; 1 file was looked at, 1 archive: an archive in an archive isn’t looked into/],
  ];
  for (const [file, words] of drops) {
    await browser.page.goto('about:blank');
    await browser.page.goto(browser.url);
    await browser.page.locator('.welcome').waitFor();
    await drop(browser, [file]);
    assert.match(await said(), new RegExp(words.source, 'i'), file);
    assert.equal(await browser.page.locator('[data-kept]').count(), 0, file);
  }
});

test('rules and listings that come first are kept for the checkpoint, and that is said', async () => {
  const { page } = browser;
  const rules = JSON.stringify({ Rules: [{ ID: 'r', Status: 'Enabled', Filter: { Prefix: '' }, Expiration: { Days: 30 } }] });
  await drop(browser, [packed('rules.json', rules)]);
  await page.locator('[data-kept="rules"]').waitFor();
  assert.match(await page.locator('[data-kept="rules"]').textContent(), /read: rules\.json.*now drop a checkpoint/);
  await paste('2026-03-01 12:00:00 10 a/b\n');
  await page.locator('[data-kept="listing"]').waitFor();
  assert.equal(await page.locator('[aria-current="page"]').count(), 0);
  assert.equal(await page.locator('.rail').isVisible(), false);
  await page.locator('[data-kept="listing"] button').click();
  await page.locator('[data-kept="listing"]').waitFor({ state: 'detached' });
  await paste('2026-03-01 12:00:00 10 a/b\n');
  await page.locator('[data-kept="listing"]').waitFor();
  await drop(browser, [metadata(CASE)]);
  await page.locator('[data-view]').waitFor();
  assert.equal(await page.locator('[data-kept]').count(), 0);
  await go(page, 7, 'rules');
  assert.match(await page.locator('[data-view="rules"] textarea').inputValue(), /"Days":30/);
  assert.deepEqual(browser.complaints, []);
});

test('half of the rules, pasted or dropped, gets a sentence and isn’t kept', async () => {
  const { page } = browser;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const halves = ['{"Rules":', '{"Rules":[{"ID":"a","Status":"Enabled","Filter":', '<LifecycleConfiguration><Rule><ID>a</ID>'];
  for (const half of halves) {
    await page.goto('about:blank');
    await page.goto(browser.url);
    await page.locator('.welcome').waitFor();
    await page.evaluate((text) => navigator.clipboard.writeText(text), half);
    await page.locator('main').focus();
    await page.keyboard.press('Control+V');
    assert.match(await said(), /look like lifecycle rules, but they aren’t whole/, half);
    assert.equal(await page.locator('[data-kept]').count(), 0, half);
  }
  await drop(browser, [packed('half.json', halves[1])]);
  await page.waitForFunction(() => document.querySelectorAll('.problems .notice').length === 2);
});

test('a listing that lies beside the checkpoint wins over the directory; other texts there are no complaint', async () => {
  const { page } = browser;
  const one = join(folder, 'case');
  cpSync(join(CORPUS, CASE), one, { recursive: true });
  const lines = readFileSync(join(one, 'listing.tsv'), 'utf8').split('\n').filter((line) => line.includes('\t')).length;
  assert.ok(lines > 50);
  writeFileSync(join(one, 'README.txt'), 'Words, and more of them\n');
  const inside = Object.fromEntries(['_metadata', 'listing.tsv', 'case.toml', 'oracle.json', 'README.txt'].map((name) => [`case/${name}`, readFileSync(join(one, name))]));
  for (const dropped of [one, packed('case.zip', zipSync(inside)), packed('case.tar.gz', gzipSync(tarSync(inside)))]) {
    await page.goto('about:blank');
    await page.goto(browser.url);
    await page.locator('.welcome').waitFor();
    await drop(browser, [dropped]);
    await view(page, 'glance');
    assert.equal(await notices().count(), 0, dropped);
    await go(page, 6, 'exists');
    await page.locator('[data-verdict]').waitFor();
    const text = await page.locator('[data-view="exists"]').textContent();
    assert.match(text, /listing\.tsv/, dropped);
    assert.doesNotMatch(text, /what was dropped/, dropped);
  }
});

test('the same file once more is no second entry', async () => {
  const { page } = browser;
  await drop(browser, [metadata(CASE), metadata('1.14.6-rocks-inc-chain-j1-chk3')]);
  await page.locator('#docs option').nth(1).waitFor({ state: 'attached' });
  const chosen = () => page.locator('#docs').evaluate((select) => select.selectedOptions[0].textContent);
  const first = await chosen();
  await page.keyboard.press(']');
  assert.notEqual(await chosen(), first);
  await drop(browser, [metadata(CASE)]);
  await page.locator('.toasts', { hasText: 'is open already' }).waitFor();
  assert.equal(await options(), 2);
  assert.match(await chosen(), /heckpoint 8 ·/);
  // A file of the same length is another one.
  const other = Buffer.from(REAL);
  other.writeBigInt64BE(9n, 8);
  await drop(browser, [packed('_metadata', other)]);
  await page.locator('#docs option').nth(2).waitFor({ state: 'attached' });
});

test('a cut archive says that it is cut, and what is whole in it is open', async () => {
  const zip = Buffer.from(zipSync({ 'job/chk-8/_metadata': REAL }));
  const tar = tarSync({ 'job/chk-7/_metadata': REAL, 'job/shared/x': Buffer.alloc(9_000) });
  const cuts = [
    [packed('cut.zip', zip.subarray(0, zip.length - 30)), /cut\.zip.*archive is cut.*1 file was found/, true],
    [packed('half.zip', zip.subarray(0, zip.length / 2)), /half\.zip.*archive is cut.*Nothing in it could be found/, false],
    [packed('cut.tar', tar.subarray(0, tar.length - 9_000)), /cut\.tar.*archive is cut: it ends within job\/shared\/x/, true],
    [packed('cut.tar.gz', gzipSync(tar).subarray(0, 2_000)), /cut\.tar\.gz.*cut or damaged/, false],
  ];
  for (const [file, words, opens] of cuts) {
    await browser.page.goto('about:blank');
    await browser.page.goto(browser.url);
    await browser.page.locator('.welcome').waitFor();
    await drop(browser, [file]);
    assert.match(await said(), words, file);
    await browser.page.locator('.busy.hidden').waitFor({ state: 'attached' });
    if (opens) await view(browser.page, 'glance');
    assert.equal(await options(), opens ? 1 : 0, file);
  }
});

test('all files of a checkpoint’s directory, dropped by their names: it opens, and the others are counted', async () => {
  const { page } = browser;
  const files = Array.from({ length: 60 }, (_, i) => packed(`0000${i}.sst`, Buffer.alloc(2_000, i)));
  await drop(browser, [...files, metadata(CASE)]);
  await view(page, 'glance');
  assert.equal(await options(), 1);
  assert.equal(await notices().count(), 1);
  assert.match(await said(), /60 other files.*weren’t opened/);
});
