// For everybody: by keyboard alone, with a screen reader, in light and dark, on narrow screens; and nothing jumps.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { axe, drop, go, start, view } from './support/browser.mjs';
import { metadata } from './support/corpus.mjs';

const VIEWS = ['glance', 'operators', 'files', 'treemap', 'breaks', 'exists', 'rules', 'compare', 'raw'];
let browser;
before(async () => {
  browser = await start();
});
after(async () => {
  await browser?.close();
});

test('axe finds nothing in any view, in light and dark', async () => {
  const { page } = browser;
  let looked = 0;
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(browser.url);
    await page.locator('.welcome').waitFor();
    assert.deepEqual(await axe(page), [], `start, ${scheme}`);
    await page.click('[data-example="series"]');
    await view(page, 'compare');
    for (const [i, name] of VIEWS.entries()) {
      await go(page, i + 1, name);
      if (name === 'files') {
        await page.locator('.grid .row').first().waitFor();
        await page.locator('.grid .scroll').focus();
        await page.keyboard.press('ArrowDown');
        await page.locator('[data-detail]').waitFor();
      }
      if (name === 'rules') {
        await page.click('[data-example-rule]');
        await page.locator('[data-view="rules"] .verdict').waitFor();
      }
      await page.waitForTimeout(200);
      assert.deepEqual(await axe(page), [], `${name}, ${scheme}`);
      looked += 1;
    }
    await page.keyboard.press('?');
    await page.locator('dialog[open]').waitFor();
    assert.deepEqual(await axe(page), [], `help, ${scheme}`);
    await page.keyboard.press('Escape');
  }
  assert.equal(looked, 2 * VIEWS.length);
  assert.deepEqual(browser.complaints, []);
});

test('nor where something is wrong: files that are gone, rules that hurt, notices, dialogs', async () => {
  const { page } = browser;
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto('about:blank');
    await page.goto(browser.url);
    await page.click('[data-example="bucket"]');
    await view(page, 'glance');
    assert.match(await page.locator('.answer').innerText(), /4 objects are away/);
    assert.deepEqual(await axe(page), [], `glance, ${scheme}`);
    await go(page, 2, 'operators');
    await page.locator('details.op').first().waitFor();
    await page.evaluate(() => document.querySelectorAll('details.op').forEach((one) => { one.open = true; }));
    assert.deepEqual(await axe(page), [], `operators, ${scheme}`);
    await go(page, 5, 'breaks');
    await page.locator('[data-try]').first().click();
    await page.locator('.verdict.bad').waitFor();
    assert.deepEqual(await axe(page), [], `breaks, ${scheme}`);
    await go(page, 6, 'exists');
    await page.locator('[data-verdict="repairable"]').waitFor();
    assert.deepEqual(await axe(page), [], `exists, ${scheme}`);
    await go(page, 7, 'rules');
    await page.locator('[data-verdict="hurts"]').waitFor();
    for (const one of await page.locator('[data-view="rules"] details > summary').all()) await one.click();
    assert.deepEqual(await axe(page), [], `rules, ${scheme}`);
    await page.click('#share');
    await page.locator('dialog[open]').waitFor();
    assert.deepEqual(await axe(page), [], `share, ${scheme}`);
    await page.keyboard.press('Escape');
    await drop(browser, [fileURLToPath(import.meta.url)]);
    await page.locator('.notice').waitFor();
    assert.deepEqual(await axe(page), [], `notice, ${scheme}`);
  }
  assert.deepEqual(browser.complaints, []);
});

test('Tab goes through the page in the order in which it is read', async () => {
  const { page } = browser;
  await page.goto('about:blank');
  await page.goto(browser.url);
  await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
  await view(page, 'glance');
  const order = [];
  for (let i = 0; i < 24; i += 1) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate(() => {
      const one = document.activeElement;
      return one?.closest('main') ? 'main' : one?.closest('.rail') ? 'views' : one?.closest('.top') ? 'top' : one?.classList.contains('skip') ? 'skip' : one?.tagName ?? '';
    }));
  }
  const parts = order.filter((part, i) => part !== order[i - 1]);
  assert.deepEqual(parts, ['skip', 'top', 'views', 'main'], order.join(' '));
  assert.equal(order.filter((part) => part === 'views').length, VIEWS.length);
});

