// Every handle as a row of a grid, with the row's chain beside it.
import type { App, View } from '../app';
import { CoreError, Windows } from '../core/client';
import type { Format, ViewQuery } from '../core/protocol';
import type { Detail } from '../core/types';
import { brief, fill, h } from '../dom';
import { Grid, type Column } from '../grid';
import { bytes, count, number } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import { chain } from './chain';
import { failed, later, type Level } from './parts';

/** Positions of the columns that the core gives. */
export interface Layout {
  numbers: Record<string, number>;
  texts: Record<string, number>;
  stride: number;
  statuses: string[];
}

export function layoutOf(columns: string): Layout {
  const said = JSON.parse(columns) as { numbers: string[]; texts: string[]; statuses?: { name: string; meaning: string }[] };
  const positions = (names: string[]): Record<string, number> => Object.fromEntries(names.map((name, i) => [name, i]));
  return { numbers: positions(said.numbers), texts: positions(said.texts), stride: said.numbers.length, statuses: (said.statuses ?? []).map(({ name }) => name) };
}

const WHOSE = ['own', 'other_job', 'outside', 'other_bucket', 'other_file_system', 'unknown'] as const;
const MEANS = ['', 'at least ', 'uncompressed ', ''];
const STATUS_WORDS: Record<string, string> = {
  not_checked: 'not checked', present: 'there', not_covered: 'not in this listing', archived: 'archived', recoverable: 'deleted, can be put back', overwritten: 'overwritten, can be put back', missing: 'missing', wrong_size: 'wrong size', gone: 'gone for good',
};
export const STATUS_LEVEL: Record<string, Level> = {
  not_checked: 'info', present: 'ok', not_covered: 'info', archived: 'bad', recoverable: 'warn', overwritten: 'warn', missing: 'bad', wrong_size: 'bad', gone: 'bad',
};
export const statusWords = (status: string): string => STATUS_WORDS[status] ?? status.replace(/_/g, ' ');

export function fileColumns(layout: () => Layout, withStatus: boolean): Column[] {
  const n = (numbers: ArrayLike<number>, key: string): number => numbers[layout().numbers[key] ?? -1] ?? -1;
  const t = (texts: readonly string[], key: string): string => texts[layout().texts[key] ?? -1] ?? '';
  const columns: Column[] = [
    {
      id: 'location', title: 'File', width: 'var(--file-column, minmax(290px, 3fr))', mono: true, sort: 'location',
      cell: (_, texts) => {
        const location = t(texts, 'location');
        return { text: tail(location), title: brief(location, 1000) };
      },
    },
    {
      id: 'size', title: 'Size', width: '96px', right: true, sort: 'size',
      cell: (numbers) => {
        const size = n(numbers, 'size');
        if (size < 0) return { text: 'not said', class: 'muted' };
        const means = MEANS[n(numbers, 'size_means')] ?? '';
        return { text: bytes(size), title: `${means}${number(size)} bytes` };
      },
    },
    { id: 'role', title: 'For', width: 'minmax(146px, 1fr)', sort: 'role', cell: (_, texts) => ({ text: words.role(t(texts, 'role')) }) },
    { id: 'operator', title: 'Operator', width: 'minmax(140px, 1.2fr)', sort: 'operator', cell: (_, texts) => ({ text: brief(t(texts, 'operator'), 200), title: brief(t(texts, 'operator'), 600) }) },
    { id: 'subtask', title: 'Subtask', width: '82px', right: true, sort: 'subtask', cell: (numbers) => ({ text: n(numbers, 'subtask') < 0 ? '–' : String(n(numbers, 'subtask')) }) },
    {
      id: 'key_group', title: 'Key groups', width: '106px', right: true, sort: 'key_group',
      cell: (numbers) => {
        const from = n(numbers, 'key_group_from');
        const to = n(numbers, 'key_group_to');
        return { text: from < 0 ? '–' : from === to ? String(from) : `${from}–${to}` };
      },
    },
    {
      id: 'whose', title: 'Lies in', width: 'minmax(130px, 1fr)', sort: 'directory',
      cell: (numbers, texts) => ({ text: words.whose(WHOSE[n(numbers, 'whose')] ?? 'unknown').replace(' directory', '').replace('’s', ''), title: brief(t(texts, 'directory'), 600) }),
    },
    { id: 'handles', title: 'Named', width: '84px', right: true, sort: 'handles', cell: (numbers) => ({ text: `${number(n(numbers, 'handles'))}×` }) },
  ];
  if (withStatus) {
    columns.splice(2, 0, {
      id: 'status', title: 'In the listing', width: '182px', sort: 'status',
      cell: (numbers, texts) => {
        const said = t(texts, 'status') || layout().statuses[n(numbers, 'status')] || '';
        return { text: said === '' ? '–' : statusWords(said), class: STATUS_LEVEL[said] ?? '' };
      },
    });
  }
  return columns;
}

