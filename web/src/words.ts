// The core's names for things, in words.
import type { Doc } from './store';
import type { OperatorSummary, Summary, Whose } from './core/types';
import { brief } from './dom';

const STATE: Record<string, string> = {
  managed_keyed: 'Keyed state',
  raw_keyed: 'Raw keyed state',
  managed_operator: 'Operator state',
  raw_operator: 'Raw operator state',
  coordinator: 'Coordinator',
  input_channel: 'Records in flight, input',
  output_channel: 'Records in flight, output',
  result_subpartition: 'Records in flight, output',
  input_channels: 'Records in flight, input',
  output_channels: 'Records in flight, output',
};

/** `managed_keyed.shared` → “Keyed state, shared”. */
export function role(text: string): string {
  const [head = '', ...rest] = text.split('.');
  const words = STATE[head] ?? head.replace(/_/g, ' ');
  return rest.length === 0 ? words : `${words.replace(/ state$/, '')}, ${rest.join(' ').replace(/_/g, ' ')}`;
}

/** Which of the colours a kind of state has. */
export function colour(kind: string): number {
  const head = kind.split('.')[0] ?? '';
  const order = ['managed_keyed', 'managed_operator', 'raw_keyed', 'coordinator', 'raw_operator', 'input_channel', 'result_subpartition'];
  const at = order.indexOf(head);
  if (at === 5 || head.startsWith('input')) return 5;
  if (head.startsWith('output')) return 7;
  return at === -1 ? 6 : at === 6 ? 7 : at;
}

const WHOSE: Record<Whose, string> = {
  own: 'its own job directory',
  other_job: 'another job’s directory',
  outside: 'outside of any job directory',
  other_bucket: 'another bucket',
  other_file_system: 'another file system',
  unknown: 'whose isn’t known yet',
};
export const whose = (of: Whose): string => WHOSE[of] ?? String(of);

const FEATURES: Record<string, string> = {
  incremental_keyed_state: 'Incremental (RocksDB or ForSt)',
  forst: 'ForSt, disaggregated',
  full_keyed_state: 'Full keyed state',
  raw_keyed_state: 'Raw keyed state',
  changelog: 'Changelog backend',
  changelog_in_memory: 'Changelog inside _metadata',
  file_merging: 'File merging',
  unaligned: 'Unaligned',
  merged_channel_state: 'Merged channel state',
  finished_tasks: 'Finished subtasks',
  canonical_savepoint: 'Canonical savepoint',
  native_savepoint: 'Native savepoint',
};
export const feature = (name: string): string => FEATURES[name] ?? name.replace(/_/g, ' ');

export function operatorName(operator: { name?: string | null; uid?: string | null; id: string }): string {
  return operator.name || operator.uid || operator.id;
}

export function operatorBytes(operator: OperatorSummary): number {
  return Object.values(operator.state).reduce((sum, held) => sum + held.bytes + held.inlined_bytes, 0);
}

export function kindOf(summary: Summary): string {
  if (summary.kind === null) return 'Checkpoint or savepoint';
  return summary.kind.savepoint ? 'Savepoint' : 'Checkpoint';
}

export function releases({ releases: { oldest, newest } }: Summary): string {
  if (oldest === null || newest === null) return 'a Flink that isn’t released yet';
  return oldest === newest ? `Flink ${oldest}` : `Flink ${oldest} to ${newest}`;
}

/** For the list of open checkpoints. */
export function title(doc: Doc): string {
  return `${kindOf(doc.summary)} ${doc.summary.checkpoint_id} · ${brief(doc.name, 60)}`;
}

export function totalBytes(summary: Summary): number {
  return summary.objects.total.bytes + summary.inlined.bytes;
}

/** Objects of its own checkpoint directory: what this checkpoint brought that no other has. */
export function ownExclusive(summary: Summary): { bytes: number; objects: number } {
  const fits = summary.objects.by_place.filter(({ whose: of, part }) => part === 'exclusive' && (of === 'own' || of === 'unknown'));
  return { bytes: fits.reduce((sum, { bytes }) => sum + bytes, 0), objects: fits.reduce((sum, { objects }) => sum + objects, 0) };
}

/** Where it may have come from, if all shared files lie in one job directory: Flink writes `chk-N` beside `shared`. */
export function likelyPlace(summary: Summary, path: string): { at: string; sure: boolean } | undefined {
  const jobs = summary.objects.by_directory.map(({ directory }) => directory).filter((directory) => /\/[0-9a-f]{32}\/$/.test(directory));
  for (const directory of jobs) {
    const job = directory.slice(-33, -1);
    const at = path.indexOf(`${job}/`);
    if (at !== -1) return { at: directory + path.slice(at + 33).replace(/\/?_metadata$/, ''), sure: true };
  }
  if (jobs.length === 1 && summary.kind?.savepoint !== true && summary.objects.by_directory.length <= 2) {
    return { at: `${jobs[0]}chk-${summary.checkpoint_id}`, sure: false };
  }
  return undefined;
}
