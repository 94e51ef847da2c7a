// Pictures of every view, to be looked at: node bench/look.mjs FOLDER [WIDTH …] [light|dark …] [--only NAME]
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drop, go, start, view } from '../tests/support/browser.mjs';
import { metadata } from '../tests/support/corpus.mjs';
import { hostile } from '../tests/support/made.mjs';

const [folder, ...rest] = process.argv.slice(2);
if (folder === undefined) throw new Error('node bench/look.mjs FOLDER [WIDTH …] [light|dark …]');
const widths = rest.filter((one) => /^\d+$/.test(one)).map(Number);
const schemes = rest.filter((one) => ['light', 'dark'].includes(one));
const only = rest.find((one) => one.startsWith('--only='))?.slice(7);
mkdirSync(folder, { recursive: true });
const given = mkdtempSync(join(tmpdir(), 'stayput-look-'));
const real = readFileSync(metadata('2.3.0-rocks-inc-chk8'));
writeFileSync(join(given, 'cut'), real.subarray(0, 3000));
writeFileSync(join(given, 'page.html'), '<!doctype html><title>Not found</title>');
const sst = Buffer.alloc(4096, 1);
Buffer.from('f7cff485b741e288', 'hex').copy(sst, 4088);
writeFileSync(join(given, '000012.sst'), sst);
writeFileSync(join(given, '_metadata'), hostile(['<img src=x onerror=alert(1)>', 'invoice\u202egnp.sst', '=HYPERLINK("https://example.org","x")', 'tab\tand\nline', `${'long '.repeat(13106)}end`]));
const EXAMPLES = ['chain', 'series', 'savepoint', 'merged', 'changelog', 'bucket'];
const VIEWS = ['glance', 'operators', 'files', 'treemap', 'breaks', 'exists', 'rules', 'compare', 'raw'];

for (const width of widths.length === 0 ? [1440, 1024, 390] : widths) {
  for (const scheme of schemes.length === 0 ? ['light', 'dark'] : schemes) {
    const browser = await start({ viewport: { width, height: width < 500 ? 844 : 900 }, scheme });
    const { page } = browser;
    const shoot = async (name) => {
      await page.waitForTimeout(250);
      await page.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`) });
    };
    const fresh = async () => {
      await page.goto('about:blank');
      await page.goto(browser.url);
      await page.locator('.welcome').waitFor();
    };
    const wants = (name) => only === undefined || only.split(',').some((one) => name.startsWith(one));
    if (wants('welcome')) await shoot('welcome');
    for (const example of EXAMPLES) {
      if (!VIEWS.some((name) => wants(`${example}-${name}`))) continue;
      await fresh();
      await page.click(`[data-example="${example}"]`);
      await page.locator('[data-view]').first().waitFor();
      for (const [i, name] of VIEWS.entries()) {
        if (!wants(`${example}-${name}`)) continue;
        await go(page, i + 1, name);
        if (name === 'files') {
          await page.locator('.grid .row').first().waitFor();
          await shoot(`${example}-${name}-before`);
          await page.locator('.grid .scroll').focus();
          await page.keyboard.press('ArrowDown');
          await page.locator('[data-detail]').waitFor();
        }
        if (name === 'rules') {
          await shoot(`${example}-${name}-before`);
          await page.click('[data-example-rule]');
          await page.locator('[data-view="rules"] .verdict').waitFor();
        }
        if (name === 'breaks') {
          await shoot(`${example}-${name}-before`);
          await page.locator('[data-view="breaks"] input').fill(await page.evaluate(() => globalThis.wantedKey ?? '_metadata'));
          await page.waitForTimeout(500);
        }
        await shoot(`${example}-${name}`);
        const more = await page.evaluate(() => document.querySelector('main').scrollHeight - document.querySelector('main').clientHeight);
        if (more > 40) {
          await page.evaluate(() => { document.querySelector('main').scrollTop = document.querySelector('main').clientHeight - 80; });
          await shoot(`${example}-${name}-below`);
        }
      }
    }
    if (wants('help')) {
      await page.keyboard.press('?');
      await shoot('help');
      await page.keyboard.press('Escape');
    }
    if (wants('share')) {
      await fresh();
      await page.click('[data-example="chain"]');
      await view(page, 'glance');
      await page.click('#share');
      await shoot('share');
      await page.keyboard.press('Escape');
    }
    if (wants('wrong')) {
      await fresh();
      for (const name of ['cut', 'page.html', '000012.sst']) {
        await drop(browser, [join(given, name)]);
        await page.waitForTimeout(300);
      }
      await shoot('wrong');
    }
    if (wants('hostile')) {
      await fresh();
      await drop(browser, [join(given, '_metadata')]);
      await view(page, 'glance');
      for (const [i, name] of VIEWS.entries()) {
        await go(page, i + 1, name);
        await shoot(`hostile-${name}`);
      }
    }
    await browser.close();
  }
}
rmSync(given, { recursive: true, force: true });
