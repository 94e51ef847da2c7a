/** Loads the WebAssembly, once; every other call needs it. */
export function load(source?: string | URL | Response | BufferSource | WebAssembly.Module): Promise<void>;

/** A mistake of the caller, or a file that doesn't fit into memory. `code` is stable. */
export class CoreError extends Error {
  readonly code: string;
}

export interface Amount {
  objects: number;
  /** Bytes that handles ask of them. */
  bytes: number;
  /** Merged objects among them, which can be longer. */
  at_least: number;
  /** Changelog files among them, which can be compressed. */
  changelog: number;
  of_unknown_length: number;
}
export type Whose = 'own' | 'other_job' | 'outside' | 'other_bucket' | 'other_file_system' | 'unknown';
export interface Held {
  bytes: number;
  objects: number;
  inlined_bytes: number;
  of_unknown_length: number;
}
export interface PerDirectory extends Amount {
  directory: string;
  whose: Whose;
}
export interface Kind {
  savepoint: boolean;
  known_from: 'properties' | 'handles' | 'directory';
}
/** What came of opening a file: `whole` is the document of `stayput inspect --output json`. */
export type Reading =
  | ({ reading: 'whole' } & Summary)
  | { reading: 'damaged'; code: string; offset: number; field: string; message: string; meaning: string; next_step: string; [more: string]: unknown }
  | { reading: 'refused'; message: string; [more: string]: unknown }
  | { reading: 'not_metadata'; looks_like: string; sentence: string; meaning: string; what_next: string; [more: string]: unknown };

export interface Summary {
  form: string;
  at: string | null;
  metadata_bytes: number;
  format_version: number;
  releases: { oldest: string | null; newest: string | null };
  checkpoint_id: number;
  kind: Kind | null;
  features: string[];
  operators: {
    id: string;
    uid: string | null;
    name: string | null;
    parallelism: number;
    max_parallelism: number;
    subtasks: number;
    finished_subtasks: number;
    fully_finished: boolean;
    state: Record<string, Held>;
  }[];
  state: Record<string, Held>;
  objects: { total: Amount; handles: number; by_directory: PerDirectory[]; [more: string]: unknown };
  inlined: { handles: number; bytes: number };
  relocatable: { answer: boolean; relative_handles: number; absolute_handles: number; directories: number };
  [more: string]: unknown;
}

export interface Glance {
  releases: string;
  format_version: number;
  kind: Kind | null;
  checkpoint_id: number;
  state_backend: string | null;
  features: { name: string; meaning: string }[];
  counts: { operators: number; finished_operators: number; subtasks: number; handles: number; metadata_bytes: number };
  objects: Amount;
  inlined: { handles: number; bytes: number };
  /** What this snapshot added, as Flink counts it. */
  new_bytes: { bytes: number; not_said: number };
  relocatable: boolean;
  relocatable_because: string;
  at: string | null;
  at_known_by: 'said' | 'paths' | null;
  directories: PerDirectory[];
  depends_on: PerDirectory[];
  self_contained: boolean | null;
  self_contained_sentence: string;
  opaque: { what: string; bytes: number; meaning: string }[];
  sentence: string;
  [more: string]: unknown;
}

export interface OperatorName {
  number: number;
  id: string;
  uid: string | null;
  name: string | null;
}
export interface OperatorView extends OperatorName {
  parallelism: number;
  max_parallelism: number;
  finished: boolean;
  bytes: number;
  handles: number;
  state_by_kind: Record<string, Held>;
  per_subtask: { subtask: number; bytes: number; handles: number }[];
  subtasks_left_out: number;
  skew: { least: [number, number]; median: number; most: [number, number] } | null;
  per_key_group: { from: number[]; to: number[]; bytes: number[]; left_out: number };
  [more: string]: unknown;
}

export interface Node {
  kind: 'snapshot' | 'operator' | 'subtask' | 'role' | 'handle';
  key: string;
  name: string;
  bytes: number;
  handles: number;
  row: number | null;
  children: Node[];
  child_count: number;
  others_bytes: number;
}

