// What the page says is true, says what to do next, and can be read: rules without a place, strangers compared, days, narrow screens.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { drop, go, start, view } from './support/browser.mjs';
import { metadata } from './support/corpus.mjs';

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
  await browser.page.setViewportSize({ width: 1440, height: 900 });
  await browser.page.goto('about:blank');
  await browser.page.goto(browser.url);
  await browser.page.locator('.welcome').waitFor();
});
const made = (name, content) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

test('rules that need a place on S3 lead to it, with the checkpoint’s own number', async () => {
  const { page } = browser;
  await drop(browser, [metadata('1.18.1-changelog-rocks-j1-chk7')]);
  await view(page, 'glance');
  await go(page, 7, 'rules');
  const card = page.locator('[data-view="rules"] [data-card="place"]');
  await card.waitFor();
  assert.match(await card.locator('input').getAttribute('placeholder'), /^s3:\/\/bucket\/.*chk-7$/);
  await drop(browser, [made('rules.json', JSON.stringify({ Rules: [{ ID: 'all', Status: 'Enabled', Filter: { Prefix: '' }, Expiration: { Days: 2147483647 } }] }))]);
  await page.locator('[data-view="rules"] .verdict.warn').waitFor();
  await card.locator('input').fill('s3://flink/checkpoints/5c1e3b8e6f5f4d6a9c2b1a0f9e8d7c6b/chk-7');
  await card.locator('button[type=submit]').click();
  await page.locator('[data-verdict="hurts"]').waitFor();
  assert.equal(await card.count(), 0);
  // Numbers can be read.
  const text = await page.locator('[data-view="rules"]').innerText();
  assert.match(text, /2,147,483,647 days/);
  assert.doesNotMatch(text, /2147483647 days/);
});

test('checkpoints of different jobs or runs are compared with a warning, those of one job without', async () => {
  const { page } = browser;
  const warning = page.locator('[data-strangers]');
  const compared = async (names) => {
    await page.goto('about:blank');
    await page.goto(browser.url);
    await drop(browser, names.map(metadata));
    await page.locator('#docs option').nth(names.length - 1).waitFor({ state: 'attached' });
    await go(page, 8, 'compare');
    await page.locator('[data-table="steps"]').waitFor();
    return (await warning.count()) === 0 ? '' : warning.textContent();
  };
  assert.match(await compared(['1.18.1-changelog-rocks-j1-chk7', '2.0.2-merge-noclaim-j1-chk4']), /seem to be of different runs: no file.*operators in common/);
  assert.doesNotMatch(await page.locator('[data-view="compare"]').innerText(), /\b\d{4,} bytes/);
  assert.match(await compared(['2.0.2-heap-nouid-chk2', '2.3.0-rocks-inc-chk8']), /seem to be of different jobs: no file/);
  // A job over a restore; full checkpoints and a savepoint, which share nothing and needn't.
  assert.equal(await compared(['1.14.6-rocks-inc-chain-j1-chk3', '1.14.6-rocks-inc-chain-j1-chk4', '1.14.6-rocks-inc-chain-j2-chk6']), '');
  assert.equal(await compared(['2.3.0-rocks-inc-chk8', '2.3.0-rocks-inc-sp1']), '');
});

test('the days that spare everything today aren’t called safe', async () => {
  const { page } = browser;
  const ids = await page.locator('[data-example]').evaluateAll((buttons) => buttons.map((button) => button.dataset.example));
  let found = 0;
  for (const id of ids) {
    await page.goto('about:blank');
    await page.goto(browser.url);
    await page.click(`[data-example="${id}"]`);
    await page.locator('[data-view]').first().waitFor();
    await go(page, 7, 'rules');
    if ((await page.locator('[data-view="rules"] textarea').inputValue()) === '') continue;
    await page.locator('[data-view="rules"] [data-verdict]').waitFor();
    const card = page.locator('[data-card="days"]');
    if ((await page.locator('[data-safe-days]').count()) === 0) continue;
    found += 1;
    const days = Number(await page.locator('[data-safe-days]').getAttribute('data-safe-days'));
    assert.match(await card.locator('h2').textContent(), /To keep all that it names until the end of today \(UTC\), a rule needs at least [\d,]+ days?/);
    assert.doesNotMatch(await card.textContent(), /safe number/);
    // The number is what the rules do: one day fewer takes something now, so many take nothing now.
    const due = async (given) => {
      const rules = JSON.parse(await page.locator('[data-view="rules"] textarea').inputValue());
      for (const rule of rules.Rules) if (rule.Expiration?.Days !== undefined) rule.Expiration.Days = given;
      await page.locator('[data-view="rules"] textarea').fill(JSON.stringify(rules));
      await page.locator('[data-view="rules"] button.primary').click();
      await page.waitForFunction((wanted) => new RegExp(`"Days":\\s*${wanted}\\b`).test(document.querySelector('[data-view="rules"] textarea')?.value ?? ''), given);
      await page.locator('[data-view="rules"] [data-verdict]').waitFor();
      return /are due now/.test(await page.locator('[data-view="rules"]').textContent());
    };
    assert.equal(await due(days), false, id);
    if (days > 1) assert.equal(await due(days - 1), true, id);
  }
  assert.ok(found >= 1, 'no example has a listing with times and rules');
});