test('arrows reach every cell of the treemap', async () => {
  const { page } = browser;
  await page.goto('about:blank');
  await page.goto(browser.url);
  await page.click('[data-example="merged"]');
  await view(page, 'glance');
  await go(page, 4, 'treemap');
  await page.locator('.cell').first().waitFor();
  const { all, reached } = await page.evaluate(() => {
    // The same keys that a person presses, from each cell that was reached.
    const cells = [...document.querySelectorAll('.cell')];
    const seen = new Set([document.querySelector('.cell[tabindex="0"]')]);
    const queue = [...seen];
    while (queue.length > 0) {
      const from = queue.pop();
      for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp']) {
        from.focus();
        from.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        const to = document.activeElement;
        if (!seen.has(to)) {
          seen.add(to);
          queue.push(to);
        }
      }
    }
    return { all: cells.length, reached: cells.filter((cell) => seen.has(cell)).length };
  });
  assert.ok(all >= 40, `only ${all} cells`);
  assert.equal(reached, all, `${all - reached} of ${all} cells are out of reach`);
  assert.equal(await page.locator('.cell[tabindex="0"]').count(), 1);
});

test('all of it by keyboard', async () => {
  const { page } = browser;
  await page.goto(browser.url);
  await page.locator('.welcome').waitFor();
  // To an example with Tab alone.
  let reached = false;
  for (let i = 0; i < 25 && !reached; i += 1) {
    await page.keyboard.press('Tab');
    reached = await page.evaluate(() => document.activeElement?.getAttribute('data-example') === 'chain');
  }
  assert.ok(reached, 'Tab never reached the example');
  await page.keyboard.press('Enter');
  await view(page, 'glance');
  for (const [i, name] of VIEWS.entries()) {
    await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
    await page.keyboard.press(String(i + 1));
    await view(page, name);
  }
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'search');
  await page.keyboard.insertText('shared');
  await page.keyboard.press('Enter');
  await view(page, 'files');
  await page.waitForFunction(() => document.querySelector('.count')?.textContent?.includes(' of '));
  const filtered = Number(await page.locator('[data-view="files"]').getAttribute('data-rows'));
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.waitForFunction((n) => Number(document.querySelector('[data-view="files"]').dataset.rows) > n, filtered);
  // In the grid: the active row moves, is told, and opens its bytes.
  await page.locator('.grid .scroll').focus();
  await page.keyboard.press('End');
  await page.waitForFunction(() => {
    const active = document.querySelector('.grid .scroll').getAttribute('aria-activedescendant');
    return active !== null && document.getElementById(active)?.getAttribute('aria-rowindex') === document.querySelector('.grid .scroll').getAttribute('aria-rowcount');
  });
  await page.locator('[data-detail]').waitFor();
  await page.keyboard.press('Enter');
  await view(page, 'raw');
  await page.locator('.hex .on').first().waitFor();
  // In the treemap: in and out.
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.keyboard.press('4');
  await view(page, 'treemap');
  await page.locator('.cell').first().waitFor();
  await page.locator('.cell[tabindex="0"]').focus();
  const before = await page.locator('.crumbs').textContent();
  await page.keyboard.press('Enter');
  await page.waitForFunction((text) => document.querySelector('.crumbs').textContent !== text, before);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Backspace');
  await page.waitForFunction((text) => document.querySelector('.crumbs').textContent === text, before);
  // Help, and back.
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.keyboard.press('?');
  await page.locator('dialog[open]').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
});

test('an explanation comes on focus and on hover, and Escape takes it away', async () => {
  const { page } = browser;
  await go(page, 1, 'glance');
  const term = page.locator('[data-view="glance"] .term').first();
  await term.focus();
  await page.locator('.tip:not(.hidden)').waitFor();
  assert.ok((await page.locator('.tip').textContent()).length > 20);
  assert.equal(await term.getAttribute('aria-describedby'), 'tip');
  await page.keyboard.press('Escape');
  await page.locator('.tip').waitFor({ state: 'hidden' });
  await page.locator('[data-view="glance"] .term').nth(1).hover();
  await page.locator('.tip:not(.hidden)').waitFor();
});

