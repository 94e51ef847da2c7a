// Bytes by operator → subtask → kind → file. Each cell is a button; arrows move to the nearest cell, Enter zooms in, Backspace out.
import { hierarchy, treemap as layout, treemapSquarify, type HierarchyRectangularNode } from 'd3-hierarchy';
import type { App, View } from '../app';
import type { TreeNode } from '../core/types';
import { brief, fill, h } from '../dom';
import { bytes, count, share } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import { failed, legend } from './parts';

interface Node extends Omit<TreeNode, 'kind' | 'children'> {
  kind: TreeNode['kind'] | 'others';
  children: Node[];
}

/** Children that aren't listed are one more cell, so that the areas stay true. */
function childrenOf(node: Node): Node[] | undefined {
  if (node.children.length === 0) return undefined;
  if (node.others_bytes === 0) return node.children;
  const left = node.child_count - node.children.length;
  return [...node.children, { key: `${node.key}/others`, name: `${count(left, 'other', 'others')}`, kind: 'others', bytes: node.others_bytes, handles: left, row: null, children: [], child_count: 0, others_bytes: 0 }];
}

/** Nobody can read more cells than that, and a browser draws so many at once. */
const MOST_CELLS = 700;

const KIND: Record<string, string> = { snapshot: 'all', operator: 'operator', subtask: 'subtask', role: 'kind', handle: 'file', others: 'the rest' };

function label(node: Node): string {
  if (node.kind === 'snapshot') return 'All operators';
  if (node.kind === 'role') return words.role(node.name);
  if (node.kind === 'subtask') return node.name.charAt(0).toUpperCase() + node.name.slice(1);
  if (node.kind === 'handle') return brief(node.name.split('/').at(-1) ?? node.name, 80);
  return brief(node.name, 120);
}

