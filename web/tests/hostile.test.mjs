// Names that people, or attackers, chose: they are shown and do nothing.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { drop, go, start, view } from './support/browser.mjs';
import { hostile } from './support/made.mjs';

const NAMES = [
  '<img src=x onerror="globalThis.hacked=1">', '<script>globalThis.hacked=1</script>', '"><svg/onload=globalThis.hacked=1>', "';globalThis.hacked=1;'", 'javascript:globalThis.hacked=1', '{{constructor.constructor("globalThis.hacked=1")()}}',
  'invoice\u202egnp.sst', '\u2066isolate\u2069', 'tab\tand\nline', '\u001b[31mred', '=HYPERLINK("https://example.org","x")', '+1+1', '@SUM(1)', '-2+3', 'z\u200bero\ufeff',
  `${'long '.repeat(13106)}end`,
];
let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stayput-page-'));
  writeFileSync(join(folder, '_metadata'), hostile(NAMES));
  browser = await start();
  await drop(browser, [join(folder, '_metadata')]);
  await view(browser.page, 'glance');
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const VIEWS = ['glance', 'operators', 'files', 'treemap', 'breaks', 'exists', 'rules', 'compare', 'raw'];
const DANGEROUS = /[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;

async function harmless(what) {
  const found = await browser.page.evaluate(() => ({
    hacked: 'hacked' in globalThis,
    elements: document.querySelectorAll('#app img, #app script, #app iframe, #app svg[onload], #app [onerror], dialog img, dialog script').length,
    text: document.body.innerText,
    attributes: [...document.querySelectorAll('[title],[aria-label]')].map((one) => `${one.getAttribute('title') ?? ''}${one.getAttribute('aria-label') ?? ''}`).join('\n'),
    wide: document.documentElement.scrollWidth > innerWidth + 1,
  }));
  assert.equal(found.hacked, false, `${what}: a name ran as script`);
  assert.equal(found.elements, 0, `${what}: a name became an element`);
  assert.doesNotMatch(found.text, DANGEROUS, `${what}: a character that hides or reorders was shown as it is`);
  assert.doesNotMatch(found.attributes.replace(/\n/g, ''), DANGEROUS, `${what}: likewise in an attribute`);
  assert.equal(found.wide, false, `${what}: a long name made the page wider than the window`);
}

test('no view is changed by a name', async () => {
  for (const [i, name] of VIEWS.entries()) {
    await go(browser.page, i + 1, name);
    if (name === 'files') {
      await browser.page.locator('.grid .row').first().waitFor();
      await browser.page.locator('.grid .scroll').focus();
      for (let row = 0; row < NAMES.length; row += 1) {
        await browser.page.keyboard.press('ArrowDown');
        await browser.page.locator('[data-detail]').waitFor();
        await harmless(`the detail of row ${row}`);
      }
    }
    if (name === 'operators') {
      for (const one of await browser.page.locator('details.op > summary').all()) await one.click();
    }
    if (name === 'breaks') {
      for (const hostileName of NAMES.slice(0, 12)) {
        await browser.page.locator('[data-view="breaks"] input').fill(hostileName.replace(/\n/g, ' '));
        await browser.page.locator('.verdict').waitFor();
        await harmless(`asking for ${hostileName}`);
      }
    }
    await browser.page.waitForTimeout(150);
    await harmless(name);
  }
  assert.deepEqual(browser.complaints, []);
});

test('nor by a name in a listing, in rules, or of a file that is dropped', async () => {
  const { page } = browser;
  const drops = async (name, text) => {
    writeFileSync(join(folder, name), text);
    await drop(browser, [join(folder, name)]);
  };
  await go(page, 1, 'glance');
  await page.locator('.place-form input').fill('s3://bucket/cp/0123456789abcdef0123456789abcdef/chk-7');
  await page.locator('.place-form button[type=submit]').click();
  await page.locator('.toasts div').first().waitFor();
  const keys = NAMES.map((name, i) => ({ Key: `cp/0123456789abcdef0123456789abcdef/${i % 2 === 0 ? 'chk-7' : 'shared'}/${name.slice(0, 900)}`, Size: i, LastModified: '2026-01-02T03:04:05.000Z', StorageClass: 'STANDARD' }));
  await drops('objects.json', JSON.stringify({ Contents: keys }));
  await view(page, 'exists');
  await page.locator('[data-status="unreferenced_own"]').waitFor();
  await harmless('the listing');
  for (const one of NAMES.slice(0, 12)) {
    await drops('rules.json', JSON.stringify({ Rules: [{ ID: one.slice(0, 200), Status: 'Enabled', Filter: { Prefix: one.slice(0, 200) }, Expiration: { Days: 30 } }, { ID: `all ${one.slice(0, 200)}`, Status: 'Enabled', Filter: { Prefix: '' }, Expiration: { Days: 30 } }] }));
    await page.locator('[data-view="rules"] .verdict').waitFor();
    await harmless(`a rule named ${one}`);
  }
  for (const [i, one] of NAMES.slice(0, 13).entries()) {
    const name = one.replaceAll('/', '∕').slice(0, 80);
    await drops(name, Buffer.from(`PK-no ${i}`));
    await page.locator('.notice').nth(i).waitFor();
    await harmless(`a file named ${name}`);
  }
  await page.keyboard.press('Escape');
  assert.deepEqual(browser.complaints, []);
});

test('two that are compared, a treemap that is zoomed: likewise', async () => {
  const { page } = browser;
  writeFileSync(join(folder, '_metadata2'), hostile(NAMES.map((name) => `${name.slice(0, 60_000)}!`), 8));
  await drop(browser, [join(folder, '_metadata2')]);
  await page.locator('#docs option').nth(1).waitFor({ state: 'attached' });
  await go(page, 8, 'compare');
  await page.locator('[data-view="compare"] details').first().waitFor();
  for (const one of await page.locator('[data-view="compare"] details > summary').all()) if (await one.isVisible()) await one.click();
  for (const one of await page.locator('[data-view="compare"] details details > summary').all()) if (await one.isVisible()) await one.click();
  await harmless('comparing');
  assert.match(await page.locator('[data-view="compare"]').innerText(), /<img src=x/);
  await go(page, 4, 'treemap');
  await page.locator('.cell').first().waitFor();
  const cells = await page.locator('.cell.deep').count();
  assert.ok(cells >= NAMES.length, `only ${cells} cells`);
  for (let i = 0; i < NAMES.length; i += 1) {
    await page.locator('.cell.deep').nth(i).focus();
    await harmless(`cell ${i} is told`);
  }
  await page.locator('.cell.deep').first().press('Enter');
  await page.locator('.crumbs button').first().waitFor();
  await harmless('a zoomed treemap');
  assert.deepEqual(browser.complaints, []);
});

test('the report keeps names as text, and can leave them out', async () => {
  await go(browser.page, 1, 'glance');
  for (const redact of [false, true]) {
    await browser.page.click('#share');
    await browser.page.locator('#redact').setChecked(redact);
    const [download] = await Promise.all([browser.page.waitForEvent('download'), browser.page.click('#save-report')]);
    await browser.page.keyboard.press('Escape');
    const report = readFileSync(await download.path(), 'utf8');
    assert.doesNotMatch(report, /<img|<script|<svg/);
    assert.match(report, /Content-Security-Policy/);
    if (redact) for (const word of ['hacked', 's3://bucket/', 'invoice', 'HYPERLINK']) assert.ok(!report.includes(word), `${word} is in the redacted report`);
    else assert.match(report, /&lt;img src=x/);
    for (const button of ['#save-json', '#save-files-csv', '#save-files-json']) {
      await browser.page.click('#share');
      await browser.page.locator('#redact').setChecked(redact);
      const [other] = await Promise.all([browser.page.waitForEvent('download'), browser.page.click(button)]);
      await browser.page.keyboard.press('Escape');
      const text = readFileSync(await other.path(), 'utf8');
      assert.ok(text.length > 1000, button);
      for (const word of ['hacked', 's3://bucket/', 'invoice', 'HYPERLINK', '4a6a9158']) assert.equal(text.includes(word), !redact && word !== '4a6a9158', `${word} in ${button}, redacted: ${redact}`);
      if (!button.endsWith('json')) assert.doesNotMatch(text.replace(/[\r\n]/g, ''), DANGEROUS, button);
    }
    const page = await browser.context.newPage();
    await page.setContent(report);
    assert.equal(await page.evaluate(() => 'hacked' in globalThis), false);
    await page.close();
  }
});

test('an exported table is no spreadsheet formula', async () => {
  await go(browser.page, 3, 'files');
  await browser.page.locator('.grid .row').first().waitFor();
  const [download] = await Promise.all([browser.page.waitForEvent('download'), browser.page.locator('select[aria-label="Export these rows"]').selectOption('csv')]);
  const csv = readFileSync(await download.path(), 'utf8');
  const cells = csv.split(/[\n,]/).map((cell) => cell.replace(/^"/, ''));
  assert.ok(cells.length > 100);
  for (const cell of cells) assert.doesNotMatch(cell, /^[=+@\t\r]|^-[^0-9]/, 'a cell that a spreadsheet would run');
});
