// What the page and its worker say to each other: {id, op, args} there, {id, result | error} back, and {id, progress} in between.
// The worker owns the WebAssembly instance. Documents, views and listings are numbers here; the page never holds rows.

export interface ViewQuery {
  sort?: { column: string; descending: boolean };
  text?: string;
  role?: string;
  /** Position of the operator in the file. */
  operator?: number;
  subtask?: number;
  /** A job's directory. */
  directory?: string;
  whose?: string;
  each_object_once?: boolean;
  status?: string;
}

/** One window of rows: numbers by row, then column; texts as cells. */
export interface Window {
  from: number;
  count: number;
  numbers: Float64Array;
  texts: string;
}

export interface OpenedFile {
  /** The number of the document, if the file is a whole `_metadata`. */
  doc: number | null;
  /** JSON text: `reading` is whole, damaged, refused or not_metadata. */
  reading: string;
  /** Milliseconds for reading the file into memory and for parsing it. */
  readMs: number;
  parseMs: number;
  /** Bytes that the core has for all that is open. */
  memory: number;
}

export interface ViewMade {
  view: number;
  length: number;
  /** JSON text: the columns of its windows. */
  columns: string;
}

export type Format = 'csv' | 'json' | 'text';

export interface Operations {
  init: { args: { module: WebAssembly.Module }; result: string };
  open: { args: { file: Blob; name: string; at?: string }; result: OpenedFile };
  /** Says where a document lies, without reading it again; the answer is its summary. Views of it must be made again. */
  liesAt: { args: { doc: number; at: string }; result: string };
  /** A method of a document that answers with JSON text. */
  ask: { args: { doc: number; method: string; args: (string | number)[] }; result: string };
  bytes: { args: { doc: number; from: number; to: number }; result: Uint8Array };
  view: { args: { doc: number; query: ViewQuery }; result: ViewMade };
  window: { args: { view: number; from: number; count: number }; result: Window };
  closeView: { args: { view: number }; result: null };
  /** `redacted`: without names. No `view`: all rows in the order of the file. */
  export: { args: { doc: number; view?: number; format: Format; redacted?: boolean }; result: Blob };
  /** The summary without names, as JSON text. */
  redacted: { args: { doc: number }; result: string };
  listing: { args: { bytes: Uint8Array; name: string }; result: { listing: number; describe: string } };
  closeListing: { args: { listing: number }; result: null };
  check: { args: { doc: number; listing: number }; result: string };
  forecast: { args: { doc: number; rules: Uint8Array; listing?: number; today: number }; result: string };
  compare: { args: { docs: number[] }; result: string };
  terms: { args: Record<string, never>; result: string };
  pointer: { args: { bytes: Uint8Array }; result: string | null };
  close: { args: { doc: number }; result: null };
  cancel: { args: { request: number }; result: null };
  memory: { args: Record<string, never>; result: number };
}

export type Op = keyof Operations;

export interface Question<O extends Op = Op> {
  id: number;
  op: O;
  args: Operations[O]['args'];
}

export type Answer = { id: number; result: unknown } | { id: number; error: Failure } | { id: number; progress: number };

/** Why there is no answer. */
export interface Failure {
  /** `does_not_fit`, `cancelled`, `unreadable`, `core`, or a code of the core. */
  code: string;
  message: string;
  /** The instance can't be used any more: the worker must be started anew. */
  fatal?: boolean;
}
