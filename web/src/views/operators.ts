// Operator by operator: what it holds, and how evenly over subtasks and key groups.
import type { App, View } from '../app';
import type { Held, KeyGroups, OperatorView as Operator } from '../core/types';
import { brief, fill, h, name, svg, type Child } from '../dom';
import { term } from '../explain';
import { bytes, count, number, share } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import { failed, legend, track } from './parts';

const WIDTH = 600;
const HEIGHT = 112;

/** Bars from left to right; the dashed line is the average. */
function plot(label: string, bars: readonly { from: number; to: number; value: number; title: string }[], end: number): SVGSVGElement {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const scale = (HEIGHT - 10) / most;
  const unit = WIDTH / Math.max(1, end);
  const gap = unit > 6 ? 1.5 : 0;
  const average = bars.reduce((sum, { value, from, to }) => sum + value * (to - from + 1), 0) / Math.max(1, end);
  return svg('svg', { class: 'plot', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    bars.map(({ from, to, value, title }) => svg('rect', { x: from * unit, width: Math.max(0.5, (to - from + 1) * unit - gap), y: HEIGHT - Math.max(value > 0 ? 1 : 0, value * scale), height: Math.max(value > 0 ? 1 : 0, value * scale) }, svg('title', {}, title))),
    svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT - average * scale, y2: HEIGHT - average * scale, 'vector-effect': 'non-scaling-stroke' }));
}

function skew(values: readonly number[]): string {
  const sum = values.reduce((a, b) => a + b, 0);
  if (values.length < 2 || sum === 0) return '';
  const ratio = (Math.max(...values) * values.length) / sum;
  return ratio < 1.1 ? 'even' : `largest is ${ratio.toFixed(1)} × the average`;
}

function subtaskPlot(operator: Operator): Child {
  const list = operator.per_subtask;
  if (list.length === 0 || list.every((one) => one.bytes === 0)) return null;
  const bars = list.map((one, at) => ({ from: at, to: at, value: one.bytes, title: `subtask ${one.subtask}: ${bytes(one.bytes)} in ${count(one.handles, 'handle', 'handles')}` }));
  const said = skew(list.map((one) => one.bytes));
  return h('div', {}, h('h3', {}, 'Over subtasks'), plot(`State by subtask, ${said}`, bars, list.length),
    h('p', { class: 'plot-note' }, h('span', {}, `subtask ${list[0]!.subtask}`), h('span', {}, said), h('span', {}, String(list.at(-1)!.subtask))),
    operator.subtasks_left_out > 0 ? h('p', { class: 'small muted' }, `${count(operator.subtasks_left_out, 'more subtask isn’t', 'more subtasks aren’t')} shown`) : null);
}

/** A plot of so many bars is as fine as its width. */
const MOST_BARS = 300;

function groupPlot(app: App, doc: Doc, operator: Operator): Child {
  if (operator.per_key_group.from.length === 0) return null;
  const note = h('p', { class: 'plot-note' });
  const room = h('div', {}, plot('State by key group', [], 1));
  void app.ask<KeyGroups>(doc, 'keyGroups', operator.number).then((said) => {
    const per = Math.max(1, Math.ceil(said.bytes.length / MOST_BARS));
    const bars: { from: number; to: number; value: number; title: string }[] = [];
    for (let from = 0; from < said.bytes.length; from += per) {
      const part = said.bytes.slice(from, from + per);
      const sum = part.reduce((a, b) => a + b, 0);
      const to = from + part.length - 1;
      bars.push({ from, to, value: sum / part.length, title: `${part.length === 1 ? `key group ${from}` : `key groups ${from} to ${to}`}: ${bytes(sum)}` });
    }
    const how = said.spread === 0 ? 'exact' : said.exact === 0 ? 'each file spread evenly over its range' : `${share(said.exact, said.exact + said.spread)} exact, the rest spread over its range`;
    fill(room, plot(`State by key group, ${how}`, bars, said.bytes.length));
    fill(note, h('span', {}, '0'), h('span', {}, how), h('span', {}, String(Math.max(0, said.bytes.length - 1))));
  }, (error: unknown) => fill(room, failed(error)));
  return h('div', {}, h('h3', {}, term('Over key groups', 'key_groups')), room, note);
}