export type Status =
  | 'not_checked' | 'present' | 'not_covered' | 'archived' | 'recoverable' | 'overwritten' | 'missing' | 'wrong_size' | 'gone';

export interface Query {
  sort?: {
    column: 'at' | 'location' | 'size' | 'operator' | 'subtask' | 'key_group' | 'role' | 'handles' | 'directory' | 'status';
    descending?: boolean;
  };
  text?: string;
  role?: string;
  operator?: number;
  subtask?: number;
  directory?: string;
  whose?: Whose;
  status?: Status;
  each_object_once?: boolean;
}

export interface Row {
  row: number;
  size: number | null;
  /** 0 exactly, 1 at least, 2 uncompressed (changelog), 3 not said. */
  size_means: 0 | 1 | 2 | 3;
  at: number;
  length: number;
  operator: number;
  subtask: number | null;
  key_group_from: number | null;
  key_group_to: number | null;
  /** Handles that name the same object. */
  handles: number;
  status: Status;
  /** Where the object lies; escaped, as are the other texts here. */
  location: string;
  role: string;
  operator_name: string;
  directory: string;
  [more: string]: unknown;
}

export interface View {
  readonly length: number;
  rows(from: number, count: number): Row[];
  free(): void;
}

export interface Referrers {
  found_by: 'location' | 'end_of_path' | 'file_name' | 'directory' | 'metadata' | 'nothing';
  objects: string[];
  object_count: number;
  rows: number[];
  handles: number;
  operators: { operator: OperatorName; subtasks: number[]; subtask_count: number; handles: number; roles: string[] }[];
  operator_count: number;
  sentence: string;
  chain: string[];
}

export interface Check {
  verdict: 'healthy' | 'repairable' | 'lost' | 'unknown';
  sentence: string;
  next_step: string;
  by_status: ({ status: Status; meaning: string; examples: string[] } & Amount)[];
  metadata: Status | null;
  unreferenced_own: { objects: number; bytes: number; examples: string[] };
  unreferenced_elsewhere: { objects: number; bytes: number; examples: string[] };
  chain: string[];
  [more: string]: unknown;
}

/** A snapshot that was read to its end. It holds its whole file: free it. */
export interface Document {
  readonly rows: number;
  summary(): Summary & { reading: 'whole' };
  /** Says where it lies, as if it had been opened with that. Make views and checks again. Throws `CoreError` if it is no path. */
  liesAt(at: string): void;
  glance(): Glance;
  operators(): OperatorView[];
  keyGroups(operator: number): { bytes: number[]; exact: number; spread: number; [more: string]: unknown } | undefined;
  tree(depth?: number, under?: string): Node | undefined;
  view(query?: Query): View;
  detail(row: number): Record<string, unknown> | undefined;
  referrers(pathOrUrl: string): Referrers;
  fields(from: number, to: number): { fields: { field: string; at: number; length: number; value: string }[]; more: boolean };
  bytes(from: number, to: number): Uint8Array;
  check(listing: Listing): Check;
  forecast(
    rules: string | Uint8Array,
    options?: { listing?: Listing; today?: number; versioning?: 'enabled' | 'suspended' | 'never' },
  ): { sentence: string; notes: string[]; buckets: unknown[]; [more: string]: unknown };
  /** The chunks, one after the other, are one document. In `csv` formulas of spreadsheets are defused. */
  export(view: View, format: 'csv' | 'json' | 'text', chunk?: number): Generator<string>;
  free(): void;
}

export interface Listing {
  describe(): { kind: string; bucket: string | null; keys: number; objects: number; bytes: number; hidden: number; truncated: boolean; sentence: string };
  free(): void;
}

export function open(bytes: Uint8Array, options?: { at?: string }): { reading: Reading; document: Document | undefined };
export function readListing(data: string | Uint8Array, name?: string): Listing;
export function compare(documents: Document[]): { sentence: string; snapshots: unknown[]; steps: unknown[]; lineage: unknown[]; [more: string]: unknown };
export function readPointer(data: string | Uint8Array): { pointers: Record<string, unknown>[]; unreadable: string[]; sentence: string } | undefined;
export function explainTerms(): Record<string, string>;
export function version(): string;
