// A grid for a million rows: only those in sight are in the page. Rows are absolutely placed in a box that sticks to the top of the scrolled
// area; the area's height is capped, since browsers stop at 16 to 33 million pixels, and scaled to the rows above that.
import type { Window } from './core/protocol';
import { fill, h } from './dom';

export interface Column {
  id: string;
  title: string;
  /** A CSS track: `minmax(240px, 1fr)`. */
  width: string;
  right?: boolean;
  mono?: boolean;
  /** Can be sorted by this name. */
  sort?: string;
  term?: string;
  cell(numbers: ArrayLike<number>, texts: readonly string[]): { text: string; class?: string; title?: string };
}

export interface Source {
  length: number;
  /** How many numbers a row has. */
  stride: number;
  request(from: number, count: number, done: (window: Window) => void): void;
}

const ROW = 30;
const HEAD = 36;
const HIGHEST = 8_000_000;

interface PoolRow {
  element: HTMLElement;
  cells: HTMLElement[];
  row: number;
}

export class Grid {
  readonly element: HTMLElement;
  private readonly scroll: HTMLElement;
  private readonly spacer: HTMLElement;
  private readonly pool: HTMLElement;
  private readonly none: HTMLElement;
  private readonly headers: HTMLElement[];
  private rows: PoolRow[] = [];
  private source: Source = { length: 0, stride: 1, request: () => {} };
  private window: { from: number; numbers: Float64Array; texts: string[][] } = { from: 0, numbers: new Float64Array(), texts: [] };
  private first = 0;
  private active = -1;
  private frame = 0;
  private readonly observer: ResizeObserver;
  private drawnOnce = false;
  /** The first rows of a source are on the page. */
  onDrawn: () => void = () => {};
  onActive: (row: number, numbers: Float64Array, texts: readonly string[]) => void = () => {};
  onOpen: (row: number) => void = () => {};
  onSort: (column: string) => void = () => {};
  onCopy: (texts: readonly string[]) => void = () => {};

