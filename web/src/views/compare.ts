// Two or more checkpoints side by side: what stayed, came and went; and over a series, which brought which bytes.
import type { App, View } from '../app';
import { brief, fill, h, name, prose, type Child } from '../dom';
import { bytes, count, number, share } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import type { Comparison, Sum } from '../core/types';
import { failed, legend } from './parts';

/** Colours are told apart by their order; more than eight would not be. */
const SHADES = 8;

const cell = (sum: Sum): Child => (sum.objects === 0 ? h('span', { class: 'muted' }, '–') : [bytes(sum.bytes), h('span', { class: 'muted small' }, ` in ${number(sum.objects)}`)]);

/** Each bar is a checkpoint; its parts are the bytes by the checkpoint that named them first. */
function lineage(said: Comparison, title: (at: number) => string): HTMLElement {
  const most = Math.max(1, ...said.snapshots.map(({ introduced_by: parts }) => parts.reduce((sum, part) => sum + part.bytes, 0)));
  const brought = said.snapshots.map((_, at) => at).filter((at) => said.snapshots.some(({ introduced_by: parts }) => (parts[at]?.objects ?? 0) > 0));
  return h('section', { class: 'card spaced' }, h('h2', {}, 'Which checkpoint brought which bytes'),
    h('div', { class: 'bars lineage', role: 'list' }, said.snapshots.map(({ introduced_by: parts, needs }, at) => {
      const bar = h('span', { class: 'track tall', 'aria-hidden': 'true' });
      parts.forEach((part, by) => {
        if (part.bytes === 0) return;
        const piece = h('i', { title: `${bytes(part.bytes)} first named by ${title(by)}` });
        piece.style.width = `${(100 * part.bytes) / most}%`;
        piece.style.background = `var(--b${by % SHADES})`;
        bar.append(piece);
      });
      return h('div', { class: 'bar-row', role: 'listitem' }, h('span', { class: 'label' }, title(at)), h('span', { class: 'value' }, `${bytes(needs.bytes)} in ${count(needs.objects, 'file', 'files')}`), bar);
    })),
    legend(brought.map((at) => ({ words: `first named by ${title(at)}`, colour: at % SHADES }))));
}

function examples(heading: string, list: readonly string[], total: number): Child {
  if (list.length === 0) return null;
  return h('details', {}, h('summary', {}, heading), h('ul', { class: 'stack' }, list.map((one) => h('li', {}, name(one)))), total > list.length ? h('p', { class: 'small muted' }, `and ${number(total - list.length)} more`) : null);
}

/** “1234 bytes” of a sentence of the core, as the page writes sizes. */
const sized = (text: string): string => text.replace(/(?<![\w.,])(\d{4,15}) bytes\b/g, (_, n: string) => bytes(Number(n)));

/** Job directories that it names files in. A checkpoint that only names files beside itself has none until somebody says where it lies. */
const jobs = ({ summary }: Doc): Set<string> => new Set(summary.objects.by_directory.map(({ directory }) => directory).filter((directory) => /\/[0-9a-f]{32}\/$/.test(directory)));
const operators = ({ summary }: Doc): Set<string> => new Set(summary.operators.map(({ id }) => id));
const meet = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean => [...a].some((one) => b.has(one));

/** What is to be said first of two that have too little in common. A full checkpoint shares no file with the one before it, and a savepoint none with any. */
function strangeness(one: Doc, other: Doc, kept: number): 'jobs' | 'runs' | undefined {
  if (kept > 0 || meet(jobs(one), jobs(other)) || one.summary.operators.length === 0 || other.summary.operators.length === 0) return undefined;
  if (!meet(operators(one), operators(other))) return 'jobs';
  const savepoint = one.summary.kind?.savepoint === true || other.summary.kind?.savepoint === true;
  return savepoint || jobs(one).size === 0 || jobs(other).size === 0 ? undefined : 'runs';
}

/** Strangers can be compared, but what that says isn’t what somebody expects. */
function strangers(said: Comparison, docs: readonly Doc[], title: (at: number) => string): Child {
  const of = (at: number): Doc => docs[said.snapshots[at]!.given]!;
  const apart = said.steps.flatMap(({ from, to, kept }) => {
    const how = strangeness(of(from), of(to), kept.objects);
    return how === undefined ? [] : [{ from, to, how }];
  });
  if (apart.length === 0) return null;
  return h('div', { class: 'notice warn', 'data-strangers': apart.length }, h('div', { class: 'text' }, apart.slice(0, 5).map(({ from, to, how }) => h('p', {},
    h('b', {}, `${title(from)} and ${title(to)} seem to be of different ${how}`), how === 'jobs'
      ? ': no file, no job directory and no operator is in both. What is “added” and “dropped” between them is no change of one job.'
      : ': no file and no job directory is in both. They have operators in common, so the program may be the same, started anew; then “added” and “dropped” are no change of one job.')),
    apart.length > 5 ? h('p', { class: 'muted' }, `and ${number(apart.length - 5)} more steps like that`) : null));
}

