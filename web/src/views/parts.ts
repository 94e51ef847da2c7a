// Pieces that several views are made of.
import { CoreError } from '../core/client';
import { h, sentence, type Child } from '../dom';
import type { App } from '../app';

export type Level = 'ok' | 'warn' | 'bad' | 'info';

const SIGNS: Record<Level, string> = { ok: '✓', warn: '!', bad: '✕', info: 'i' };
const SPOKEN: Record<Level, string> = { ok: 'Good:', warn: 'Mind:', bad: 'Bad:', info: 'Note:' };

export function badge(level: Level): HTMLElement {
  return h('span', { class: `badge ${level}` }, h('span', { 'aria-hidden': 'true' }, SIGNS[level]), h('span', { class: 'sr' }, SPOKEN[level]));
}

export function verdict(level: Level, heading: Child, ...more: Child[]): HTMLElement {
  return h('div', { class: `verdict ${level}` }, badge(level), h('div', {}, h('h2', {}, heading), more.map((one) => (one === null || one === undefined || one === false ? null : h('p', {}, one)))));
}

export interface Part {
  value: number;
  /** Number of the colour. */
  colour: number;
}

/** A bar made of parts of `whole`. */
export function track(parts: readonly Part[], whole: number): HTMLElement {
  const bar = h('span', { class: 'track', 'aria-hidden': 'true' });
  for (const { value, colour } of parts) {
    if (value <= 0) continue;
    const piece = h('i', {});
    piece.style.width = `${(100 * value) / Math.max(1, whole)}%`;
    piece.style.background = `var(--b${colour})`;
    bar.append(piece);
  }
  return bar;
}

export function barRow(label: Child, value: Child, parts: readonly Part[], whole: number, click?: () => void): HTMLElement {
  const inner = [h('span', { class: 'label' }, label), h('span', { class: 'value' }, value), track(parts, whole)];
  return click === undefined ? h('div', { class: 'bar-row' }, inner) : h('button', { type: 'button', class: 'bar-row', onclick: click }, inner);
}

export function legend(kinds: readonly { words: Child; colour: number }[], shade: 'b' | 'k' = 'b'): HTMLElement {
  return h('div', { class: 'legend' }, kinds.map(({ words, colour }) => {
    const swatch = h('i', { class: 'swatch' });
    swatch.style.background = `var(--${shade}${colour})`;
    return h('span', {}, swatch, words);
  }));
}

export function copyButton(app: App, text: string, words = 'Copy'): HTMLElement {
  return h('button', { type: 'button', onclick: () => void app.copy(text) }, words);
}

/** Waits a moment before it does what was asked for last. */
export function later(milliseconds: number): (work: () => void) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (work) => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

export function failed(error: unknown): HTMLElement {
  const message = error instanceof Error ? error.message : String(error);
  // What the core refuses, it says so that a person knows what to do.
  if (error instanceof CoreError && error.code !== 'core') return verdict('warn', sentence(message));
  return verdict('bad', 'The core has no answer', message);
}
