// Asks the WebAssembly core every question of a list and compares its answer with the native one.
// Called by same_answer.rs: node same_answer.mjs PACKAGE QUESTIONS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [packageFolder, list] = process.argv.slice(2);
const { parse_and_summarise } = createRequire(import.meta.url)(join(resolve(packageFolder), 'stayput_wasm.js'));

let same = 0;
const different = [];
for (const line of readFileSync(list, 'utf8').split('\n').filter((text) => text !== '')) {
  const { file, length, flipped, at, native } = JSON.parse(line);
  const bytes = new Uint8Array(readFileSync(file).subarray(0, length));
  if (flipped !== null) bytes[flipped] ^= 0xff;
  const answer = parse_and_summarise(bytes, at ?? undefined);
  if (answer === native) same += 1;
  else different.push(`${file}, ${length} bytes, flipped ${flipped}, at ${at}:\n  native ${native}\n  wasm   ${answer}`);
}
if (different.length > 0) {
  console.error(`${different.length} answers differ, ${same} are the same. The first:\n${different[0]}`);
  process.exit(1);
}
console.log(`${same} answers are the same`);