test('a page from a disk says that it can’t look into a dropped directory, and reads a chosen one', async () => {
  const disk = await start({ single: true });
  try {
    const { page } = disk;
    const directory = join(folder, 'from-disk');
    mkdirSync(join(directory, 'chk-7'), { recursive: true });
    writeFileSync(join(directory, 'chk-7/_metadata'), readFileSync(metadata('1.18.1-changelog-rocks-j1-chk7')));
    assert.match(await page.locator('.dropbox').textContent(), /can’t look into a dropped directory: choose it with the button/);
    assert.doesNotMatch(await browser.page.locator('.dropbox').textContent(), /can’t look into/);
    await drop(disk, [directory]);
    await page.locator('.problems .notice').waitFor();
    assert.equal(await page.locator('.problems .notice').count(), 1);
    assert.match(await page.locator('.problems .notice').textContent(), /browsers don’t let a page from a disk/i);
    await page.setInputFiles('#directory-input', directory);
    await view(page, 'glance');
  } finally {
    await disk.close();
  }
});

test('foreign names keep their first letter, and several directories are “them”', async () => {
  const { page } = browser;
  await drop(browser, [made('odd.txt', '2026-01-01 00:00:00 5 a/b\n2026-01-01 00:00:00 abc notanumber\n')]);
  const notice = page.locator('.problems .notice');
  await notice.waitFor();
  assert.match(await notice.textContent(), /odd\.txt/);
  assert.doesNotMatch(await notice.textContent(), /Odd\.txt/);
  await page.goto(`${browser.url}?url=file:///etc/x`);
  await notice.first().waitFor();
  assert.doesNotMatch(await notice.first().textContent(), /File:\/\//);
  await page.goto('about:blank');
  await page.goto(browser.url);
  await drop(browser, [metadata('1.14.6-rocks-inc-chain-j2-chk6')]);
  await view(page, 'glance');
  await page.locator('.place-form input').fill('s3://bucket/cp/0b3d2a4c92ee4dcb8a9d0e7a55d0b5c1/chk-6');
  await page.locator('.place-form button[type=submit]').click();
  await page.locator('.answer', { hasText: 'other directories' }).waitFor();
  const answer = await page.locator('.answer').textContent();
  assert.match(answer, /in \d+ other directories\./);
  assert.match(answer, /Deleting one of them, or a lifecycle rule on it, breaks/);
});

test('at 390 pixels a file’s size can be read whole, and so can the treemap’s total', async () => {
  const { page } = browser;
  await page.setViewportSize({ width: 390, height: 844 });
  await drop(browser, [metadata('1.18.1-changelog-rocks-j1-chk7')]);
  await view(page, 'glance');
  await go(page, 3, 'files');
  await page.locator('.grid .row').first().waitFor();
  const cut = await page.evaluate(() => {
    const scroll = document.querySelector('.grid .scroll');
    const right = scroll.getBoundingClientRect().left + scroll.clientWidth;
    const rows = [...document.querySelectorAll('.grid .row')].filter((row) => row.children[1]?.textContent !== '');
    return { rows: rows.length, cut: rows.filter((row) => row.children[1].getBoundingClientRect().right > right).length };
  });
  assert.ok(cut.rows >= 5, `${cut.rows} rows`);
  assert.equal(cut.cut, 0);
  await go(page, 4, 'treemap');
  await page.locator('.treemap .cell').first().waitFor();
  const note = page.locator('.tree-note [role="status"]');
  assert.match(await note.textContent(), /^All operators: [\d.]+ KiB/);
  const clipped = await page.evaluate(() => [...document.querySelectorAll('.tree-note [role="status"], .treemap .line .size')].filter((one) => one.scrollWidth > one.clientWidth + 1 || one.clientWidth === 0).map((one) => one.textContent));
  assert.deepEqual(clipped, []);
});
