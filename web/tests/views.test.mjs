// What a person finds in each view, by real checkpoints.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { gzipSync } from './support/archives.mjs';
import { drop, go, start, view } from './support/browser.mjs';
import { CORPUS, metadata } from './support/corpus.mjs';

const CHK8 = '2.3.0-rocks-inc-chk8';
const AT = 's3://state/cp/96de47a692a3dc91fecc1516c6a11a0c/chk-8';
let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stayput-page-'));
  browser = await start({ more: { '/given/_metadata': metadata(CHK8), '/given/sp/_metadata': metadata('s3-2.2.1-native-sp-claim-j1-chk3') } });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  browser.complaints.length = 0;
});

const oracle = JSON.parse(readFileSync(join(CORPUS, CHK8, 'oracle.json'), 'utf8'));
const value = (toml, name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(toml)?.[1];

/** A case of the corpus at its own place, with the files that lay there. */
function caseOf(name) {
  const toml = readFileSync(join(CORPUS, name, 'case.toml'), 'utf8');
  const root = value(toml, 'root');
  const at = `${root}/${value(toml, 'metadata_key')}`.replace(/\/_metadata$/, '');
  const listing = readFileSync(join(CORPUS, name, 'listing.tsv'), 'utf8').trim().split('\n').map((line) => line.split('\t'));
  return { at, root, listing };
}

async function open(name, at) {
  const { page } = browser;
  await page.goto('about:blank');
  const path = name === CHK8 ? '/given/_metadata' : '/given/sp/_metadata';
  await page.goto(`${browser.url}?url=${path}&at=${encodeURIComponent(at)}`);
  await view(page, 'glance');
}

async function dropText(name, text) {
  const file = join(folder, name);
  writeFileSync(file, text);
  await drop(browser, [file]);
}

const verdict = () => browser.page.locator('[data-verdict]').getAttribute('data-verdict');

test('a glance says what it is, whether it is whole, and what it needs', async () => {
  await open(CHK8, AT);
  const text = await browser.page.locator('[data-view="glance"]').innerText();
  assert.match(text, /Incremental checkpoint 8, written by Flink 2\.1 to 2\.3/);
  assert.match(text, /all 8,119 bytes were understood/);
  assert.match(text, /Lab keyed-0/);
  assert.match(text, /can’t be moved/);
  assert.match(text, /Incremental/);
});

test('operators show their state by kind, and how even it is', async () => {
  await open(CHK8, AT);
  await go(browser.page, 2, 'operators');
  const cards = browser.page.locator('details.op');
  await cards.first().waitFor();
  assert.equal(await cards.count(), 3);
  const first = await cards.first().innerText();
  assert.match(first, /Lab keyed-0/);
  assert.match(first, /uid-keyed-0/);
  assert.match(first, /240\.8 KiB/);
  // A bar for each subtask.
  assert.equal(await cards.first().locator('svg.plot').first().locator('rect').count(), 2);
});

test('files are all there, sort, filter, and tell who refers to them', async () => {
  await open(CHK8, AT);
  const { page } = browser;
  await go(page, 3, 'files');
  await page.waitForFunction(() => document.querySelector('[data-view="files"]').dataset.rows !== undefined);
  const rows = async () => Number(await page.locator('[data-view="files"]').getAttribute('data-rows'));
  assert.equal(await rows(), 54);
  await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click();
  await page.locator('[aria-sort="descending"]').waitFor();
  const largest = Math.max(...Object.values(oracle.files ?? {}).map((one) => one.size ?? one.bytes ?? 0));
  await page.locator('.grid .scroll').focus();
  await page.keyboard.press('Home');
  await page.locator('[data-detail]').waitFor();
  const detail = await page.locator('[data-detail]').innerText();
  if (largest > 0) assert.ok(detail.includes(largest.toLocaleString('en')), `${largest} isn't the size of the first row: ${detail}`);
  assert.match(detail, /Lab keyed-0/);
  const before = await rows();
  await page.locator('[data-view="files"] input[type=search]').fill('/shared/');
  await page.waitForFunction((n) => Number(document.querySelector('[data-view="files"]').dataset.rows) < n, before);
  assert.equal(await rows(), 50);
  await page.locator('select[aria-label="Operator"]').selectOption({ label: 'Source: Lab source' });
  await page.waitForFunction(() => document.querySelector('[data-view="files"]').dataset.rows === '0');
  await page.locator('.grid .none:not(.hidden)').waitFor();
});

test('the table is exported as CSV, JSON and text, all of it', async () => {
  await open(CHK8, AT);
  const { page } = browser;
  await go(page, 3, 'files');
  await page.waitForFunction(() => document.querySelector('[data-view="files"]').dataset.rows === '54');
  for (const [format, rows] of [['csv', (text) => text.trim().split('\n').length - 1], ['json', (text) => JSON.parse(text).length], ['text', (text) => text.trim().split('\n').length]]) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('select[aria-label="Export these rows"]').selectOption(format)]);
    const text = readFileSync(await download.path(), 'utf8');
    assert.equal(rows(text), 54, format);
  }
});

