// The worker that owns the core. It answers one question after the other; only opening a file lets others in between, for cancelling.
import init, * as core from 'stayput-wasm/stayput_wasm.js';
import type { Answer, Failure, Format, Op, OpenedFile, Operations, Question, ViewMade, Window } from './protocol';

const scope = globalThis as unknown as {
  postMessage(message: Answer, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<Question>) => void) | null;
};

const documents = new Map<number, core.Document>();
const views = new Map<number, { view: core.View; doc: number }>();
const listings = new Map<number, core.Listing>();
const cancelled = new Set<number>();
let memory: WebAssembly.Memory | undefined;
let next = 1;

class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

function got<T>(map: Map<number, T>, key: number, what: string): T {
  const value = map.get(key);
  if (value === undefined) throw new Refusal('closed', `${what} ${key} is closed`);
  return value;
}

const PIECE = 8 << 20;

async function open(id: number, { file, name, at }: Operations['open']['args']): Promise<OpenedFile> {
  const began = performance.now();
  const upload = new core.Upload(file.size);
  let finished = false;
  try {
    // In large pieces, the next one on its way while one is copied: a stream comes in thousands of small ones.
    const piece = (from: number): Promise<ArrayBuffer> => file.slice(from, from + PIECE).arrayBuffer();
    let coming = piece(0);
    for (let at = 0; at < file.size; at += PIECE) {
      const bytes = new Uint8Array(await coming);
      if (cancelled.delete(id)) throw new Refusal('cancelled', `reading ${name} was cancelled`);
      if (at + PIECE < file.size) coming = piece(at + PIECE);
      upload.push(bytes);
      scope.postMessage({ id, progress: Math.min(1, (at + PIECE) / file.size) });
    }
    const parsing = performance.now();
    finished = true;
    const opened = upload.finish(at);
    const document = opened.document();
    const reading = opened.reading();
    opened.free();
    const done = performance.now();
    let doc: number | null = null;
    if (document !== undefined) {
      doc = next++;
      documents.set(doc, document);
    }
    return { doc, reading, readMs: parsing - began, parseMs: done - parsing, memory: memory?.buffer.byteLength ?? 0 };
  } finally {
    if (!finished) upload.free();
  }
}

const ROWS_OF_A_CHUNK = 20_000;

function exported({ doc, view, format, redacted }: Operations['export']['args'], id: number): Blob {
  const document = got(documents, doc, 'document');
  const made = view === undefined ? document.view('{}') : undefined;
  const rows = made ?? got(views, view!, 'view').view;
  const redaction = redacted === true ? document.redaction() : undefined;
  const parts: BlobPart[] = [];
  const length = rows.length;
  try {
    for (let from = 0; from === 0 || from < length; from += ROWS_OF_A_CHUNK) {
      parts.push((redaction ?? document).exportChunk(rows, from, Math.min(ROWS_OF_A_CHUNK, length - from), format));
      scope.postMessage({ id, progress: length === 0 ? 1 : Math.min(1, (from + ROWS_OF_A_CHUNK) / length) });
    }
  } finally {
    redaction?.free();
    made?.free();
  }
  const types: Record<Format, string> = { csv: 'text/csv', json: 'application/json', text: 'text/plain' };
  return new Blob(parts, { type: `${types[format]};charset=utf-8` });
}

/** The methods of a document that answer with JSON text: nothing else can be asked by name. */
const ASKABLE = ['summary', 'glance', 'operators', 'tree', 'keyGroups', 'detail', 'referrers', 'fields', 'fieldsOfRow'] as const;

