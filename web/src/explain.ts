// Short explanations on hover and focus. One bubble for the page; Escape hides it.
import { h, type Child } from './dom';
import type { Core } from './core/client';

let terms: Record<string, string> = {};

export async function loadTerms(core: Core): Promise<void> {
  const said = JSON.parse(await core.ask('terms', {})) as Record<string, string> | { term: string; text: string }[];
  terms = Array.isArray(said) ? Object.fromEntries(said.map(({ term, text }) => [term, text])) : said;
}

const normal = (term: string): string => term.toLowerCase().replace(/[ -]/g, '_');

export function explanation(term: string): string | undefined {
  return terms[term] ?? terms[normal(term)] ?? terms[normal(term).replace(/s$/, '')];
}

const tip = h('div', { class: 'tip hidden', role: 'tooltip', id: 'tip' });
let shownFor: Element | undefined;

function place(anchor: Element): void {
  const box = anchor.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.max(12, Math.min(box.left, innerWidth - size.width - 12));
  const below = box.bottom + 8;
  const top = below + size.height > innerHeight - 8 ? Math.max(8, box.top - size.height - 8) : below;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

export function hideTip(): boolean {
  if (shownFor === undefined) return false;
  shownFor.removeAttribute('aria-describedby');
  shownFor = undefined;
  tip.classList.add('hidden');
  return true;
}

function show(anchor: HTMLElement): void {
  const text = anchor.dataset.text ?? explanation(anchor.dataset.term ?? '');
  if (text === undefined) return;
  hideTip();
  tip.textContent = text;
  tip.classList.remove('hidden');
  shownFor = anchor;
  anchor.setAttribute('aria-describedby', 'tip');
  place(anchor);
}

/** Listens on the whole page, so that a term needs no handler of its own. */
export function startTips(): void {
  document.body.append(tip);
  const anchorOf = (event: Event): HTMLElement | null => (event.target instanceof Element ? event.target.closest<HTMLElement>('[data-term],[data-text]') : null);
  document.addEventListener('mouseover', (event) => {
    const anchor = anchorOf(event);
    if (anchor !== null) show(anchor);
    else if (shownFor !== undefined && shownFor !== document.activeElement && !tip.contains(event.target as Node)) hideTip();
  });
  document.addEventListener('focusin', (event) => {
    const anchor = anchorOf(event);
    if (anchor !== null) show(anchor);
    else hideTip();
  });
  document.addEventListener('scroll', () => hideTip(), true);
}

/** Words with an explanation. `key` is the term's name, if the words are others. */
export function term(words: Child, key?: string): HTMLElement {
  const name = key ?? (typeof words === 'string' ? words : '');
  if (explanation(name) === undefined) return h('span', {}, words);
  return h('span', { class: 'term', tabindex: '0', 'data-term': name }, words);
}

/** Words with this explanation. */
export function explained(words: Child, text: string): HTMLElement {
  return h('span', { class: 'term', tabindex: '0', 'data-text': text }, words);
}
