// Uses the installed package as its README says, over every case of the corpus. Called by npm_package.rs: node smoke.mjs CORPUS
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compare, explainTerms, load, open, readListing, readPointer, version } from 'stayput-core';

const corpus = process.argv[2];
await load();
strictEqual(version(), '0.1.0');

let cases = 0;
let rows = 0;
for (const name of readdirSync(corpus)) {
  const file = join(corpus, name, '_metadata');
  if (!existsSync(file)) continue;
  const toml = readFileSync(join(corpus, name, 'case.toml'), 'utf8');
  const at = /^external_pointer = "(.*)"$/m.exec(toml)[1];
  const oracle = JSON.parse(readFileSync(join(corpus, name, 'oracle.json'), 'utf8'));
  const { reading, document } = open(readFileSync(file), { at });
  strictEqual(reading.reading, 'whole', name);
  deepStrictEqual(document.summary(), reading);
  const afterwards = open(readFileSync(file)).document;
  afterwards.liesAt(at);
  deepStrictEqual(afterwards.summary(), reading);
  throws(() => afterwards.liesAt('s3://'), { code: 'place' });
  afterwards.free();
  strictEqual(reading.checkpoint_id, oracle.checkpoint_id);
  const glance = document.glance();
  strictEqual(glance.counts.operators, oracle.operators.length);
  const handles = oracle.files.reduce((sum, f) => sum + f.refs, 0);
  strictEqual(document.rows, handles, name);
  const view = document.view({ sort: { column: 'size', descending: true } });
  const window = view.rows(0, 1_000_000);
  strictEqual(window.length, handles);
  ok(window.every((row, i) => i === 0 || (row.size ?? -1) <= (window[i - 1].size ?? -1)), `${name} is sorted`);
  const exported = JSON.parse([...document.export(view, 'json', 7)].join(''));
  strictEqual(exported.length, handles);
  if (exported.length > 0) strictEqual(document.referrers(exported[0].location).found_by === 'nothing', false);
  const tree = document.tree(1);
  strictEqual(tree.bytes, document.operators().reduce((sum, o) => sum + o.bytes, 0));
  const listing = readListing(readFileSync(join(corpus, name, 'listing.tsv')), 'listing.tsv');
  ok(['healthy', 'unknown'].includes(document.check(listing).verdict), name);
  listing.free();
  const redaction = document.redaction();
  strictEqual(redaction.summary().objects.total.bytes, reading.objects.total.bytes);
  const hidden = JSON.parse([...redaction.export(view, 'json', 7)].join(''));
  strictEqual(new Set(hidden.map((row) => row.location)).size, new Set(exported.map((row) => row.location)).size, name);
  redaction.free();
  strictEqual(compare([document, document]).steps[0].added.objects, 0);
  cases += 1;
  rows += window.length;
  view.free();
  document.free();
}
ok(cases >= 55, `only ${cases} cases`);

strictEqual(open(new TextEncoder().encode('PK\u0003\u0004')).reading.looks_like, 'zip');
throws(() => readListing('nonsense'), { code: 'no_listing' });
strictEqual(readPointer('nonsense'), undefined);
ok(Object.keys(explainTerms()).length >= 40);
console.log(`${cases} cases, ${rows} rows: all is well`);
