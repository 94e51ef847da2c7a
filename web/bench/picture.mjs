// The picture of the README: node bench/picture.mjs FILE.png
import { start, view } from '../tests/support/browser.mjs';

const browser = await start({ viewport: { width: 1240, height: 700 } });
await browser.page.click('[data-example="bucket"]');
await view(browser.page, 'glance');
await browser.page.waitForTimeout(500);
await browser.page.screenshot({ path: process.argv[2] });
await browser.close();
