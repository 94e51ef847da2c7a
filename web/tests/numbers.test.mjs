// The page and the command say the same of every case of the corpus.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { start, view } from './support/browser.mjs';
import { CORPUS, REPO, metadata } from './support/corpus.mjs';

const COMMAND = process.env.STAYPUT_COMMAND ?? join(REPO, 'target/debug/stayput');
const cases = readdirSync(CORPUS).filter((name) => existsSync(join(CORPUS, name, 'case.toml')) && existsSync(metadata(name)));
const value = (toml, name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(toml)?.[1];

test('every case of the corpus reads the same as with the command', { skip: existsSync(COMMAND) ? false : `no command at ${COMMAND}: STAYPUT_COMMAND names it` }, async () => {
  assert.ok(cases.length >= 55, `only ${cases.length} cases`);
  const wanted = new Map();
  const more = {};
  for (const name of cases) {
    const toml = readFileSync(join(CORPUS, name, 'case.toml'), 'utf8');
    const at = `${value(toml, 'root')}/${value(toml, 'metadata_key')}`.replace(/\/_metadata$/, '');
    const said = JSON.parse(execFileSync(COMMAND, ['inspect', '--output', 'json', '--at', at, metadata(name)], { encoding: 'utf8', maxBuffer: 1 << 26 }));
    delete said.file;
    wanted.set(name, { at, said });
    more[`/given/${name}/_metadata`] = metadata(name);
  }
  const browser = await start({ more });
  try {
    let compared = 0;
    for (let from = 0; from < cases.length; from += 20) {
      const some = cases.slice(from, from + 20);
      const query = some.map((name) => `url=${encodeURIComponent(`/given/${name}/_metadata`)}&at=${encodeURIComponent(wanted.get(name).at)}`).join('&');
      await browser.page.goto(`${browser.url}?${query}`);
      await browser.page.locator('#docs option').nth(some.length - 1).waitFor({ state: 'attached', timeout: 30_000 });
      for (const [i, name] of some.entries()) {
        await browser.page.locator('#docs').selectOption({ index: i });
        await view(browser.page, 'glance');
        const { said } = wanted.get(name);
        const shown = await browser.page.locator('[data-view="glance"] [data-figure]').evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.figure, Number(one.dataset.value)])));
        assert.deepEqual(shown, {
          bytes: said.objects.total.bytes + said.inlined.bytes, objects: said.objects.total.objects, operators: said.operators.length, inlined: said.inlined.bytes,
        }, name);
        await browser.page.click('#share');
        const [download] = await Promise.all([browser.page.waitForEvent('download'), browser.page.click('#save-json')]);
        assert.deepEqual(JSON.parse(readFileSync(await download.path(), 'utf8')), said, name);
        await browser.page.keyboard.press('Escape');
        compared += 1;
      }
    }
    assert.equal(compared, cases.length);
  } finally {
    await browser.close();
  }
});
