// What is open and what is looked at. The URL's hash keeps the view and how it is arranged; never anything out of a file.
import type { Reading, Summary } from './core/types';

export const VIEWS = [
  { id: 'glance', title: 'At a glance' },
  { id: 'operators', title: 'Operators' },
  { id: 'files', title: 'Files' },
  { id: 'treemap', title: 'Treemap' },
  { id: 'breaks', title: 'What breaks if…' },
  { id: 'exists', title: 'Is it all there?' },
  { id: 'rules', title: 'Lifecycle rules' },
  { id: 'compare', title: 'Compare' },
  { id: 'raw', title: 'Raw bytes' },
] as const;

export type ViewId = (typeof VIEWS)[number]['id'];

/** An open checkpoint. */
export interface Doc {
  /** Of the page; other than the worker's number it stays when the place is changed. */
  readonly key: number;
  /** Of the worker. */
  doc: number;
  name: string;
  file: Blob;
  at: string | undefined;
  summary: Summary;
  readMs: number;
  parseMs: number;
}

/** A file that could not be opened, or what is to be said of what was dropped. */
export interface Problem {
  readonly key: number;
  name: string;
  /** Only said; nothing went wrong. */
  note?: boolean;
  reading: Reading | { reading: 'failed'; message: string };
  /** What an HA pointer points to, if it is one. */
  pointer?: unknown;
  file?: Blob;
  at?: string | undefined;
}

export interface Listing {
  listing: number;
  name: string;
  /** What it was read from: when the core is started anew, it is read again. */
  source: Blob;
  /** JSON of the core about it. */
  describe: Record<string, unknown>;
}

export interface State {
  docs: Doc[];
  current: number | null;
  view: ViewId;
  problems: Problem[];
  listing: Listing | null;
  /** The rules that were dropped or pasted. */
  rules: { text: string; name: string } | null;
}

type Listener = (state: State, changed: ReadonlySet<keyof State>) => void;

export class Store {
  readonly state: State = { docs: [], current: null, view: 'glance', problems: [], listing: null, rules: null };
  private listeners: Listener[] = [];

  on(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const key of Object.keys(change) as (keyof State)[]) {
      if (this.state[key] !== change[key]) changed.add(key);
    }
    if (changed.size === 0) return;
    Object.assign(this.state, change);
    for (const listener of this.listeners) listener(this.state, changed);
  }

  get doc(): Doc | undefined {
    return this.state.docs.find((doc) => doc.key === this.state.current);
  }
}

/** What the hash may keep. */
export interface Kept {
  view: ViewId;
  /** Column and direction of the files. */
  sort: string | null;
  descending: boolean;
  role: string | null;
}

const COLUMN = /^[a-z_]{1,20}$/;

export function readHash(hash: string): Kept {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const view = VIEWS.find(({ id }) => id === parameters.get('view'))?.id ?? 'glance';
  const sort = parameters.get('sort');
  const role = parameters.get('role');
  return {
    view,
    sort: sort !== null && COLUMN.test(sort) ? sort : null,
    descending: parameters.get('order') === 'down',
    role: role !== null && /^[a-z_.]{1,60}$/.test(role) ? role : null,
  };
}

export function writeHash(kept: Kept): string {
  const parameters = new URLSearchParams({ view: kept.view });
  if (kept.sort !== null) {
    parameters.set('sort', kept.sort);
    if (kept.descending) parameters.set('order', 'down');
  }
  if (kept.role !== null) parameters.set('role', kept.role);
  return `#${parameters.toString()}`;
}
