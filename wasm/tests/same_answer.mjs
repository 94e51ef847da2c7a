// Asks the WebAssembly core every question of a list and compares its answer with the native one.
// Called by same_answer.rs: node same_answer.mjs PACKAGE QUESTIONS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [packageFolder, list] = process.argv.slice(2);
const core = createRequire(import.meta.url)(join(resolve(packageFolder), 'stayput_wasm.js'));

// Everything that the inspector says of one file.
function inspected(bytes, at, native) {
  const upload = new core.Upload(bytes.length);
  const half = bytes.length >> 1;
  upload.push(bytes.subarray(0, half));
  upload.push(bytes.subarray(half));
  const opened = upload.finish(at);
  const answers = { reading: opened.reading() };
  const document = opened.document();
  opened.free();
  if (document === undefined) return answers;
  const view = document.view(native.query);
  const listing = core.Listing.read(new TextEncoder().encode(native.listing), 'a listing');
  const comparing = new core.Comparing();
  const redaction = document.redaction();
  const rules = new TextEncoder().encode(native.rules);
  const foretold = (question) => {
    try {
      return question();
    } catch (thrown) {
      return { message: JSON.parse(thrown).message };
    }
  };
  Object.assign(answers, {
    glance: document.glance(),
    operators: document.operators(),
    keyGroups: document.keyGroups(0) ?? null,
    tree: document.tree(3),
    referrers: document.referrers(native.first),
    fields: document.fields(0, 500),
    texts: view.texts(0, 100),
    numbers: [...view.numbers(0, 100)],
    detail: document.detail(0) ?? null,
    fieldsOfRow: document.fieldsOfRow(0) ?? null,
    redacted: redaction.summary(),
    redactedCsv: redaction.exportChunk(view, 0, 100, 'csv'),
    rules: native.rules,
    forecast: foretold(() => document.forecast(rules, 1_772_452_800_000)),
    forecastWith: foretold(() => document.forecastWith(rules, listing, 1_772_452_800_000)),
    csv: document.exportChunk(view, 0, 100, 'csv'),
    first: document.exportChunk(view, 0, 1, 'text'),
    query: native.query,
    listing: native.listing,
    check: document.check(listing),
  });
  comparing.add(document);
  answers.compared = comparing.compare();
  for (const thing of [redaction, comparing, listing, view, document]) thing.free();
  return answers;
}

let same = 0;
const different = [];
for (const line of readFileSync(list, 'utf8').split('\n').filter((text) => text !== '')) {
  const { file, length, flipped, at, native, inspected: expected } = JSON.parse(line);
  const bytes = new Uint8Array(readFileSync(file).subarray(0, length));
  if (flipped !== null) bytes[flipped] ^= 0xff;
  const answers = { summary: core.parse_and_summarise(bytes, at ?? undefined), ...inspected(bytes, at ?? undefined, expected) };
  const wrong = Object.entries({ summary: native, ...expected }).find(([name, answer]) => JSON.stringify(answer) !== JSON.stringify(answers[name]));
  if (wrong === undefined && Object.keys(answers).length === Object.keys(expected).length + 1) same += 1;
  else {
    const [name, answer] = wrong ?? ['number of answers', ''];
    different.push(`${file}, ${length} bytes, flipped ${flipped}, at ${at}, ${name}:\n  native ${JSON.stringify(answer)}\n  wasm   ${JSON.stringify(answers[name])}`);
  }
}
if (different.length > 0) {
  console.error(`${different.length} answers differ, ${same} are the same. The first:\n${different[0]}`);
  process.exit(1);
}
console.log(`${same} answers are the same`);