test('what breaks if a file vanishes: by key, by s3a and https URL, by its name alone', async () => {
  await open(CHK8, AT);
  const { page } = browser;
  await go(page, 3, 'files');
  await page.locator('[data-view="files"] input[type=search]').fill('/shared/');
  await page.waitForFunction(() => document.querySelector('[data-view="files"]').dataset.rows === '50');
  await page.locator('.grid .scroll').focus();
  await page.keyboard.press('Home');
  await page.locator('[data-detail] .name').first().waitFor();
  const path = await page.locator('[data-detail] .name').first().textContent();
  await go(page, 5, 'breaks');
  const input = page.locator('[data-view="breaks"] input');
  for (const asked of [path, path.split('/').at(-1)]) {
    await input.fill(asked);
    await page.locator('.verdict.bad').waitFor();
    assert.match(await page.locator('[data-view="breaks"]').innerText(), /Lab keyed-0/, asked);
    await input.fill('');
    await page.locator('.verdict').waitFor({ state: 'detached' });
  }
  await input.fill('s3://state/cp/nobody-names-this');
  await page.locator('.verdict.info').waitFor();
  // On S3 the same object has many spellings.
  const { at } = caseOf('s3-2.2.1-native-sp-claim-j1-chk3');
  await open('s3', at);
  await go(page, 3, 'files');
  await page.locator('.grid .row').first().waitFor();
  await page.locator('.grid .scroll').focus();
  await page.keyboard.press('Home');
  await page.locator('[data-detail] .name').first().waitFor();
  const s3 = await page.locator('[data-detail] .name').first().textContent();
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.*)$/.exec(s3);
  await go(page, 5, 'breaks');
  for (const asked of [s3, s3.replace('s3:', 's3a:'), `https://${bucket}.s3.eu-central-1.amazonaws.com/${key}`, `https://s3.eu-central-1.amazonaws.com/${bucket}/${key}`, key]) {
    await input.fill(asked);
    await page.locator('.verdict.bad').waitFor({ timeout: 5000 }).catch(() => assert.fail(`not found as ${asked}`));
    await input.fill('');
    await page.locator('.verdict').waitFor({ state: 'detached' });
  }
});

