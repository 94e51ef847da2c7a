// A file that is no whole checkpoint: what it is, where it breaks, what to do.
import type { App } from '../app';
import { brief, h, prose, sentence } from '../dom';
import { bytes, count, number } from '../quantity';
import { icon } from '../icons';
import type { Problem } from '../store';

type Said = Record<string, unknown>;
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const amount = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function words(problem: Problem): (Node | string | null)[] {
  const said = problem.reading as unknown as Said;
  switch (problem.reading.reading) {
    case 'not_metadata':
      return [text(said.sentence) ?? null, text(said.meaning) ?? null, text(said.what_next) ?? null];
    case 'refused':
      return [text(said.message) ?? 'it was refused', 'Say where the checkpoint lies as a Flink path, for example s3://bucket/checkpoints/JOB/chk-8.'];
    case 'damaged': {
      const offset = amount(said.offset);
      const message = text(said.message) ?? 'it can’t be read to its end';
      return [message, offset === undefined ? null : readSoFar((said.read_so_far ?? {}) as Said, offset, amount(said.metadata_bytes) ?? 0), text(said.meaning) ?? null, text(said.next_step) ?? null];
    }
    case 'failed':
      return [problem.reading.message];
    default:
      return ['it can’t be opened'];
  }
}

/** What is known although the file breaks off. */
function readSoFar(read: Said, offset: number, size: number): string {
  const objects = ((read.objects ?? {}) as { total?: { objects?: number; bytes?: number } }).total;
  const operators = amount(read.operators) ?? 0;
  const id = amount(read.checkpoint_id);
  return `Understood up to byte ${number(offset)} of ${number(size)}: ${id === undefined ? '' : `checkpoint ${id}, `}${count(operators, 'whole operator', 'whole operators')}, ${count(objects?.objects ?? 0, 'file', 'files')} (${bytes(objects?.bytes ?? 0)}). There can be more that it needs.`;
}

interface Pointers {
  pointers: { entry: string | null; points_to: string; location: string; bytes: number; marked_for_deletion: boolean; checkpoint_id: number | null; job_id: string | null }[];
  unreadable: string[];
  sentence: string;
}

/** What an entry of an HA store says: which checkpoint a job would be restored from. */
function pointer(said: Pointers | undefined): Node | null {
  if (said === undefined) return null;
  return h('div', { 'data-pointers': said.pointers.length }, h('p', {}, brief(said.sentence, 900)),
    h('ul', { class: 'stack' }, said.pointers.slice(0, 20).map((one) => h('li', {},
      one.checkpoint_id === null ? '' : `checkpoint ${one.checkpoint_id}: `, h('bdi', { class: 'name' }, brief(one.location)), h('span', { class: 'muted small' }, ` ${bytes(one.bytes)}${one.marked_for_deletion ? ', marked for deletion' : ''}`)))),
    said.unreadable.slice(0, 5).map((one) => h('p', { class: 'small muted' }, brief(one, 300))));
}

export function problemNotice(problem: Problem, app: App): HTMLElement {
  const close = h('button', { type: 'button', class: 'icon quiet', 'aria-label': 'Put this notice away' }, icon('close'));
  close.addEventListener('click', () => app.store.set({ problems: app.store.state.problems.filter((one) => one !== problem) }));
  const level = problem.note === true ? 'warn' : 'bad';
  return h('div', { class: `notice ${level}`, 'data-reading': problem.reading.reading },
    h('div', { class: 'text' },
      h('p', {}, h('b', {}, h('bdi', {}, brief(problem.name, 200)))),
      words(problem).filter((part) => part !== null).map((part) => h('p', {}, typeof part === 'string' ? prose(sentence(part), 1200) : part)),
      pointer(problem.pointer as Pointers | undefined)),
    close);
}
