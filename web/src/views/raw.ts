// The bytes, linked with the fields: a field shows its bytes, a byte its field.
import type { App, View } from '../app';
import type { Field, Fields } from '../core/types';
import { brief, fill, h } from '../dom';
import { count, number } from '../quantity';
import type { Doc } from '../store';
import { failed, later } from './parts';

const LINE = 21;
const PER_LINE = 16;
const HIGHEST = 8_000_000;

export function raw(app: App, doc: Doc): View {
  const size = doc.summary.metadata_bytes;
  const lines = Math.ceil(size / PER_LINE);
  const pool = h('div', { class: 'lines' });
  const spacer = h('div', {});
  spacer.style.height = `${Math.min(HIGHEST, lines * LINE + 8)}px`;
  spacer.append(pool);
  const hex = h('div', { class: 'hex', tabindex: '0', role: 'group', 'aria-label': 'Bytes. Arrows move by a byte or a line; the field of the byte is told beside.' }, spacer);
  const list = h('ul', {});
  const fields = h('div', { class: 'side fields', tabindex: '0' }, h('h2', {}, 'Fields'), list);
  const where = h('span', { class: 'count', role: 'status' });
  const go = h('input', { type: 'text', placeholder: 'Offset, 0x1f4 or 500', 'aria-label': 'Go to offset', inputmode: 'numeric' });
  const element = h('div', { class: 'page full', 'data-view': 'raw' }, h('h1', { class: 'sr' }, 'Raw bytes'),
    h('form', { class: 'toolbar', onsubmit: (event) => { event.preventDefault(); const at = Number(go.value.trim()); if (Number.isSafeInteger(at) && at >= 0 && at < size) select(at, 1, true); else app.toast(`The file has ${number(size)} bytes`); } }, h('div', {}, go), h('button', { type: 'submit' }, 'Go'), where),
    h('div', { class: 'split' }, hex, fields));

  let first = 0;
  let bytes: { from: number; data: Uint8Array } = { from: 0, data: new Uint8Array() };
  let chosen: { at: number; length: number } | undefined;
  let cursor = 0;
  let token = 0;

  const inSight = (): number => Math.max(4, Math.ceil(hex.clientHeight / LINE) + 1);
  const scaled = lines * LINE > HIGHEST;
  const lineAt = (): number => {
    const range = Math.max(1, Math.min(HIGHEST, lines * LINE) - hex.clientHeight);
    return scaled ? Math.round((Math.min(hex.scrollTop, range) / range) * Math.max(0, lines - inSight() + 2)) : Math.floor(hex.scrollTop / LINE);
  };
  const draw = (): void => {
    const shown = Math.min(inSight(), lines - first);
    const shift = scaled ? 0 : first * LINE - hex.scrollTop;
    const out: Node[] = [];
    for (let i = 0; i < shown; i += 1) {
      const at = (first + i) * PER_LINE;
      const line = h('div', { class: 'hex-line' }, h('span', { class: 'offset' }, at.toString(16).padStart(7, '0')));
      line.style.transform = `translateY(${i * LINE + shift}px)`;
      const texts: Node[] = [];
      for (let b = 0; b < PER_LINE; b += 1) {
        const offset = at + b;
        const value = bytes.data[offset - bytes.from];
        const on = chosen !== undefined && offset >= chosen.at && offset < chosen.at + chosen.length;
        const mark = `${on ? ' on' : ''}${offset === cursor && !on ? ' edge' : ''}`;
        line.append(h('span', { class: `cellb${b === 8 ? ' half' : ''}${mark}`, 'data-at': offset }, value === undefined || offset >= size ? '  ' : value.toString(16).padStart(2, '0')));
        texts.push(h('span', { class: `asc${b === 0 ? ' first' : ''}${mark}`, 'data-at': offset }, value === undefined || offset >= size ? ' ' : value >= 32 && value < 127 ? String.fromCharCode(value) : '·'));
      }
      line.append(...texts);
      out.push(line);
    }
    pool.replaceChildren(...out);
  };
  const need = (): void => {
    const from = Math.max(0, (first - inSight()) * PER_LINE);
    const to = Math.min(size, (first + 2 * inSight()) * PER_LINE);
    const wantFrom = first * PER_LINE;
    const wantTo = Math.min(size, (first + inSight()) * PER_LINE);
    if (bytes.from <= wantFrom && bytes.from + bytes.data.length >= wantTo) return;
    const mine = ++token;
    void app.core.ask('bytes', { doc: doc.doc, from, to }).then((data) => {
      if (mine !== token) return;
      bytes = { from, data };
      draw();
    }, (error: unknown) => fill(list, h('li', {}, failed(error))));
  };
  const fieldsSoon = later(80);
  let listed = '';
  const list_ = (from: number, to: number): void => {
    const key = `${from}-${to}-${chosen?.at}-${chosen?.length}`;
    if (key === listed) return;
    listed = key;
    app.ask<Fields>(doc, 'fields', from, to).then((said) => {
      const all = said.fields;
      fill(list, all.slice(0, 600).map((field) => {
        const button = h('button', { type: 'button', 'aria-current': chosen !== undefined && field.at === chosen.at && field.length === chosen.length ? 'true' : null, 'data-at': field.at, 'data-length': field.length },
          h('span', { class: 'at' }, field.at.toString(16)), h('bdi', {}, brief(field.field, 160)), field.value == null ? null : h('span', { class: 'value' }, h('bdi', {}, brief(field.value, 160))));
        return h('li', {}, button);
      }), said.more || all.length > 600 ? h('li', { class: 'muted small' }, 'and more: scroll in the bytes') : null);
      list.querySelector('[aria-current="true"]')?.scrollIntoView({ block: 'nearest' });
    }, (error: unknown) => fill(list, h('li', {}, failed(error))));
  };
  const place = (): void => {
    first = Math.max(0, Math.min(lineAt(), lines - 1));
    draw();
    need();
    fieldsSoon(() => list_(first * PER_LINE, Math.min(size, (first + inSight() - 1) * PER_LINE)));
  };
  const bring = (offset: number): void => {
    const line = Math.floor(offset / PER_LINE);
    if (line >= first && line < first + inSight() - 2) return;
    const target = Math.max(0, line - 4);
    const range = Math.max(1, Math.min(HIGHEST, lines * LINE) - hex.clientHeight);
    hex.scrollTop = scaled ? (target / Math.max(1, lines - inSight() + 2)) * range : target * LINE;
    place();
  };
  const select = (at: number, length: number, move: boolean): void => {
    chosen = { at, length };
    cursor = at;
    where.textContent = `${count(length, 'byte', 'bytes')} at ${number(at)} (0x${at.toString(16)})`;
    if (move) bring(at);
    draw();
    for (const button of list.querySelectorAll<HTMLElement>('button')) {
      if (Number(button.dataset.at) === at && Number(button.dataset.length) === length) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    }
  };
  /** The innermost field around a byte. */
  const selectAround = (offset: number): void => {
    cursor = offset;
    bring(offset);
    app.ask<Fields>(doc, 'fields', offset, offset + 1).then((said) => {
      const all = said.fields.filter((field) => field.at <= offset && offset < field.at + field.length);
      const least = all.reduce<Field | undefined>((best, field) => (best === undefined || field.length <= best.length ? field : best), undefined);
      if (least === undefined) select(offset, 1, false);
      else {
        select(least.at, least.length, false);
        cursor = offset;
        where.textContent = `${brief(least.field, 80)}: ${count(least.length, 'byte', 'bytes')} at ${number(least.at)} (0x${least.at.toString(16)})`;
      }
      listed = '';
      list_(first * PER_LINE, Math.min(size, (first + inSight() - 1) * PER_LINE));
    }, (error: unknown) => fill(list, h('li', {}, failed(error))));
  };
  list.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>('button[data-at]') : null;
    if (button !== null) select(Number(button.dataset.at), Number(button.dataset.length), true);
  });
  pool.addEventListener('click', (event) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-at]') : null;
    if (cell !== null && Number(cell.dataset.at) < size) selectAround(Number(cell.dataset.at));
  });
  hex.addEventListener('keydown', (event) => {
    const by: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: PER_LINE, ArrowUp: -PER_LINE, PageDown: PER_LINE * (inSight() - 2), PageUp: -PER_LINE * (inSight() - 2), Home: -Infinity, End: Infinity };
    const step = by[event.key];
    if (step === undefined) return;
    event.preventDefault();
    selectAround(Math.max(0, Math.min(size - 1, cursor + step)));
  });
  let frame = 0;
  hex.addEventListener('scroll', () => {
    if (frame !== 0) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      place();
    });
  }, { passive: true });
  const observer = new ResizeObserver(place);
  observer.observe(hex);
  return {
    element,
    shown() {
      const { row } = app.wanted;
      app.wanted = {};
      if (row !== undefined) void app.ask<Fields>(doc, 'fieldsOfRow', row).then(({ fields: all }) => {
        const from = Math.min(...all.map(({ at }) => at));
        const to = Math.max(...all.map(({ at, length }) => at + length));
        if (all.length > 0) select(from, to - from, true);
      }, (error: unknown) => fill(list, h('li', {}, failed(error))));
      else place();
    },
    dispose: () => observer.disconnect(),
  };
}
