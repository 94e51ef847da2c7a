// The documents that the core answers with. Their meaning is said where they are made: `stayput_core::report::summary` and
// `stayput_core::inspection`.

export interface Amount {
  objects: number;
  bytes: number;
  at_least: number;
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
  reading: 'whole';
  form: string;
  at: string | null;
  metadata_bytes: number;
  format_version: number;
  releases: { oldest: string | null; newest: string | null };
  checkpoint_id: number;
  kind: { savepoint: boolean; known_from: string } | null;
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
    by_directory: (Amount & { directory: string; whose: Whose })[];
    directories_left_out: number;
    named_directories: { path: string }[];
    named_directory_count: number;
    unnameable: number;
    none_at_home: boolean;
  };
  inlined: { handles: number; bytes: number };
  relocatable: { answer: boolean; relative_handles: number; absolute_handles: number; directories: number };
}

export interface Damaged {
  reading: 'damaged';
  [field: string]: unknown;
}
export interface Refused {
  reading: 'refused';
  message: string;
}
export interface NotMetadata {
  reading: 'not_metadata';
  looks_like: string;
  sentence: string;
  meaning?: string;
  what_next: string;
}
export type Reading = Summary | Damaged | Refused | NotMetadata;
