// Everything that can be dropped, chosen, pasted or named in the URL, and what is said of what can't be read.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { gzipSync, zipSync } from './support/archives.mjs';
import { drop, start, view } from './support/browser.mjs';
import { CORPUS, metadata } from './support/corpus.mjs';

const CHAIN = ['1.14.6-rocks-inc-chain-j1-chk3', '1.14.6-rocks-inc-chain-j1-chk4'];
let browser;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stayput-page-'));
  browser = await start({ more: { '/given/_metadata': metadata(CHAIN[0]) } });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  browser.complaints.length = 0;
  await browser.page.goto(browser.url);
  await browser.page.locator('.welcome').waitFor();
});

const heading = () => browser.page.locator('[data-view="glance"] h1').textContent();
const opened = () => browser.page.locator('#docs option').count();
const notice = (reading) => browser.page.locator(`.notice[data-reading="${reading}"]`);

/** A job's directory as it lies on a disk: two checkpoints and the files that they share. */
function jobDirectory() {
  const job = join(folder, `job-${Math.random().toString(36).slice(2)}`);
  for (const [i, name] of CHAIN.entries()) {
    const checkpoint = join(job, `chk-${i + 3}`);
    mkdirSync(checkpoint, { recursive: true });
    cpSync(metadata(name), join(checkpoint, '_metadata'));
  }
  mkdirSync(join(job, 'shared'));
  writeFileSync(join(job, 'shared/0b6c2a35-unneeded'), 'x'.repeat(100));
  return job;
}

test('one file, dropped anywhere', async () => {
  await drop(browser, [metadata(CHAIN[0])]);
  await view(browser.page, 'glance');
  assert.match(await heading(), /3, written by Flink 1\.1[1-5]/);
  assert.equal(await opened(), 1);
});

test('several files at once, and one more', async () => {
  await drop(browser, CHAIN.map(metadata));
  await view(browser.page, 'glance');
  assert.equal(await opened(), 2);
  await drop(browser, [metadata('2.3.0-rocks-inc-sp1')]);
  await browser.page.locator('#docs option').nth(2).waitFor({ state: 'attached' });
  assert.match(await heading(), /avepoint/);
});

test('a whole job directory: every checkpoint in it, newest first, and a listing of what there is', async () => {
  await drop(browser, [jobDirectory()]);
  await view(browser.page, 'glance');
  assert.equal(await opened(), 2);
  assert.match(await heading(), /\b4, written by Flink/);
  await browser.page.locator('main').focus();
  await browser.page.keyboard.press('6');
  await browser.page.locator('[data-verdict]').waitFor();
});

test('a zip, a tar and a tar.gz of it', async () => {
  const job = jobDirectory();
  const files = { 'job/chk-3/_metadata': readFileSync(join(job, 'chk-3/_metadata')), 'job/chk-4/_metadata': readFileSync(join(job, 'chk-4/_metadata')), 'job/shared/x': Buffer.alloc(50) };
  writeFileSync(join(folder, 'job.zip'), zipSync(files));
  execFileSync('tar', ['-cf', join(folder, 'job.tar'), '-C', job, '.']);
  writeFileSync(join(folder, 'job.tar.gz'), gzipSync(readFileSync(join(folder, 'job.tar'))));
  for (const archive of ['job.zip', 'job.tar', 'job.tar.gz']) {
    await browser.page.goto(browser.url);
    await browser.page.locator('.welcome').waitFor();
    await drop(browser, [join(folder, archive)]);
    await view(browser.page, 'glance');
    assert.equal(await opened(), 2, archive);
    assert.match(await heading(), /\b4, written by Flink/, archive);
  }
});

test('the file button, and the directory button', async () => {
  await browser.page.setInputFiles('#file-input', metadata(CHAIN[0]));
  await view(browser.page, 'glance');
  await browser.page.setInputFiles('#directory-input', jobDirectory());
  // One of the two is open already.
  await browser.page.locator('#docs option').nth(1).waitFor({ state: 'attached' });
  await browser.page.locator('.toasts', { hasText: 'is open already' }).waitFor();
  assert.equal(await opened(), 2);
});