export function compare(app: App, doc: Doc): View {
  const { docs } = app.store.state;
  const answer = h('div', {});
  const element = h('div', { class: 'page', 'data-view': 'compare' }, h('div', { class: 'view-head' }, h('h1', {}, 'Compare'), h('p', {}, 'All that is open, in the order of their ids. Kept: files that both name. Added and dropped: what only the later or the earlier one names.')), answer);
  if (docs.length < 2) {
    fill(answer, h('div', { class: 'card stack' }, h('p', {}, 'Only one checkpoint is open. Drop another one, or the whole job directory, and see what stayed, came and went between them.'), h('p', {}, h('button', { type: 'button', onclick: () => document.getElementById('file-input')?.click() }, 'Choose files'))));
    return { element };
  }
  const table = (heads: string[], rows: Child[], label: string): HTMLElement => h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': label }, h('table', {},
    h('thead', {}, h('tr', {}, heads.map((one, i) => h('th', { scope: 'col', class: i > 0 ? 'right' : '' }, one)))), h('tbody', {}, rows)));
  const show = (said: Comparison): void => {
    const title = (at: number): string => {
      const one = said.snapshots[at];
      const kind = one?.savepoint === true ? 'Savepoint' : 'Checkpoint';
      const twice = said.snapshots.filter(({ checkpoint_id: id }) => id === one?.checkpoint_id).length > 1;
      return `${kind} ${one?.checkpoint_id ?? ''}${twice ? ` (${at + 1})` : ''}`;
    };
    const last = said.lineage.reduce((sum, one) => sum + one.bytes, 0);
    fill(answer,
      strangers(said, docs, title),
      h('p', { class: 'lead-line' }, prose(sized(said.sentence))),
      lineage(said, title),
      h('section', { class: 'spaced', 'data-table': 'steps' }, h('h2', {}, 'From one to the next'),
        table(['Step', 'Kept', 'Added', 'Dropped', 'New'], said.steps.map((step) => h('tr', { class: docs[said.snapshots[step.to]!.given] === doc ? 'here' : '' },
          h('th', { scope: 'row' }, `${title(step.from)} → ${title(step.to)}`), [step.kept, step.added, step.dropped].map((one) => h('td', { class: 'right' }, cell(one))), h('td', { class: 'right' }, share(step.added.bytes, step.added.bytes + step.kept.bytes)))), 'From one checkpoint to the next')),
      h('section', { class: 'spaced', 'data-table': 'lineage' }, h('h2', {}, `What ${title(said.snapshots.length - 1).toLowerCase()} needs, by who named it first`),
        table(['First named by', 'Bytes', 'Share', 'Files'], said.lineage.filter(({ objects }) => objects > 0).map((one) => h('tr', {}, h('th', { scope: 'row' }, title(one.by)), h('td', { class: 'right' }, bytes(one.bytes)), h('td', { class: 'right' }, share(one.bytes, last)), h('td', { class: 'right' }, number(one.objects)))), 'What the last one needs')),
      h('section', { class: 'card spaced steps' }, h('h2', {}, 'By operator'), said.steps.map((step) => h('details', {}, h('summary', {}, `${title(step.from)} → ${title(step.to)}`),
        table(['Operator', 'Kept', 'Added', 'Dropped'], step.operators.map((one) => h('tr', {}, h('th', { scope: 'row' }, h('bdi', {}, brief(words.operatorName(one.operator), 120))), [one.kept, one.added, one.dropped].map((part) => h('td', { class: 'right' }, cell(part))))), 'By operator'),
        step.operators_left_out > 0 ? h('p', { class: 'small muted' }, `and ${count(step.operators_left_out, 'smaller one', 'smaller ones')}`) : null,
        examples('Files that were added', step.added_examples, step.added.objects), examples('Files that were dropped', step.dropped_examples, step.dropped.objects)))));
  };
  app.core.ask('compare', { docs: docs.map((one) => one.doc) }).then((text) => show(JSON.parse(text) as Comparison), (error: unknown) => fill(answer, failed(error)));
  return { element };
}

