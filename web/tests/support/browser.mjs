// A real browser: Debian's Chromium, driven by its own protocol. What is dropped is dropped as a person does it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { serve } from '../../build/serve.mjs';
import { WEB } from './corpus.mjs';

export const DIST = process.env.STAYPUT_WEB_OUT ?? join(WEB, 'dist');
export const PROGRAM = process.env.STAYPUT_CHROMIUM ?? '/usr/bin/chromium';
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Starts Chromium with a profile of its own, and a server for the page. `close` ends both. */
export async function start({ viewport = { width: 1440, height: 900 }, single = false, more = {}, scheme = 'light', query = '', downloads = true } = {}) {
  if (!existsSync(PROGRAM)) throw new Error(`no Chromium at ${PROGRAM}: cargo xtask web installs it, STAYPUT_CHROMIUM names another`);
  const profile = mkdtempSync(join(tmpdir(), 'stayput-chromium-'));
  const server = single ? undefined : await serve(join(DIST, 'static'), 0, more);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM, headless: true, viewport, colorScheme: scheme, acceptDownloads: downloads, args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  const url = single ? `file://${join(DIST, 'single/inspector.html')}` : server.url;
  await page.goto(url + query);
  const cdp = await context.newCDPSession(page);
  const closing = async () => {
    await context.close();
    await server?.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, context, cdp, server, url, complaints, close: closing };
}

/** Drops files and directories of the disk onto the page, at its middle. */
export async function drop({ cdp, page }, files) {
  const { width, height } = page.viewportSize();
  const data = { items: [], files: files.map((file) => resolve(file)), dragOperationsMask: 1 };
  for (const file of data.files) if (!existsSync(file)) throw new Error(`${file} can't be dropped: it isn't there`);
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await cdp.send('Input.dispatchDragEvent', { type, x: Math.floor(width / 2), y: Math.floor(height / 2), data });
  }
}

/** Waits until a view is on the page and has what it asked for. */
export async function view(page, name) {
  await page.locator(`[data-view="${name}"]`).waitFor({ state: 'visible' });
}

export async function go(page, number, name) {
  await page.locator('main').focus();
  await page.keyboard.press(String(number));
  await view(page, name);
}

/** Rules that axe finds broken. */
export async function axe(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.failureSummary?.split('\n').slice(1, 2).join('').trim() ?? ''}`).join(' | ')}`);
}