test('a pasted file, and pasted rules', async () => {
  const bytes = readFileSync(metadata(CHAIN[0])).toString('base64');
  await browser.page.evaluate((base64) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], '_metadata'));
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  }, bytes);
  await view(browser.page, 'glance');
  await browser.page.evaluate(() => {
    const data = new DataTransfer();
    data.setData('text/plain', '{"Rules":[{"ID":"r","Status":"Enabled","Filter":{"Prefix":""},"Expiration":{"Days":30}}]}');
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  });
  await view(browser.page, 'rules');
  // This checkpoint lies on a disk, which no bucket's rule reaches: that is said.
  await browser.page.locator('[data-view="rules"] .verdict').waitFor();
});

test('?url= of its own server, with the place; another server is refused', async () => {
  await browser.page.goto(`${browser.url}?url=/given/_metadata&at=s3://b/cp/96de47a692a3dc91fecc1516c6a11a0c/chk-3`);
  await view(browser.page, 'glance');
  assert.equal(await browser.page.locator('.place-form input').inputValue(), 's3://b/cp/96de47a692a3dc91fecc1516c6a11a0c/chk-3');
  await browser.page.goto(`${browser.url}?url=https://example.org/_metadata`);
  await notice('failed').waitFor();
  assert.match(await notice('failed').textContent(), /another server/);
});

test('every example of the start page', async () => {
  const ids = await browser.page.locator('[data-example]').evaluateAll((buttons) => buttons.map((button) => button.dataset.example));
  assert.ok(ids.length >= 5, `only ${ids.length} examples`);
  for (const id of ids) {
    await browser.page.goto(browser.url);
    await browser.page.click(`[data-example="${id}"]`);
    await browser.page.locator('[data-view]').first().waitFor();
    assert.equal(await notice('failed').count(), 0, id);
    assert.ok((await opened()) >= 1, id);
  }
  assert.deepEqual(browser.complaints, []);
});

test('wrong files get a sentence that helps', async () => {
  const real = readFileSync(metadata(CHAIN[0]));
  const format = (version) => {
    const bytes = Buffer.from(real);
    bytes.writeInt32BE(version, 4);
    return bytes;
  };
  const cut = real.subarray(0, 700);
  const html = Buffer.from('<!doctype html><title>Not found</title>');
  const sst = Buffer.alloc(4096, 1);
  Buffer.from('f7cff485b741e288', 'hex').copy(sst, 4088);
  const ha = execFileSync('find', [join(CORPUS, 'ha'), '-name', 'completedCheckpoint*'], { encoding: 'utf8' }).split('\n')[0];
  const wrong = [
    ['cut', cut, 'damaged', /700|byte/],
    ['html', html, 'not_metadata', /HTML/i],
    ['000012.sst', sst, 'not_metadata', /SST|RocksDB/i],
    ['format1', format(1), /not_metadata|damaged/, /format 1|version 1|too old/i],
    ['format9', format(9), /not_metadata|damaged/, /format 9|version 9|newer/i],
    ['empty', Buffer.alloc(0), /not_metadata|damaged/, /empty|no byte|0 bytes/i],
    ['completedCheckpoint', readFileSync(ha), 'not_metadata', /Java|high availability|HA/],
  ];
  for (const [name, bytes, reading, words] of wrong) {
    await browser.page.goto(browser.url);
    await browser.page.locator('.welcome').waitFor();
    const file = join(folder, name);
    writeFileSync(file, bytes);
    await drop(browser, [file]);
    const said = browser.page.locator('.notice');
    await said.waitFor();
    const found = await said.getAttribute('data-reading');
    if (typeof reading === 'string') assert.equal(found, reading, name);
    else assert.match(found, reading, name);
    assert.match(await said.textContent(), words, name);
  }
});

test('where it lies can be said, and then its own files are told from those of others', async () => {
  await drop(browser, [metadata('1.14.6-rocks-inc-chain-j3-chk10')]);
  await view(browser.page, 'glance');
  await browser.page.locator('.place-form input').fill('s3:///no-bucket');
  await browser.page.locator('.place-form button[type=submit]').click();
  await browser.page.locator('.place-form [role=alert]:not(:empty)').waitFor();
  await browser.page.locator('.place-form input').fill('file:///checkpoints/1.14.6/rocks-inc-chain/0b3d2a4c92ee4dcb8a9d0e7a55d0b5c1/chk-10');
  await browser.page.locator('.place-form button[type=submit]').click();
  await browser.page.getByText('another job’s directory').first().waitFor();
});
