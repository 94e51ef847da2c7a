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

export interface OperatorSummary {
  id: string;
  uid: string | null;
  name: string | null;
  parallelism: number;
  max_parallelism: number;
  subtasks: number;
  finished_subtasks: number;
  fully_finished: boolean;
  state: Record<string, Held>;
}
export interface Summary {
  form: string;
  at: string | null;
  metadata_bytes: number;
  format_version: number;
  releases: { oldest: string | null; newest: string | null };
  checkpoint_id: number;
  kind: Kind | null;
  /** What Flink recorded about its purpose; null before format 4. */
  properties: {
    type: string;
    savepoint_format: string | null;
    sharing_files: string | null;
    then: string | null;
    forced: boolean;
    discarded_when: string[];
    unclaimed: boolean;
  } | null;
  features: string[];
  operators: OperatorSummary[];
  state: Record<string, Held>;
  master_states: { name: string; bytes: number }[];
  objects: {
    total: Amount;
    handles: number;
    by_place: (Amount & { whose: Whose; part: string })[];
    by_directory: PerDirectory[];
    directories_left_out: number;
    named_directories: { path: string }[];
    named_directory_count: number;
    unnameable_directories: number;
    unnameable: number;
    none_at_home: boolean;
  };
  inlined: { handles: number; bytes: number };
  relocatable: { answer: boolean; relative_handles: number; absolute_handles: number; directories: number };
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
  finished_subtasks: number;
  coordinator_bytes: number | null;
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

/** Who needs an object. */
export interface Referrers {
  asked: string;
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

export interface Orphans {
  objects: number;
  bytes: number;
  examples: string[];
}
/** What a listing says of a snapshot. */
export interface Check {
  verdict: 'healthy' | 'repairable' | 'lost' | 'unknown';
  sentence: string;
  next_step: string;
  by_status: (Amount & { status: Status; meaning: string; examples: string[] })[];
  metadata: Status | null;
  named_directories: number;
  unreferenced_own: Orphans;
  unreferenced_elsewhere: Orphans;
  chain: string[];
}

/** Everything of one row. */
export interface Detail {
  row: number;
  location: string;
  written: string;
  names: 'absolute' | 'relative' | 'directory';
  size: number | null;
  size_means: 'exactly' | 'at_least' | 'uncompressed' | 'not_said';
  state_bytes: number | null;
  segment_start: number | null;
  role: string;
  role_in_words: string;
  operator: OperatorName;
  subtask: number | null;
  key_groups: [number, number] | null;
  whose: Whose;
  part: string | null;
  directory: string | null;
  handles: number;
  /** The first byte of the handle, and the one behind its last. */
  bytes: [number, number];
  local_path: string | null;
  status: string;
  chain: string[];
}
export interface Field {
  field: string;
  at: number;
  length: number;
  value?: string | null;
}
export interface Fields {
  fields: Field[];
  more: boolean;
}
export interface KeyGroups {
  max_parallelism: number;
  bytes: number[];
  exact: number;
  spread: number;
}
/** Objects and their bytes, by the listing or by the handles. */
export interface Weighed {
  objects: number;
  bytes: number;
  of_unknown_size: number;
}
export interface RuleName {
  number: number;
  id: string | null;
}
/** What one rule does to what one job needs. */
export interface Harm {
  job: string;
  rule: RuleName;
  kind: 'delete' | 'hide' | 'archive';
  storage_class?: string;
  days: number | null;
  date: string | null;
  if: string | null;
  amount: Weighed;
  due: number;
  of_unknown_age: number;
  first: string | null;
  last: string | null;
  examples: string[];
  put_back: { how: 'never' | 'perhaps_never' | 'for_days' | 'always'; days?: number; until?: string | null };
}
export interface BucketForecast {
  bucket: string;
  versioning: string;
  needed: Weighed;
  unlisted: number;
  archived: Weighed;
  perhaps_archived: number;
  hidden: number;
  hidden_examples: string[];
  harms: Harm[];
  ages: { job: string; shared: number; oldest: string | null; oldest_written: string | null; days_today: number | null }[];
  aborts: { rule: RuleName; prefix: string; days: number; uploads: number }[];
  correction: { changes: { rule: RuleName; what: string; reaches_further: boolean }[]; configuration: string | null; command: string } | null;
}
/** What lifecycle rules will take. */
export interface Forecast {
  buckets: BucketForecast[];
  without_rules: Record<string, Weighed>;
  notes: string[];
  sentence: string;
}
export interface Sum {
  objects: number;
  bytes: number;
}
export interface Difference {
  kept: Sum;
  added: Sum;
  dropped: Sum;
}
/** Snapshots held against each other, in the order of their ids. */
export interface Comparison {
  snapshots: { given: number; checkpoint_id: number; savepoint: boolean | null; at: string | null; needs: Sum; introduced_by: Sum[] }[];
  steps: (Difference & { from: number; to: number; operators: (Difference & { operator: OperatorName })[]; operators_left_out: number; added_examples: string[]; dropped_examples: string[] })[];
  lineage: (Sum & { by: number; checkpoint_id: number; example: string | null })[];
  sentence: string;
}

/** A snapshot that was read to its end. It holds its whole file: free it. */
export interface Document {
  readonly rows: number;
  summary(): Summary & { reading: 'whole' };
  /** Says where it lies, as if it had been opened with that. Make views and checks again. Throws `CoreError` if it is no path. */
  liesAt(at: string): void;
  glance(): Glance;
  operators(): OperatorView[];
  keyGroups(operator: number): KeyGroups | undefined;
  tree(depth?: number, under?: string): Node | undefined;
  view(query?: Query): View;
  detail(row: number): Detail | undefined;
  referrers(pathOrUrl: string): Referrers;
  fields(from: number, to: number): Fields;
  fieldsOfRow(row: number): Fields | undefined;
  bytes(from: number, to: number): Uint8Array;
  check(listing: Listing): Check;
  forecast(
    rules: string | Uint8Array,
    options?: { listing?: Listing; today?: number; versioning?: 'enabled' | 'suspended' | 'never' },
  ): Forecast;
  /** The chunks, one after the other, are one document. In `csv` formulas of spreadsheets are defused. */
  export(view: View, format: 'csv' | 'json' | 'text', chunk?: number): Generator<string>;
  /** The same answers without names. Free it before the document. */
  redaction(): Redaction;
  free(): void;
}

/** A document's answers without the names of buckets, directories, files and operators: the same name has the same replacement in all of them. */
export interface Redaction {
  summary(): Summary & { reading: 'whole' };
  export(view: View, format: 'csv' | 'json' | 'text', chunk?: number): Generator<string>;
  free(): void;
}

export interface Listing {
  describe(): { kind: string; bucket: string | null; keys: number; objects: number; bytes: number; hidden: number; truncated: boolean; sentence: string };
  free(): void;
}

export function open(bytes: Uint8Array, options?: { at?: string }): { reading: Reading; document: Document | undefined };
export function readListing(data: string | Uint8Array, name?: string): Listing;
export function compare(documents: Document[]): Comparison;
export function readPointer(data: string | Uint8Array): { pointers: Record<string, unknown>[]; unreadable: string[]; sentence: string } | undefined;
export function explainTerms(): Record<string, string>;
export function version(): string;
