// A typed face of the generated module: JSON texts become objects, views become rows.
import init, * as core from './stayput_wasm.js';

let loading;

/** Loads the WebAssembly, once. `source`: a URL, a Response, bytes or a WebAssembly.Module; not given: the file beside this one. */
export function load(source) {
  loading ??= begin(source);
  return loading;
}

async function begin(source) {
  let from = source;
  const beside = new URL('./stayput_wasm_bg.wasm', import.meta.url);
  if (from === undefined && beside.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    from = await readFile(beside);
  }
  await init({ module_or_path: from ?? beside });
}

/** What the core says of a mistake. */
export class CoreError extends Error {
  constructor(text) {
    let said = { code: 'core', message: String(text) };
    try {
      said = JSON.parse(text);
    } catch {
      // Not one of the core's own.
    }
    super(said.message);
    this.name = 'CoreError';
    this.code = said.code;
  }
}

function asked(question) {
  try {
    return question();
  } catch (error) {
    throw typeof error === 'string' ? new CoreError(error) : error;
  }
}

const parsed = (text) => (text === undefined ? undefined : JSON.parse(text));

let columns;

class View {
  #view;
  constructor(view) {
    this.#view = view;
    columns ??= JSON.parse(core.View.columns());
  }
  get length() {
    return this.#view.length;
  }
  rows(from, count) {
    const numbers = this.#view.numbers(from, count);
    const text = this.#view.texts(from, count);
    const lines = numbers.length === 0 ? [] : text.split('\n');
    const width = columns.numbers.length;
    return lines.map((line, place) => {
      const row = {};
      columns.numbers.forEach((name, column) => {
        const value = numbers[place * width + column];
        row[name] = value === -1 ? null : value;
      });
      row.status = columns.statuses[row.status].name;
      line.split('\t').forEach((cell, column) => {
        row[column === 2 ? 'operator_name' : columns.texts[column]] = cell;
      });
      return row;
    });
  }
  get inner() {
    return this.#view;
  }
  free() {
    this.#view.free();
  }
}

class Document {
  #document;
  constructor(document) {
    this.#document = document;
  }
  get inner() {
    return this.#document;
  }
  get rows() {
    return this.#document.rows;
  }
  summary() {
    return JSON.parse(this.#document.summary());
  }
  liesAt(at) {
    asked(() => this.#document.liesAt(at));
  }
  glance() {
    return JSON.parse(this.#document.glance());
  }
  operators() {
    return JSON.parse(this.#document.operators());
  }
  keyGroups(operator) {
    return parsed(this.#document.keyGroups(operator));
  }
  tree(depth = 1, under = '') {
    return parsed(this.#document.tree(depth, under));
  }
  view(query = {}) {
    return new View(asked(() => this.#document.view(JSON.stringify(query))));
  }
  detail(row) {
    return parsed(this.#document.detail(row));
  }
  referrers(pathOrUrl) {
    return JSON.parse(this.#document.referrers(pathOrUrl));
  }
  fields(from, to) {
    return JSON.parse(this.#document.fields(from, to));
  }
  bytes(from, to) {
    return this.#document.bytes(from, to);
  }
  check(listing) {
    return JSON.parse(this.#document.check(listing.inner));
  }
  forecast(rules, { listing, today = Date.now(), versioning } = {}) {
    const bytes = bytesOf(rules);
    return JSON.parse(
      asked(() =>
        listing === undefined
          ? this.#document.forecast(bytes, today, versioning)
          : this.#document.forecastWith(bytes, listing.inner, today, versioning),
      ),
    );
  }
  *export(view, format, chunk = 50_000) {
    yield* chunks(this.#document, view, format, chunk);
  }
  redaction() {
    return new Redaction(this.#document.redaction());
  }
  free() {
    this.#document.free();
  }
}

function* chunks(of, view, format, chunk) {
  for (let from = 0; from === 0 || from < view.length; from += chunk) {
    yield asked(() => of.exportChunk(view.inner, from, chunk, format));
  }
}

class Redaction {
  #redaction;
  constructor(redaction) {
    this.#redaction = redaction;
  }
  summary() {
    return JSON.parse(this.#redaction.summary());
  }
  *export(view, format, chunk = 50_000) {
    yield* chunks(this.#redaction, view, format, chunk);
  }
  free() {
    this.#redaction.free();
  }
}

class Listing {
  #listing;
  constructor(listing) {
    this.#listing = listing;
  }
  get inner() {
    return this.#listing;
  }
  describe() {
    return JSON.parse(this.#listing.describe());
  }
  free() {
    this.#listing.free();
  }
}

function bytesOf(data) {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}

/** Opens the bytes of a file. `at` says where it lies: `s3://bucket/…/chk-8`. */
export function open(bytes, { at } = {}) {
  const upload = asked(() => new core.Upload(bytes.length));
  asked(() => upload.push(bytes));
  const opened = upload.finish(at);
  const document = opened.document();
  const reading = JSON.parse(opened.reading());
  opened.free();
  return { reading, document: document === undefined ? undefined : new Document(document) };
}

/** Reads a listing of a bucket or directory; text or bytes. */
export function readListing(data, name = 'the listing') {
  return new Listing(asked(() => core.Listing.read(bytesOf(data), name)));
}

/** Holds documents against each other; they stay usable. */
export function compare(documents) {
  const comparing = new core.Comparing();
  for (const document of documents) comparing.add(document.inner);
  const answer = JSON.parse(comparing.compare());
  comparing.free();
  return answer;
}

/** Says where an entry of an HA store points to; `undefined` if it is none. */
export function readPointer(data) {
  return parsed(core.readPointer(bytesOf(data)));
}

/** Short explanations of terms. */
export function explainTerms() {
  return JSON.parse(core.explainTerms());
}

/** The version of the core. */
export function version() {
  return core.version();
}