/** The end of a path is what tells files apart; the whole one is in the title and in the detail. */
function tail(location: string): string {
  const parts = location.split('/');
  const short = parts.length > 3 ? `…/${parts.slice(-2).join('/')}` : location;
  return brief(short, 200);
}

export function files(app: App, doc: Doc): View {
  const { summary } = doc;
  let layout: Layout = { numbers: {}, texts: {}, stride: 1, statuses: [] };
  const checked = app.store.state.listing !== null;
  const columns = fileColumns(() => layout, checked);
  const grid = new Grid('Files that the checkpoint names', columns, checked ? 1272 : 1090, `file-${doc.key}`);
  const side = h('aside', { class: 'side', 'aria-label': 'The chosen file', tabindex: '0' });
  const counted = h('span', { class: 'count', role: 'status' });
  const text = h('input', { type: 'search', placeholder: 'Part of the path', 'aria-label': 'Part of the path', spellcheck: 'false', autocomplete: 'off' });
  const roles = Object.keys(summary.state);
  const role = h('select', { 'aria-label': 'What it is for' }, h('option', { value: '' }, 'All kinds'), roles.map((key) => h('option', { value: key, selected: app.kept.role === key }, words.role(key))));
  const operator = h('select', { 'aria-label': 'Operator' }, h('option', { value: '' }, 'All operators'), summary.operators.slice(0, 500).map((one, at) => h('option', { value: at }, brief(words.operatorName(one), 60))));
  const job = h('select', { 'aria-label': 'Directory' }, h('option', { value: '' }, 'All directories'), summary.objects.by_directory.map((one) => h('option', { value: one.directory }, `…/${brief(one.directory.split('/').filter(Boolean).at(-1) ?? one.directory, 40)} (${words.whose(one.whose)})`)));
  const status = h('select', { 'aria-label': 'In the listing', class: checked ? '' : 'hidden' }, h('option', { value: '' }, 'There or not'));
  const once = h('input', { type: 'checkbox', id: `once-${doc.key}` });
  const exportAs = h('select', { 'aria-label': 'Export these rows' }, h('option', { value: '' }, 'Export…'), h('option', { value: 'csv' }, 'CSV'), h('option', { value: 'json' }, 'JSON'), h('option', { value: 'text' }, 'Paths as text'));
  const element = h('div', { class: 'page full', 'data-view': 'files' },
    h('h1', { class: 'sr' }, 'Files'),
    h('div', { class: 'toolbar' }, h('div', { class: 'grow' }, text), role, operator, job, status,
      h('div', { class: 'second' }, counted, h('label', { class: 'nowrap small check' }, once, 'Each file once'), exportAs)),
    h('div', { class: 'split' }, grid.element, side));

  let view: number | undefined;
  let asked = 0;
  let rowOf: ((row: number) => number) | undefined;
  const hint = (): void => fill(side, h('h2', {}, 'A file, and who needs it'), h('p', { class: 'muted' }, 'Choose a row: you see its whole path, the bytes that name it, and the chain from the file to the job. ', h('kbd', {}, '↑'), ' ', h('kbd', {}, '↓'), ' move, ', h('kbd', {}, 'Enter'), ' opens its bytes, ', h('kbd', {}, 'c'), ' copies its path.'));
  hint();

  const query = (): ViewQuery => {
    const wanted: ViewQuery = {};
    if (app.kept.sort !== null) wanted.sort = { column: app.kept.sort, descending: app.kept.descending };
    if (text.value !== '') wanted.text = text.value;
    if (role.value !== '') wanted.role = role.value;
    if (operator.value !== '') wanted.operator = Number(operator.value);
    if (job.value !== '') wanted.directory = job.value;
    if (status.value !== '') wanted.status = status.value;
    if (once.checked) wanted.each_object_once = true;
    return wanted;
  };

  const renew = async (): Promise<void> => {
    const mine = ++asked;
    performance.mark('stayput:query');
    try {
      await app.checked(doc);
      const made = await app.core.ask('view', { doc: doc.doc, query: query() });
      if (mine !== asked) {
        void app.core.ask('closeView', { view: made.view });
        return;
      }
      const old = view;
      view = made.view;
      layout = layoutOf(made.columns);
      if (status.options.length === 1) for (const one of layout.statuses.slice(1)) status.append(h('option', { value: one }, statusWords(one)));
      const windows = new Windows(app.core, made.view);
      const filtered = text.value !== '' || role.value !== '' || operator.value !== '' || job.value !== '' || status.value !== '';
      grid.setSource(
        { length: made.length, stride: layout.stride, request: (from, wanted, done) => windows.request(from, wanted, done) },
        filtered ? 'No file fits. Esc clears the filter.' : 'It names no files: its state lies in _metadata itself, or it has none.',
      );
      grid.setSorted(app.kept.sort ?? 'at', app.kept.descending);
      counted.textContent = `${count(made.length, once.checked ? 'file' : 'handle', once.checked ? 'files' : 'handles')}${filtered ? ` of ${number(summary.objects.handles)}` : ''}`;
      element.dataset.rows = String(made.length);
      hint();
      if (old !== undefined) void app.core.ask('closeView', { view: old });
    } catch (error) {
      if (!(error instanceof CoreError && error.code === 'closed')) fill(side, failed(error));
    }
  };

  grid.onDrawn = () => void performance.mark('stayput:drawn');
  grid.onSort = (column) => {
    if (app.kept.sort !== column) app.keep({ sort: column, descending: column === 'size' || column === 'handles' });
    else if (app.kept.descending === (column === 'size' || column === 'handles')) app.keep({ descending: !app.kept.descending });
    else app.keep({ sort: null, descending: false });
    void renew();
  };
  const soon = later(90);
  let detailOf = 0;
  grid.onActive = (_, numbers) => {
    const row = numbers[layout.numbers.row ?? 0] ?? 0;
    const mine = ++detailOf;
    rowOf = () => row;
    app.ask<Detail>(doc, 'detail', row).then(
      (detail) => {
        if (mine === detailOf) fill(side, chain(app, doc, detail));
      },
      (error: unknown) => {
        if (mine === detailOf) fill(side, failed(error));
      },
    );
  };
  grid.onOpen = (row) => {
    if (rowOf !== undefined) app.go('raw', { row: rowOf(row) });
  };
  grid.onCopy = (texts) => void app.copy(texts[layout.texts.location ?? 0] ?? '');
  text.addEventListener('input', () => soon(() => void renew()));
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      grid.focus();
    }
  });
  for (const select of [operator, job, status, once]) select.addEventListener('change', () => void renew());
  role.addEventListener('change', () => {
    app.keep({ role: role.value === '' ? null : role.value });
    void renew();
  });
  exportAs.addEventListener('change', () => {
    const format = exportAs.value as Format;
    exportAs.value = '';
    if (view === undefined) return;
    void app.core.ask('export', { doc: doc.doc, view, format }).then(
      (blob) => app.save(blob, `${words.kindOf(summary).toLowerCase().replace(/ /g, '-')}-${summary.checkpoint_id}-files.${format === 'text' ? 'txt' : format}`),
      (error: unknown) => app.toast(error instanceof Error ? error.message : String(error)),
    );
  });

  let first = true;
  return {
    element,
    shown() {
      const { wanted } = app;
      if (wanted.text !== undefined || wanted.operator !== undefined || first) {
        if (wanted.text !== undefined) text.value = wanted.text;
        const at = summary.operators.findIndex(({ id }) => id === wanted.operator);
        if (at >= 0) operator.value = String(at);
        app.wanted = {};
        first = false;
        void renew();
      }
    },
    escape() {
      if (text.value === '' && role.value === '' && operator.value === '' && job.value === '' && status.value === '') return false;
      for (const one of [text, role, operator, job, status]) one.value = '';
      app.keep({ role: null });
      void renew();
      return true;
    },
    dispose() {
      grid.dispose();
      if (view !== undefined) void app.core.ask('closeView', { view }).catch(() => {});
    },
  };
}