test('against a listing: healthy, missing, wrong size, deleted but recoverable, and orphans', async () => {
  const { at, root, listing } = caseOf('s3-2.2.1-native-sp-claim-j1-chk3');
  const { page } = browser;
  const prefix = root.replace(/^s3[a-z]?:\/\/[^/]+\//, '').replace(/\/?$/, '/');
  const keys = listing.map(([key, size]) => ({ Key: prefix + key, Size: Number(size), LastModified: '2026-01-02T03:04:05.000Z', ETag: '"x"', StorageClass: 'STANDARD' }));
  await open('s3', at);
  await go(page, 3, 'files');
  await page.locator('.grid .row').first().waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('select[aria-label="Export these rows"]').selectOption('text')]);
  const needed = new Set(readFileSync(await download.path(), 'utf8').trim().split('\n').map((path) => path.replace(/^s3[a-z]?:\/\/[^/]+\//, '')));
  const there = keys.filter(({ Key }) => needed.has(Key));
  assert.ok(there.length >= 3, `the listing has ${there.length} of ${needed.size} files`);
  const whole = there.length === needed.size;
  await dropText('objects.json', JSON.stringify({ Contents: keys }));
  await view(page, 'exists');
  await page.locator('[data-verdict]').waitFor();
  assert.equal(await verdict(), whole ? 'healthy' : 'unknown');
  assert.equal(Number((await page.locator('[data-count="present"]').textContent()).replace(/,/g, '')), there.length);
  const orphans = keys.filter(({ Key }) => !needed.has(Key) && !Key.endsWith('/_metadata'));
  assert.ok(orphans.length >= 1, 'nothing in the listing is unreferenced');
  await page.locator('[data-status="unreferenced_own"], [data-status="unreferenced_elsewhere"]').first().waitFor();
  const victim = there.at(-1).Key;
  // Gone, and nobody knows whether a version is left.
  await dropText('objects.json', JSON.stringify({ Contents: keys.filter(({ Key }) => Key !== victim) }));
  await page.locator('[data-status="missing"]').waitFor();
  assert.match(await page.locator('[data-status="missing"]').innerText(), new RegExp(victim.split('/').at(-1)));
  // Another size.
  await dropText('objects.txt', keys.map(({ Key, Size }) => `2026-01-02 03:04:05 ${String(Key === victim ? Size + 7 : Size).padStart(10)} ${Key}`).join('\n'));
  await page.locator('[data-status="wrong_size"]').waitFor();
  // Under a delete marker, with the version below it: it can be put back.
  const versions = keys.map((one) => ({ ...one, VersionId: 'v1', IsLatest: one.Key !== victim }));
  const markers = [{ Key: victim, VersionId: 'd1', IsLatest: true, LastModified: '2026-01-03T00:00:00.000Z' }];
  await dropText('versions.json', JSON.stringify({ Versions: versions, DeleteMarkers: markers }));
  await page.locator('[data-status="recoverable"]').waitFor();
  if (whole) assert.equal(await verdict(), 'repairable');
  await go(page, 3, 'files');
  await page.locator('.grid .row .warn').first().waitFor();
  await page.locator('select[aria-label="In the listing"]').selectOption('recoverable');
  await page.waitForFunction(() => Number(document.querySelector('[data-view="files"]').dataset.rows) >= 1 && document.querySelector('.count').textContent.includes(' of '));
  // Purged: lost.
  await dropText('versions.json', JSON.stringify({ Versions: versions.filter(({ Key }) => Key !== victim), DeleteMarkers: markers }));
  await page.locator('[data-verdict="lost"]').waitFor();
  // An inventory, gzipped as S3 writes it.
  const inventory = keys.map(({ Key, Size }) => `"${/^s3[a-z]?:\/\/([^/]+)/.exec(root)[1]}","${encodeURIComponent(Key).replace(/%2F/g, '/')}","${Size}","2026-01-02T03:04:05.000Z"`).join('\n');
  await dropText('inventory.csv.gz', gzipSync(inventory));
  await page.waitForFunction((wanted) => document.querySelector('[data-verdict]')?.dataset.verdict === wanted, whole ? 'healthy' : 'unknown');
});

test('against the rule that saves money: it hurts, from when, and how to change it', async () => {
  const { at } = caseOf('s3-2.2.1-native-sp-claim-j1-chk3');
  const { page } = browser;
  await open('s3', at);
  await go(page, 7, 'rules');
  await page.locator('[data-example-rule]').click();
  await page.locator('[data-verdict]').waitFor();
  assert.equal(await verdict(), 'hurts');
  const text = await page.locator('[data-view="rules"]').innerText();
  assert.match(text, /save-money/);
  assert.match(text, /30/);
  assert.ok((await page.locator('[data-corrected]').textContent()).length > 20);
  await dropText('rules.xml', '<LifecycleConfiguration><Rule><ID>elsewhere</ID><Filter><Prefix>somewhere/else/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>');
  await page.locator('[data-verdict="safe"]').waitFor();
});

test('two checkpoints, and a series: kept, added, dropped, and who brought what', async () => {
  const { page } = browser;
  await page.goto('about:blank');
  await page.goto(browser.url);
  await page.click('[data-example="series"]');
  await view(page, 'compare');
  await page.locator('[data-table="steps"] tbody tr').first().waitFor();
  assert.equal(await page.locator('[data-table="steps"] tbody tr').count(), 5);
  assert.equal(await page.locator('.lineage .bar-row').count(), 6);
  // The job was restored before checkpoint 9 and wrote all anew: the last one needs what 9 brought, and nothing older.
  const lineage = await page.locator('[data-table="lineage"] tbody').innerText();
  assert.match(lineage, /heckpoint 9\b/);
  assert.doesNotMatch(lineage, /heckpoint [3467]\b/);
});

test('the treemap adds up, zooms and comes back', async () => {
  await open(CHK8, AT);
  const { page } = browser;
  await go(page, 4, 'treemap');
  await page.locator('.cell').first().waitFor();
  assert.match(await page.locator('.tree-note').innerText(), /241\.[34] KiB/);
  // Its middle belongs to what is in it.
  await page.locator('.cell.deep').first().click({ position: { x: 20, y: 8 } });
  await page.waitForFunction(() => document.querySelectorAll('.crumbs button').length >= 1);
  await page.locator('.crumbs button').first().click();
  await page.waitForFunction(() => document.querySelectorAll('.crumbs button').length === 0);
});

test('bytes and fields point at each other', async () => {
  await open(CHK8, AT);
  const { page } = browser;
  await go(page, 9, 'raw');
  await page.locator('.fields button').first().waitFor();
  assert.match(await page.locator('.hex .hex-line').first().textContent(), /0000000\s*49\s*60\s*67\s*2d/);
  // A field shows its bytes.
  await page.locator('.fields button').nth(2).click();
  const length = Number(await page.locator('.fields button').nth(2).getAttribute('data-length'));
  assert.equal(await page.locator('.hex .cellb.on').count(), Math.min(length, await page.locator('.hex .cellb.on').count()));
  assert.ok((await page.locator('.hex .cellb.on').count()) >= 1);
  // A byte shows its field.
  await page.locator('.hex .cellb[data-at="9"]').click();
  await page.locator('.fields button[aria-current="true"]').waitFor();
  const at = Number(await page.locator('.fields button[aria-current="true"]').getAttribute('data-at'));
  assert.ok(at <= 9 && at >= 4, `byte 9 belongs to a field at ${at}`);
});
