// One run: a file of a million handles is dropped, sorted, filtered, scrolled. Milliseconds, by the page's own marks.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drop, start } from '../tests/support/browser.mjs';
import { million } from '../tests/support/made.mjs';

/** Waits for a mark that is newer than the last one of `since`, and gives the time between. */
async function between(page, since, mark) {
  await page.waitForFunction(([from, to]) => {
    const begin = performance.getEntriesByName(from).at(-1)?.startTime;
    return begin !== undefined && performance.getEntriesByName(to).some((one) => one.startTime >= begin);
  }, [since, mark], { timeout: 120_000, polling: 'raf' });
  return page.evaluate(([from, to]) => {
    const begin = performance.getEntriesByName(from).at(-1).startTime;
    return performance.getEntriesByName(to).find((one) => one.startTime >= begin).startTime - begin;
  }, [since, mark]);
}

export async function measure() {
  const folder = mkdtempSync(join(tmpdir(), 'stayput-million-'));
  const file = join(folder, '_metadata');
  const bytes = million();
  writeFileSync(file, bytes);
  const browser = await start({ query: '#view=files' });
  const { page } = browser;
  try {
    await page.locator('.welcome').waitFor();
    await page.waitForTimeout(1000);
    await drop(browser, [file]);
    const dropToRows = await between(page, 'stayput:dropped', 'stayput:drawn');
    const { readMs, parseMs } = await page.evaluate(() => performance.getEntriesByName('stayput:opened').at(-1).detail);
    const rows = Number(await page.locator('[data-view="files"]').getAttribute('data-rows'));
    const memory = await page.evaluate(() => performance.getEntriesByName('stayput:opened').at(-1).detail.memory);
    const asked = async (act) => {
      await page.evaluate(() => performance.clearMarks());
      await act();
      return between(page, 'stayput:query', 'stayput:drawn');
    };
    const sort = await asked(() => page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click());
    const sortByName = await asked(() => page.getByRole('columnheader', { name: 'File' }).getByRole('button').click());
    const filter = await asked(() => page.locator('[data-view="files"] input[type=search]').fill('9f'));
    await asked(() => page.locator('[data-view="files"] input[type=search]').fill(''));
    await page.waitForTimeout(500);
    const scroll = await page.evaluate(async () => {
      const area = document.querySelector('.grid .scroll');
      const frames = [];
      let longest = 0;
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
      });
      observer.observe({ type: 'longtask' });
      const range = area.scrollHeight - area.clientHeight;
      const began = performance.now();
      let last = began;
      await new Promise((done) => {
        const step = (now) => {
          frames.push(now - last);
          last = now;
          const share = (now - began) / 10_000;
          if (share >= 1) return done();
          // Slowly at first, then through all of it: both kinds of scrolling.
          area.scrollTop = share < 0.5 ? now - began : range * (share - 0.5) * 2;
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      });
      observer.disconnect();
      frames.shift();
      frames.sort((a, b) => a - b);
      return { frames: frames.length, p95: frames[Math.floor(frames.length * 0.95)], worst: frames.at(-1), longest };
    });
    return {
      rows, bytes: bytes.length, dropToRows, read: readMs, parse: parseMs, firstPaint: dropToRows - readMs - parseMs, memoryShare: memory / bytes.length, sort, sortByName, filter,
      scrollFrames: scroll.frames, scrollP95: scroll.p95, scrollWorst: scroll.worst, scrollLongestTask: scroll.longest,
    };
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