async function answer(question: Question): Promise<{ result: unknown; transfer?: Transferable[] }> {
  const { op, id } = question;
  const args = question.args as never;
  switch (op satisfies Op) {
    case 'init': {
      const { module } = args as Operations['init']['args'];
      memory = (await init({ module_or_path: module })).memory;
      return { result: core.version() };
    }
    case 'open':
      return { result: await open(id, args) };
    case 'liesAt': {
      const { doc, at } = args as Operations['liesAt']['args'];
      const document = got(documents, doc, 'document');
      document.liesAt(at);
      return { result: document.summary() };
    }
    case 'ask': {
      const { doc, method, args: given } = args as Operations['ask']['args'];
      if (!(ASKABLE as readonly string[]).includes(method)) throw new Refusal('core', `${method} can't be asked`);
      const document = got(documents, doc, 'document') as unknown as Record<string, (...args: unknown[]) => string | undefined>;
      const said = document[method]!.apply(document, given) as string | undefined;
      if (said === undefined) throw new Refusal('nothing', `there is no ${method} of ${given.join(', ')}`);
      return { result: said };
    }
    case 'bytes': {
      const { doc, from, to } = args as Operations['bytes']['args'];
      const bytes = got(documents, doc, 'document').bytes(from, to);
      return { result: bytes, transfer: [bytes.buffer] };
    }
    case 'view': {
      const { doc, query } = args as Operations['view']['args'];
      const view = got(documents, doc, 'document').view(JSON.stringify(query));
      const number = next++;
      views.set(number, { view, doc });
      const made: ViewMade = { view: number, length: view.length, columns: core.View.columns() };
      return { result: made };
    }
    case 'window': {
      const { view, from, count } = args as Operations['window']['args'];
      const rows = got(views, view, 'view').view;
      const length = Math.max(0, Math.min(count, rows.length - from));
      const window: Window = { from, count: length, numbers: rows.numbers(from, length), texts: rows.texts(from, length) };
      return { result: window, transfer: [window.numbers.buffer] };
    }
    case 'closeView': {
      const { view } = args as Operations['closeView']['args'];
      views.get(view)?.view.free();
      views.delete(view);
      return { result: null };
    }
    case 'export':
      return { result: exported(args, id) };
    case 'redacted': {
      const redaction = got(documents, (args as Operations['redacted']['args']).doc, 'document').redaction();
      try {
        return { result: redaction.summary() };
      } finally {
        redaction.free();
      }
    }
    case 'listing': {
      const { bytes, name } = args as Operations['listing']['args'];
      const listing = core.Listing.read(bytes, name);
      const number = next++;
      listings.set(number, listing);
      return { result: { listing: number, describe: listing.describe() } };
    }
    case 'closeListing': {
      const { listing } = args as Operations['closeListing']['args'];
      listings.get(listing)?.free();
      listings.delete(listing);
      return { result: null };
    }
    case 'check': {
      const { doc, listing } = args as Operations['check']['args'];
      return { result: got(documents, doc, 'document').check(got(listings, listing, 'listing')) };
    }
    case 'forecast': {
      const { doc, rules, listing, today } = args as Operations['forecast']['args'];
      const document = got(documents, doc, 'document');
      return { result: listing === undefined ? document.forecast(rules, today) : document.forecastWith(rules, got(listings, listing, 'listing'), today) };
    }
    case 'compare': {
      const { docs } = args as Operations['compare']['args'];
      const comparing = new core.Comparing();
      try {
        for (const doc of docs) comparing.add(got(documents, doc, 'document'));
        return { result: comparing.compare() };
      } finally {
        comparing.free();
      }
    }
    case 'terms':
      return { result: core.explainTerms() };
    case 'pointer':
      return { result: core.readPointer((args as Operations['pointer']['args']).bytes) ?? null };
    case 'close': {
      const { doc } = args as Operations['close']['args'];
      for (const [number, { view, doc: of }] of views) {
        if (of !== doc) continue;
        view.free();
        views.delete(number);
      }
      documents.get(doc)?.free();
      documents.delete(doc);
      return { result: null };
    }
    case 'cancel':
      cancelled.add((args as Operations['cancel']['args']).request);
      return { result: null };
    case 'memory':
      return { result: memory?.buffer.byteLength ?? 0 };
  }
  throw new Refusal('core', `${String(op)} is no question`);
}

function failure(thrown: unknown): Failure {
  if (thrown instanceof Refusal) return { code: thrown.code, message: thrown.message };
  // After a trap the instance is in an unknown state.
  if (thrown instanceof WebAssembly.RuntimeError) {
    return { code: 'core', message: `the core stopped: ${thrown.message}`, fatal: true };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  try {
    const said = JSON.parse(text) as { code?: string; message?: string };
    if (typeof said.message === 'string') return { code: said.code ?? 'core', message: said.message };
  } catch {
    // Not JSON: the text itself is what was said.
  }
  if (thrown instanceof DOMException) {
    return { code: 'unreadable', message: `the browser can't read the file: ${text}. Was it moved or changed? Open it again.` };
  }
  return { code: 'core', message: text };
}

scope.onmessage = (event) => {
  const { id } = event.data;
  answer(event.data).then(
    ({ result, transfer }) => scope.postMessage({ id, result }, transfer ?? []),
    (thrown: unknown) => scope.postMessage({ id, error: failure(thrown) }),
  );
};