function card(app: App, doc: Doc, operator: Operator, whole: number, most: number, open: boolean): HTMLElement {
  const kinds = Object.entries(operator.state_by_kind);
  const size = (held: Held): number => held.bytes + held.inlined_bytes;
  const finished = operator.finished ? ', finished' : operator.finished_subtasks > 0 ? `, ${number(operator.finished_subtasks)} of its subtasks finished` : '';
  const body = h('div', { class: 'body' });
  const draw = (): void => {
    if (body.childElementCount > 0) return;
    fill(body,
      h('div', {}, h('h3', {}, 'State by kind'),
        kinds.length === 0 ? h('p', { class: 'muted' }, 'It has no state.') : h('dl', { class: 'facts' }, kinds.map(([kind, held]) => [
          h('dt', {}, term(words.role(kind), kind)),
          h('dd', {}, `${bytes(size(held))}${held.objects > 0 ? ` in ${count(held.objects, 'file', 'files')}` : ''}${held.inlined_bytes > 0 ? `${held.objects > 0 ? ', of it' : ','} ${bytes(held.inlined_bytes)} inlined` : ''}`)])),
        h('dl', { class: 'facts spaced' },
          h('dt', {}, 'Id'), h('dd', {}, h('code', {}, operator.id)),
          operator.uid === null ? [h('dt', {}, term('Uid', 'uid')), h('dd', { class: 'muted' }, 'not recorded')] : [h('dt', {}, term('Uid', 'uid')), h('dd', {}, name(operator.uid))],
          h('dt', {}, term('Parallelism', 'parallelism')), h('dd', {}, number(operator.parallelism)),
          h('dt', {}, term('Max. parallelism', 'max_parallelism')), h('dd', {}, number(operator.max_parallelism))),
        h('p', { class: 'spaced' }, h('button', { type: 'button', onclick: () => app.go('files', { operator: operator.id }) }, 'Its files'))),
      h('div', { class: 'plots' }, subtaskPlot(operator), groupPlot(app, doc, operator)));
  };
  const details = h('details', { class: 'card op', open, 'data-operator': operator.id },
    h('summary', {},
      h('h2', { class: 'title' }, h('bdi', {}, brief(words.operatorName(operator), 160))),
      h('span', { class: 'num' }, operator.bytes === 0 ? 'no state' : `${bytes(operator.bytes)} · ${share(operator.bytes, whole)}`),
      h('span', { class: 'meta' }, `${number(operator.parallelism)} of at most ${number(operator.max_parallelism)} parallel${finished}${kinds.length === 0 ? '' : ` · ${kinds.map(([kind]) => words.role(kind).toLowerCase()).join(', ')}`}`),
      track(kinds.map(([kind, held]) => ({ value: size(held), colour: words.colour(kind) })), most)),
    body);
  details.addEventListener('toggle', draw);
  if (open) draw();
  return details;
}

export function operators(app: App, doc: Doc): View {
  const list = h('div', {});
  const element = h('div', { class: 'page', 'data-view': 'operators' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Operators'), h('p', {}, 'Largest first. What each holds, and how evenly over subtasks and key groups: a subtask with far more than the others is where a restore waits.')),
    list);
  let all: Operator[] = [];
  const draw = (wanted?: string): void => {
    const whole = all.reduce((sum, one) => sum + one.bytes, 0);
    const most = Math.max(1, ...all.map((one) => one.bytes));
    const kinds = [...new Set(all.flatMap((one) => Object.keys(one.state_by_kind)))];
    fill(list, kinds.length === 0 ? null : h('div', { class: 'legend-row' }, legend(kinds.map((kind) => ({ words: term(words.role(kind), kind), colour: words.colour(kind) })))),
      all.slice(0, 400).map((one, at) => card(app, doc, one, whole, most, wanted === undefined ? at === 0 : one.id === wanted)),
      all.length > 400 ? h('p', { class: 'muted' }, `and ${count(all.length - 400, 'smaller one', 'smaller ones')}`) : null);
    if (wanted !== undefined) list.querySelector<HTMLElement>(`[data-operator="${CSS.escape(wanted)}"]`)?.scrollIntoView({ block: 'start' });
  };
  const wantedNow = app.wanted.operator;
  const ready = app.ask<Operator[] | { operators: Operator[] }>(doc, 'operators').then(
    (said) => {
      all = [...(Array.isArray(said) ? said : said.operators)].sort((a, b) => b.bytes - a.bytes);
      draw(wantedNow);
    },
    (error: unknown) => fill(list, failed(error)),
  );
  return {
    element,
    shown() {
      const wanted = app.wanted.operator;
      app.wanted = {};
      if (wanted !== undefined) void ready.then(() => draw(wanted));
    },
  };
}