export function treemap(app: App, doc: Doc): View {
  const crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Where you are in the treemap' });
  const map = h('div', { class: 'treemap', role: 'group', 'aria-label': 'Bytes by operator, subtask, kind and file' });
  const note = h('p', { class: 'tree-note' }, h('span', { role: 'status' }), h('span', { class: 'muted small' }, h('kbd', {}, 'Enter'), ' zooms in, ', h('kbd', {}, 'Backspace'), ' out, arrows move'));
  const element = h('div', { class: 'page full', 'data-view': 'treemap' },
    h('h1', { class: 'sr' }, 'Treemap'), crumbs, map, note,
    legend(Object.keys(doc.summary.state).map((kind) => ({ words: words.role(kind), colour: words.colour(kind) })), 'k'));
  const path: Node[] = [];
  let token = 0;

  const roleOf = (node: HierarchyRectangularNode<Node>): string | undefined => {
    for (let at: HierarchyRectangularNode<Node> | null = node; at !== null; at = at.parent) if (at.data.kind === 'role') return at.data.name;
    return [...path].reverse().find(({ kind }) => kind === 'role')?.name;
  };

  const draw = (): void => {
    const at = path.at(-1);
    if (at === undefined) return;
    const { clientWidth: width, clientHeight: height } = map;
    if (width === 0 || height === 0) return;
    const root = hierarchy(at, childrenOf).sum((node) => (node.children.length === 0 ? Math.max(0, node.bytes) : 0)).sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    const placed = layout<Node>().tile(treemapSquarify.ratio(1.4)).size([width, height]).paddingInner(1).paddingOuter((node) => (node.depth === 0 ? 0 : 2)).paddingTop((node) => (node.depth === 0 ? 0 : node.x1 - node.x0 < 40 ? 2 : 20)).round(true)(root);
    const cells = placed.descendants().filter((node) => node.depth > 0 && node.x1 - node.x0 > 3 && node.y1 - node.y0 > 3).slice(0, MOST_CELLS);
    // A cell that has the focus keeps it when the map is drawn anew, after a change of its size.
    const focused = document.activeElement instanceof HTMLElement && map.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    fill(map, cells.map((node) => {
      const { data } = node;
      const [w, high] = [node.x1 - node.x0, node.y1 - node.y0];
      const parent = node.children !== undefined;
      const deep = data.kind !== 'others' && data.kind !== 'handle' && data.child_count > 0;
      const kind = roleOf(node) ?? (node.children?.length === 1 ? node.children[0]!.data.name : undefined);
      const rest = `${KIND[data.kind] ?? data.kind}, ${share(data.bytes, path[0]!.bytes)} of all${data.handles > 1 ? `, ${count(data.handles, 'handle', 'handles')}` : ''}`;
      const said = `${label(data)}, ${bytes(data.bytes)}: ${rest}`;
      // What doesn't fit is there for those who can't see it.
      const fits = w > 44 && high > 17;
      const sizeFits = fits && (parent ? w > 190 : w > 60 && high > 38);
      const cell = h('button', { type: 'button', class: `cell${deep ? ' deep' : ''}${parent ? ' parent' : ''}`, 'data-key': data.key, 'data-said': said, tabindex: '-1' },
        parent && sizeFits ? h('span', { class: 'line' }, h('i', {}, label(data)), h('i', { class: 'size' }, ` · ${bytes(data.bytes)}`)) : h('span', { class: fits ? '' : 'sr' }, label(data)),
        parent && sizeFits ? null : h('span', { class: sizeFits ? '' : 'sr' }, bytes(data.bytes)),
        h('span', { class: 'sr' }, rest));
      cell.style.left = `${node.x0}px`;
      cell.style.top = `${node.y0}px`;
      cell.style.width = `${w}px`;
      cell.style.height = `${high}px`;
      cell.style.background = parent ? 'var(--surface)' : `var(--k${kind === undefined ? 6 : words.colour(kind)})`;
      cell.addEventListener('click', () => into(data));
      cell.addEventListener('focus', () => tell(said));
      cell.addEventListener('mouseenter', () => tell(said));
      return cell;
    }));
    if (cells.length === 0) fill(map, h('p', { class: 'page muted' }, 'There are no bytes to show.'));
    const kept = focused === undefined ? undefined : [...map.querySelectorAll<HTMLElement>('.cell')].find((one) => one.dataset.key === focused);
    (kept ?? map.querySelector<HTMLElement>('.cell'))?.setAttribute('tabindex', '0');
    tell(`${label(at)}: ${bytes(at.bytes)}${at.handles > 0 ? ` in ${count(at.handles, 'handle', 'handles')}` : ''}`);
    kept?.focus();
  };
  const tell = (text: string): void => {
    note.firstElementChild!.textContent = text;
  };
  const drawCrumbs = (): void => fill(crumbs, path.map((node, i) => [i === 0 ? null : h('span', { class: 'muted', 'aria-hidden': 'true' }, '›'),
    i === path.length - 1 ? h('strong', { 'aria-current': 'location' }, node.kind === 'snapshot' ? 'All operators' : label(node)) : h('button', { type: 'button', class: 'quiet', onclick: () => { path.length = i + 1; void reload(); } }, node.kind === 'snapshot' ? 'All operators' : label(node))]));
  const show = (focus: boolean): void => {
    drawCrumbs();
    draw();
    if (focus) map.querySelector<HTMLElement>('.cell[tabindex="0"]')?.focus();
  };
  const into = (node: Node): void => {
    if (node.kind === 'handle') {
      if (node.row !== null) app.go('files', { text: node.name.split('/').at(-1) ?? node.name });
      return;
    }
    if (node.kind === 'others') return;
    const mine = ++token;
    void load(node.key).then((full) => {
      if (mine !== token || full.children.length === 0) return;
      // A cell further down is reached through those around it, which the path must have too.
      for (;;) {
        const around = path.at(-1)!.children.find((child) => node.key.startsWith(`${child.key}/`));
        if (around === undefined) break;
        path.push(around);
      }
      path.push(full);
      show(true);
    }, (error: unknown) => fill(map, failed(error)));
  };
  const reload = async (): Promise<void> => {
    const at = path.at(-1)!;
    const full = await load(at.key);
    if (path.at(-1) !== at) return;
    path[path.length - 1] = full;
    show(true);
  };
  const out = (): boolean => {
    if (path.length < 2) return false;
    path.pop();
    void reload();
    return true;
  };
  const nodes = (node: Node): number => node.children.reduce((sum, child) => sum + nodes(child), 1);
  /** As deep as can be seen: a small checkpoint down to its files. */
  const load = async (under: string): Promise<Node> => {
    let node = await app.ask<Node>(doc, 'tree', 2, under);
    for (let depth = 3; depth <= 4 && nodes(node) < MOST_CELLS / 6; depth += 1) node = await app.ask<Node>(doc, 'tree', depth, under);
    return node;
  };

  map.addEventListener('keydown', (event) => {
    const from = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('.cell') : null;
    if (from === null) return;
    if (event.key === 'Backspace') {
      event.preventDefault();
      out();
      return;
    }
    const direction: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const way = direction[event.key];
    if (way === undefined) return;
    event.preventDefault();
    const middle = (cell: HTMLElement): [number, number] => [cell.offsetLeft + cell.offsetWidth / 2, cell.offsetTop + (cell.classList.contains('parent') ? 11 : cell.offsetHeight / 2)];
    const [x, y] = middle(from);
    let best: HTMLElement | undefined;
    let least = Infinity;
    for (const cell of map.querySelectorAll<HTMLElement>('.cell')) {
      if (cell === from) continue;
      const [cx, cy] = middle(cell);
      const along = (cx - x) * way[0] + (cy - y) * way[1];
      const across = Math.abs((cx - x) * way[1]) + Math.abs((cy - y) * way[0]);
      const cost = along + 2 * across;
      if (along > 1 && cost < least) {
        least = cost;
        best = cell;
      }
    }
    if (best === undefined) return;
    for (const one of map.querySelectorAll<HTMLElement>('.cell[tabindex="0"]')) one.tabIndex = -1;
    best.tabIndex = 0;
    best.focus();
  });

  const observer = new ResizeObserver(() => draw());
  observer.observe(map);
  void load('').then((root) => {
    path.push(root);
    show(false);
  }, (error: unknown) => fill(map, failed(error)));
  return { element, shown: draw, escape: out, dispose: () => observer.disconnect() };
}
