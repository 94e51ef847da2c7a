// A report in one HTML file: what the first view says, the operators, the directories. Made of the same element builder as the page, so
// names are text in it as well; no script in it, and a policy that forbids everything.
import { brief, h, type Child } from '../dom';
import { bytes, count, number, share } from '../quantity';
import type { Doc } from '../store';
import type { Summary } from '../core/types';
import * as words from '../words';

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d1b19;background:#fff}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.05rem;margin:1.8rem 0 .5rem}table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:start;padding:.35rem .7rem .35rem 0;border-bottom:1px solid #ddd;vertical-align:top;overflow-wrap:anywhere}td.n,th.n{text-align:end;white-space:nowrap}
code,bdi{overflow-wrap:anywhere}.m{color:#5c5854}@media(prefers-color-scheme:dark){body{background:#131618;color:#e9e7e4}th,td{border-color:#333}.m{color:#a7aaac}}`;

function table(heads: [string, boolean][], rows: Child[][]): HTMLElement {
  return h('table', {}, h('thead', {}, h('tr', {}, heads.map(([text, right]) => h('th', { class: right ? 'n' : null, scope: 'col' }, text)))),
    h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) => h('td', { class: heads[i]![1] ? 'n' : null }, cell))))));
}

/** `summary` is the document's own, or the core's without names. */
export function report(doc: Doc, summary: Summary, redacted: boolean): string {
  const total = words.totalBytes(summary);
  const operators = [...summary.operators].sort((a, b) => words.operatorBytes(b) - words.operatorBytes(a));
  const body = h('body', {},
    h('h1', {}, `${words.kindOf(summary)} ${summary.checkpoint_id}, written by ${words.releases(summary)}`),
    h('p', { class: 'm' }, redacted ? 'A _metadata file' : h('bdi', {}, brief(doc.name, 300)), summary.at === null ? '' : [' in ', h('bdi', {}, brief(summary.at, 600))]),
    h('p', {}, `${bytes(total)} of state (${number(total)} bytes) in ${count(summary.objects.total.objects, 'file', 'files')} and ${bytes(summary.inlined.bytes)} inlined; ${count(summary.operators.length, 'operator', 'operators')}; format ${summary.format_version}; _metadata of ${number(summary.metadata_bytes)} bytes, read to its end.`),
    h('p', {}, summary.relocatable.answer ? 'It can be moved as a directory.' : 'It can’t be moved by copying its directory: it names files by absolute paths or whole directories.'),
    h('h2', {}, 'Directories that it needs'),
    table([['Directory', false], ['Whose', false], ['Files', true], ['Bytes', true]], summary.objects.by_directory.map((one) => [h('bdi', {}, brief(one.directory || 'beside _metadata', 1000)), words.whose(one.whose), number(one.objects), bytes(one.bytes)])),
    h('h2', {}, 'Operators'),
    table([['Operator', false], ['Id', false], ['Parallelism', true], ['Bytes', true], ['Share', true]], operators.map((one) => [h('bdi', {}, brief(one.name ?? one.uid ?? '–', 300)), h('code', {}, one.id), `${one.parallelism} of ${one.max_parallelism}`, bytes(words.operatorBytes(one)), share(words.operatorBytes(one), total)])),
    summary.features.length === 0 ? null : [h('h2', {}, 'Recognised'), h('p', {}, summary.features.map(words.feature).join(', '))],
    h('p', { class: 'm' }, `Made by the Stayput inspector, in the browser.${redacted ? ' Names of buckets, directories, files and operators are replaced: the same name has the same replacement.' : ''}`));
  const page = h('html', { lang: 'en' },
    h('head', {}, h('meta', { charset: 'utf-8' }), h('meta', { 'http-equiv': 'Content-Security-Policy', content: "default-src 'none'; style-src 'unsafe-inline'" }), h('title', {}, `${words.kindOf(summary)} ${summary.checkpoint_id}`), h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }), h('style', {}, STYLE)),
    body);
  // The serializer escapes text and attributes.
  return `<!doctype html>\n${page.outerHTML}\n`;
}