test('the hash keeps view and order over a reload, and the theme is kept', async () => {
  const { page } = browser;
  await go(page, 3, 'files');
  await page.locator('.grid .row').first().waitFor();
  await page.getByRole('button', { name: 'Size' }).click();
  assert.match(await page.evaluate(() => location.hash), /^#view=files&sort=size&order=down$/);
  await page.keyboard.press('Escape');
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.getByRole('button', { name: 'Light or dark' }).click();
  await page.reload();
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
  await view(page, 'files');
  await page.locator('[aria-sort="descending"]').waitFor();
  await page.evaluate(() => localStorage.clear());
});

test('on narrow screens nothing is cut and nothing scrolls sideways', async () => {
  const { page } = browser;
  // What is said of a damaged file has long names in it.
  const cut = join(mkdtempSync(join(tmpdir(), 'stayput-page-')), 'cut');
  writeFileSync(cut, readFileSync(metadata('2.3.0-rocks-inc-chk8')).subarray(0, 3000));
  for (const width of [390, 1024]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(browser.url);
    await page.click('[data-example="series"]');
    await view(page, 'compare');
    await drop(browser, [cut]);
    await page.locator('.notice[data-reading]').waitFor();
    for (const [i, name] of VIEWS.entries()) {
      await go(page, i + 1, name);
      await page.waitForTimeout(150);
      const { wide, outside } = await page.evaluate(() => ({
        wide: Math.max(document.documentElement.scrollWidth - innerWidth, ...['main', '.problems', '.page'].flatMap((one) => [...document.querySelectorAll(one)]).map((one) => one.scrollWidth - one.clientWidth)),
        outside: [...document.querySelectorAll('main button, main input, main h1')].filter((one) => {
          const box = one.getBoundingClientRect();
          // What lies in an area that scrolls by itself may lie outside.
          return box.width > 0 && box.right > innerWidth + 1 && one.closest('.table-scroll, .grid, .hex, .treemap, .rail') === null;
        }).map((one) => one.outerHTML.slice(0, 80)),
      }));
      assert.ok(wide <= 0, `${name} at ${width}: ${wide} px too wide`);
      assert.deepEqual(outside, [], `${name} at ${width}`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  rmSync(dirname(cut), { recursive: true });
});

test('nothing jumps while a checkpoint is opened and looked at', async () => {
  const { page } = browser;
  await page.goto(browser.url);
  await page.evaluate(() => {
    globalThis.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.hadRecentInput) continue;
        globalThis.shifted += entry.value;
        globalThis.moved = [...(globalThis.moved ?? []), `${entry.value.toFixed(3)} ${entry.sources.map(({ node }) => node?.className || node?.nodeName).join(' ')}`];
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await drop(browser, [metadata('2.3.0-rocks-inc-chk8')]);
  await view(page, 'glance');
  // Opening replaces the start page by the frame: that is no jump of what one reads. From then on nothing may move.
  const opening = await page.evaluate(() => globalThis.shifted);
  assert.ok(opening < 0.1, `opening shifted the layout by ${opening}: ${await page.evaluate(() => (globalThis.moved ?? []).join('; '))}`);
  await page.evaluate(() => {
    globalThis.shifted = 0;
    globalThis.moved = [];
  });
  for (const [i, name] of VIEWS.entries()) {
    await go(page, i + 1, name);
    await page.waitForTimeout(250);
  }
  const { shifted, moved } = await page.evaluate(() => ({ shifted: globalThis.shifted, moved: globalThis.moved ?? [] }));
  console.log(`figure: layout shift ${opening.toFixed(4)} while opening, ${shifted.toFixed(4)} over ${VIEWS.length} views`);
  assert.ok(shifted < 0.02, `the layout shifted by ${shifted}: ${moved.join('; ')}`);
});
