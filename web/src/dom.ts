// Elements out of values. Text from files becomes text nodes only; there is no way in here for markup.

export type Child = Node | string | number | null | undefined | false | readonly Child[];

type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };

export interface Attributes extends Handlers {
  class?: string | null;
  id?: string | null;
  /** Any other attribute; null, undefined and false leave it out, true sets it empty. */
  [name: string]: unknown;
}

function append(parent: Node, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (child instanceof Node) parent.appendChild(child);
  else if (typeof child === 'string' || typeof child === 'number') parent.appendChild(document.createTextNode(String(child)));
  else for (const one of child) append(parent, one);
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') {
      element.addEventListener(name.slice(2), value as EventListener);
    } else {
      element.setAttribute(name === 'class' ? 'class' : name, value === true ? '' : String(value));
    }
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  append(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  append(element, children);
  return element;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Characters that hide, reorder or break text. */
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

/** Text that others chose, so that nothing in it acts: as the command shows it. */
export function shown(text: string): string {
  return text.replace(UNSAFE, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A sentence begins with a capital letter, but a name or an address at its beginning stays as it is. */
export function sentence(text: string): string {
  return /^[a-z]+(?=[\s,;.!?’']|:\s)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

const LONGEST = 400;

/** The same, shortened in the middle: a name of 65,535 bytes would hide the rest. */
export function brief(text: string, longest = LONGEST): string {
  if (text.length <= longest) return shown(text);
  const head = Math.floor(longest * 0.6);
  const tail = longest - head;
  const left = (text.length - longest).toLocaleString('en');
  return `${shown(text.slice(0, head))} … ${left} characters … ${shown(text.slice(-tail))}`;
}

/** Lines of text that others chose, as they are to be read; what is copied is the text itself. */
export function block(text: string): string {
  return text.split('\n').map(shown).join('\n');
}

/** Thousands are set apart in amounts that the core wrote, but not in what it quotes. */
function amounts(text: string): string {
  return text.replace(/"[^"]*"|(?<![\w.,:/-])(\d{4,15})(?= (?:bytes|days|objects|files|handles)\b)/g, (found, n?: string) => (n === undefined ? found : Number(n).toLocaleString('en')));
}

/** A sentence of the core: what stands between backticks is code. */
export function prose(text: string, longest = 900): Child {
  const parts = brief(text, longest).split('`');
  if (parts.length % 2 === 0) return amounts(parts.join('`'));
  return parts.map((part, i) => (i % 2 === 1 ? h('code', {}, part) : amounts(part)));
}

/** A name out of a file. Its own direction doesn't leak into the line. */
export function name(text: string, attributes: Attributes = {}): HTMLElement {
  return h('bdi', { ...attributes, class: `name ${attributes.class ?? ''}` }, brief(text));
}