  constructor(
    label: string,
    private readonly columns: readonly Column[],
    minWidth: number,
    private readonly idPrefix: string,
  ) {
    this.headers = columns.map((column, i) =>
      h(
        'div',
        { role: 'columnheader', class: column.right === true ? 'right' : '', 'aria-colindex': i + 1 },
        column.sort === undefined
          ? h('span', { class: 'plain' }, column.title)
          : h('button', { type: 'button', onclick: () => this.onSort(column.sort!) }, column.title, h('span', { class: 'arrow', 'aria-hidden': 'true' })),
      ),
    );
    const head = h('div', { class: 'head', role: 'row', 'aria-rowindex': 1 }, this.headers);
    this.pool = h('div', { class: 'pool', role: 'rowgroup' });
    this.spacer = h('div', { class: 'spacer', role: 'presentation' }, this.pool);
    this.none = h('p', { class: 'none hidden' });
    this.scroll = h('div', { class: 'scroll', tabindex: '0', role: 'grid', 'aria-label': label, 'aria-colcount': columns.length, 'aria-multiselectable': 'false' },
      h('div', { role: 'rowgroup', class: 'headgroup', style: null }, head), this.spacer);
    this.element = h('div', { class: 'grid' }, this.scroll, this.none);
    this.element.style.setProperty('--grid-min', `${minWidth}px`);
    this.element.style.setProperty('position', 'relative');
    head.style.gridTemplateColumns = this.template();
    this.scroll.addEventListener('scroll', () => this.schedule(), { passive: true });
    this.scroll.addEventListener('keydown', (event) => this.key(event));
    this.pool.addEventListener('click', (event) => this.click(event));
    this.pool.addEventListener('dblclick', () => this.active >= 0 && this.onOpen(this.active));
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.scroll);
  }

  private template(): string {
    return this.columns.map(({ width }) => width).join(' ');
  }

  dispose(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  setSource(source: Source, none: string): void {
    this.source = source;
    this.window = { from: 0, numbers: new Float64Array(), texts: [] };
    this.setActive(-1, false);
    this.drawnOnce = false;
    this.scroll.setAttribute('aria-rowcount', String(source.length + 1));
    this.none.textContent = none;
    this.none.classList.toggle('hidden', source.length > 0);
    this.spacer.style.height = `${Math.min(HIGHEST, source.length * ROW)}px`;
    this.scroll.scrollTop = 0;
    this.first = 0;
    this.resize();
    this.ask();
  }

  setSorted(column: string | null, descending: boolean): void {
    this.columns.forEach(({ sort }, i) => {
      const header = this.headers[i]!;
      const is = sort !== undefined && sort === column;
      if (sort !== undefined) header.setAttribute('aria-sort', is ? (descending ? 'descending' : 'ascending') : 'none');
      const arrow = header.querySelector('.arrow');
      if (arrow !== null) arrow.textContent = is ? (descending ? '↓' : '↑') : '';
    });
  }

  focus(): void {
    this.scroll.focus();
  }

  private get inSight(): number {
    return Math.max(1, Math.floor((this.scroll.clientHeight - HEAD) / ROW));
  }

  private resize(): void {
    const needed = this.scroll.clientHeight === 0 ? 0 : Math.min(this.source.length, this.inSight + 2);
    while (this.rows.length < needed) {
      const cells = this.columns.map((column, i) =>
        h('div', { role: 'gridcell', 'aria-colindex': i + 1, class: `${column.right === true ? 'right ' : ''}${column.mono === true ? 'mono' : ''}` }),
      );
      const element = h('div', { class: 'row', role: 'row' }, cells);
      element.style.gridTemplateColumns = this.template();
      this.pool.append(element);
      this.rows.push({ element, cells, row: -1 });
    }
    while (this.rows.length > needed) this.rows.pop()!.element.remove();
    for (const row of this.rows) row.row = -1;
    this.schedule();
  }

  private schedule(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.place();
    });
  }

  /** Which row is at the top, by where it is scrolled to. */
  private place(): void {
    const { length } = this.source;
    const height = Math.min(HIGHEST, length * ROW);
    const range = height - (this.scroll.clientHeight - HEAD);
    const last = Math.max(0, length - this.inSight);
    const top = this.scroll.scrollTop;
    // Not scaled: a row by its pixels. Scaled: by its share of the way.
    const first = length * ROW <= HIGHEST ? Math.floor(top / ROW) : Math.round((Math.min(top, range) / Math.max(1, range)) * last);
    this.first = Math.max(0, Math.min(first, last));
    this.draw(length * ROW <= HIGHEST ? this.first * ROW - top : 0);
    this.ask();
  }

  private ask(): void {
    const count = this.rows.length;
    if (count === 0) return;
    const has = this.window.from <= this.first && this.first + count <= this.window.from + this.window.texts.length;
    const atEnd = this.window.from + this.window.texts.length >= this.source.length && this.window.from <= this.first;
    if (has || (atEnd && this.window.texts.length > 0)) return;
    const from = Math.max(0, this.first - count);
    const source = this.source;
    source.request(from, count * 3, (window) => {
      if (source !== this.source) return;
      this.window = {
        from: window.from,
        numbers: window.numbers,
        texts: window.count === 0 ? [] : window.texts.split('\n').map((line) => line.split('\t')),
      };
      for (const row of this.rows) row.row = -1;
      this.schedule();
    });
  }

  private draw(shift: number): void {
    const { stride, length } = this.source;
    const top = Math.max(-ROW, Math.min(0, shift));
    for (let i = 0; i < this.rows.length; i += 1) {
      const row = this.first + i;
      // A row keeps its element while it is in sight, so that scrolling fills only what comes in.
      const pooled = this.rows[row % this.rows.length]!;
      const { element } = pooled;
      element.style.transform = `translateY(${i * ROW + top}px)`;
      if (pooled.row === row) continue;
      element.style.visibility = row < length ? 'visible' : 'hidden';
      const active = row === this.active;
      element.classList.toggle('active', active);
      element.setAttribute('aria-rowindex', String(row + 2));
      element.id = `${this.idPrefix}-${row}`;
      element.setAttribute('aria-selected', String(active));
      const at = row - this.window.from;
      const texts = this.window.texts[at];
      if (texts === undefined) {
        for (const cell of pooled.cells) cell.textContent = row < length ? '\u2007' : '';
        pooled.row = -1;
        continue;
      }
      pooled.row = row;
      const numbers = this.window.numbers.subarray(at * stride, (at + 1) * stride);
      this.columns.forEach((column, c) => {
        const cell = pooled.cells[c]!;
        const content = column.cell(numbers, texts);
        cell.textContent = content.text;
        cell.className = `${column.right === true ? 'right ' : ''}${column.mono === true ? 'mono ' : ''}${content.class ?? ''}`;
        if (content.title !== undefined) cell.title = content.title;
        else cell.removeAttribute('title');
      });
    }
    this.tellActive();
    if (this.window.texts.length > 0 && !this.drawnOnce) {
      this.drawnOnce = true;
      this.onDrawn();
    }
  }

  private tellActive(): void {
    const there = this.rows.some(({ row }) => row === this.active && row >= 0);
    if (there) this.scroll.setAttribute('aria-activedescendant', `${this.idPrefix}-${this.active}`);
    else this.scroll.removeAttribute('aria-activedescendant');
  }

  private click(event: Event): void {
    const element = event.target instanceof Element ? event.target.closest('.row') : null;
    const pooled = this.rows.find((row) => row.element === element);
    if (pooled !== undefined && pooled.row >= 0) this.setActive(pooled.row, true);
  }

  /** Makes a row the active one, and brings it into sight. */
  setActive(row: number, tell: boolean): void {
    this.active = row;
    for (const pooled of this.rows) {
      pooled.element.classList.toggle('active', pooled.row === row && row >= 0);
      pooled.element.setAttribute('aria-selected', String(pooled.row === row && row >= 0));
    }
    if (row >= 0) {
      if (row < this.first) this.scrollTo(row);
      else if (row >= this.first + this.inSight) this.scrollTo(row - this.inSight + 1);
    }
    this.tellActive();
    if (tell && row >= 0) this.told(row);
  }

  private told(row: number): void {
    const at = row - this.window.from;
    const texts = this.window.texts[at];
    if (texts !== undefined) {
      this.onActive(row, this.window.numbers.slice(at * this.source.stride, (at + 1) * this.source.stride), texts);
      return;
    }
    // Far away: its window is on the way.
    const source = this.source;
    setTimeout(() => {
      if (source === this.source && this.active === row) this.told(row);
    }, 60);
  }

  private scrollTo(first: number): void {
    const { length } = this.source;
    if (length * ROW <= HIGHEST) this.scroll.scrollTop = first * ROW;
    else {
      const range = HIGHEST - (this.scroll.clientHeight - HEAD);
      this.scroll.scrollTop = Math.round((first / Math.max(1, length - this.inSight)) * range);
    }
    // In a scaled grid the place of a row isn't exact to the pixel; the row itself is.
    this.first = Math.max(0, Math.min(first, length - this.inSight));
    this.schedule();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.scroll) return;
    const last = this.source.length - 1;
    if (last < 0) return;
    const page = this.inSight - 1;
    const from = this.active < 0 ? this.first - 1 : this.active;
    const to: Record<string, number> = {
      ArrowDown: from + 1,
      ArrowUp: Math.max(0, from - 1),
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: last,
    };
    const row = to[event.key];
    if (row !== undefined) {
      event.preventDefault();
      this.setActive(Math.max(0, Math.min(last, row)), true);
    } else if (event.key === 'Enter' && this.active >= 0) {
      event.preventDefault();
      this.onOpen(this.active);
    } else if (event.key === 'c' && this.active >= 0) {
      event.preventDefault();
      const texts = this.window.texts[this.active - this.window.from];
      if (texts !== undefined) this.onCopy(texts);
    }
  }

  /** The rows that are drawn, for tests and for measuring. */
  get drawn(): number {
    return this.rows.filter(({ row }) => row >= 0).length;
  }

  clear(): void {
    fill(this.pool);
    this.rows = [];
  }
}
