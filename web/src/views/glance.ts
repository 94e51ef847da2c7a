// The first view: what it is, whether it is whole, whether it needs others; then numbers; then detail.
import type { App, View } from '../app';
import type { Amount, Check, Glance as Whole, Summary } from '../core/types';
import { brief, h, name, prose, type Child } from '../dom';
import { explained, term } from '../explain';
import type { Opening } from '../open/opening';
import { bytes, count, number, share } from '../quantity';
import type { Doc } from '../store';
import * as words from '../words';
import { levelOf } from './exists';
import { badge, barRow, type Level } from './parts';
import { placeForm } from './place';

type Glance = Pick<Whole, 'features' | 'relocatable' | 'relocatable_because'> & { new_bytes: Whole['new_bytes'] | null };

const DISCARDED: Record<string, string> = { subsumed: 'a newer one is there', finished: 'the job finishes', cancelled: 'the job is cancelled', failed: 'the job fails', suspended: 'the job is suspended' };

const cap = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function line(level: Level, sentence: Child, sub?: Child): HTMLElement {
  return h('li', {}, badge(level), h('div', {}, sentence, sub === undefined || sub === null ? null : h('span', { class: 'sub' }, sub)));
}

function headline(summary: Summary): string {
  const kind = words.kindOf(summary);
  const form = summary.properties?.savepoint_format;
  const how = summary.kind?.savepoint === true ? (form ? (form === 'NATIVE' ? ['native'] : ['canonical']) : summary.features.includes('canonical_savepoint') ? ['canonical'] : [])
    : [summary.features.includes('incremental_keyed_state') ? 'incremental' : '', summary.features.includes('changelog') ? 'changelog' : '', summary.features.includes('unaligned') ? 'unaligned' : ''].filter(Boolean);
  const what = [...how, kind.toLowerCase()].join(' ');
  return `${what.charAt(0).toUpperCase()}${what.slice(1)} ${summary.checkpoint_id}, written by ${words.releases(summary)}`;
}

const elsewhere = (summary: Summary): (Amount & { whose: string; directory: string })[] => summary.objects.by_directory.filter(({ whose }) => whose !== 'own' && whose !== 'unknown');

function whole(app: App, summary: Summary, check: Check | undefined): HTMLElement {
  return line('ok', h('span', {}, 'The file is whole: all ', number(summary.metadata_bytes), ' bytes were understood.'),
    check !== undefined ? null : h('span', {}, 'Whether the files that it names still exist is another question: ', h('button', { type: 'button', class: 'link', onclick: () => app.go('exists') }, 'hold it against a listing of the bucket'), '.'));
}

/** What the listing that is open says of it. */
function there(app: App, check: Check): HTMLElement {
  return line(levelOf(check), prose(check.sentence), h('span', {}, 'By the listing that is open. ', h('button', { type: 'button', class: 'link', onclick: () => app.go('exists') }, 'See which files')));
}

function depends(app: App, summary: Summary): HTMLElement {
  const { objects } = summary;
  const total = objects.total;
  if (total.objects === 0 && objects.named_directory_count === 0) return line('ok', 'It needs no other file: all state lies in _metadata itself.');
  if (summary.at === null) {
    if (summary.relocatable.answer) return line('ok', 'It is self-contained: every file it needs is named relative to its own directory.');
    const { absolute_handles: absolute } = summary.relocatable;
    return line('warn', h('span', {}, `It names files by absolute paths (${count(absolute, 'handle', 'handles')}), in ${count(objects.by_directory.length + objects.directories_left_out, 'directory', 'directories')}.`),
      'Which of them are its own and which belong to other jobs shows once you say where it lies, below.');
  }
  const others = elsewhere(summary);
  const sum = others.reduce((all, one) => ({ bytes: all.bytes + one.bytes, objects: all.objects + one.objects }), { bytes: 0, objects: 0 });
  if (others.length === 0 && objects.unnameable === 0) {
    return line('ok', 'It is self-contained: everything it needs lies in its own job directory.', summary.relocatable.answer ? null : 'That includes files of earlier checkpoints of the same job, in shared/.');
  }
  const buckets = others.some(({ whose }) => whose === 'other_bucket');
  const named = others.length === 1 && objects.directories_left_out === 0 ? h('span', {}, 'one other directory: ', name(others[0]!.directory)) : `${count(others.length + objects.directories_left_out, 'other directory', 'other directories')}${buckets ? ', some in another bucket' : ''}`;
  return line('warn',
    h('span', {}, 'It needs ', h('strong', {}, count(sum.objects, 'file', 'files')), ` (${share(sum.bytes, total.bytes)} of the bytes) in `, named, '.'),
    h('span', {}, `It can’t be restored without them. Deleting ${others.length + objects.directories_left_out === 1 ? 'that directory, or a lifecycle rule on it,' : 'one of them, or a lifecycle rule on it,'} breaks this `, summary.kind?.savepoint === true ? 'savepoint. ' : 'checkpoint. ',
      h('button', { type: 'button', class: 'link', onclick: () => app.go('rules') }, 'Check the rules')));
}

function moves(summary: Summary, glance: Glance): HTMLElement {
  const because = glance.relocatable_because;
  return line(glance.relocatable ? 'ok' : 'info', h('span', {}, glance.relocatable ? 'It can be moved' : 'It can’t be moved by copying its directory', ': ', because, '.'),
    summary.relocatable.relative_handles > 0 && !glance.relocatable ? `${count(summary.relocatable.relative_handles, 'handle is', 'handles are')} relative, ${count(summary.relocatable.absolute_handles, 'is', 'are')} absolute.` : null);
}

function figures(summary: Summary, glance: Glance): HTMLElement {
  const total = summary.objects.total;
  const own = words.ownExclusive(summary);
  const subtasks = summary.operators.reduce((sum, operator) => sum + operator.subtasks, 0);
  const finished = summary.operators.filter((operator) => operator.fully_finished).length;
  const cell = (label: Child, value: Child, sub: Child): HTMLElement => h('div', {}, h('dt', {}, label), h('dd', {}, value), h('dd', { class: 'sub' }, sub));
  const exact = (n: number): string => (n < 1024 ? '' : `${number(n)} bytes`);
  return h('dl', { class: 'figures' },
    cell(explained('Full size', 'Everything that a restore reads: the files that it names, each once, and the state inside _metadata.'), h('span', { 'data-figure': 'bytes', 'data-value': words.totalBytes(summary) }, bytes(words.totalBytes(summary))), total.changelog > 0 ? 'changelog counted uncompressed' : total.of_unknown_length > 0 ? `${count(total.of_unknown_length, 'file', 'files')} of unknown size besides` : exact(words.totalBytes(summary))),
    glance.new_bytes === null ? null : cell(explained('New in it', 'What this snapshot added, as Flink counts it (checkpointed size): of incremental state only what was uploaded for it, of anything else all of it.'), glance.new_bytes.not_said > 0 && glance.new_bytes.bytes === 0 ? 'not said' : `${glance.new_bytes.not_said > 0 ? '≥ ' : ''}${bytes(glance.new_bytes.bytes)}`, glance.new_bytes.not_said > 0 ? `${count(glance.new_bytes.not_said, 'handle doesn’t', 'handles don’t')} say it` : glance.new_bytes.bytes === words.totalBytes(summary) ? 'all of it' : `${share(glance.new_bytes.bytes, words.totalBytes(summary))} of it`),
    cell(term('In its own directory', 'exclusive'), bytes(own.bytes), `${count(own.objects, 'file', 'files')} only it has`),
    cell('Files', h('span', { 'data-figure': 'objects', 'data-value': total.objects }, number(total.objects)), `named by ${count(summary.objects.handles, 'handle', 'handles')}`),
    cell('Operators', h('span', { 'data-figure': 'operators', 'data-value': summary.operators.length }, number(summary.operators.length)), `${count(subtasks, 'subtask', 'subtasks')}${finished > 0 ? `, ${number(finished)} finished` : ''}`),
    cell(term('Inlined', 'inlined'), h('span', { 'data-figure': 'inlined', 'data-value': summary.inlined.bytes }, bytes(summary.inlined.bytes)), `in ${count(summary.inlined.handles, 'handle', 'handles')}`));
}

function byOperator(app: App, summary: Summary): HTMLElement {
  const list = summary.operators.map((operator, at) => ({ operator, at, total: words.operatorBytes(operator) })).sort((a, b) => b.total - a.total);
  const whole = list.reduce((sum, { total }) => sum + total, 0);
  const most = list.slice(0, 6);
  const rest = list.slice(6).filter(({ total }) => total > 0);
  return h('section', { class: 'card' }, h('h2', {}, 'Which operator holds most of it'),
    h('div', { class: 'bars' },
      most.map(({ operator, total }) =>
        barRow(h('bdi', {}, brief(words.operatorName(operator), 90)), total === 0 ? 'no state' : `${bytes(total)} · ${share(total, whole)}`,
          Object.entries(operator.state).map(([kind, held]) => ({ value: held.bytes + held.inlined_bytes, colour: words.colour(kind) })), whole, () => app.go('operators', { operator: operator.id }))),
      rest.length === 0 ? null : h('p', { class: 'small muted' }, `and ${count(rest.length, 'smaller one', 'smaller ones')}: ${bytes(rest.reduce((sum, { total }) => sum + total, 0))}`)),
    apart(summary, whole),
    list.some(({ operator }) => operator.name !== null || operator.uid !== null) || list.length === 0 ? null : h('p', { class: 'small muted spaced' }, 'Files of this format have no names of operators, only ids: what Flink makes of an operator’s uid.'));
}

/** Where operators together have more or less than the whole, it says why. */
function apart(summary: Summary, sum: number): Child {
  const total = words.totalBytes(summary);
  if (Math.abs(total - sum) < 0.02 * total) return null;
  return h('p', { class: 'small muted spaced' }, sum < total
    ? `Together ${bytes(sum)}: parts of merged files. The files also hold parts that it doesn’t need, so that it keeps ${bytes(total)}.`
    : `Together ${bytes(sum)}: files that several operators need count for each of them.`);
}

function byDirectory(app: App, doc: Doc, opening: Opening): HTMLElement {
  const { summary } = doc;
  const whole = Math.max(1, summary.objects.total.bytes);
  const list = summary.objects.by_directory;
  return h('section', { class: 'card' }, h('h2', {}, 'Where the files lie'),
    h('div', { class: 'bars' },
      list.slice(0, 8).map((one) => h('div', { class: 'bar-row' },
        h('span', { class: 'label wrap across' }, name(one.directory === '' ? 'beside _metadata' : one.directory)),
        h('span', { class: 'muted small' }, cap(words.whose(one.whose))),
        h('span', { class: 'value' }, `${bytes(one.bytes)} · ${count(one.objects, 'file', 'files')}`),
        bar(one.bytes, whole, one.whose === 'own' ? 0 : 3))),
      list.length > 8 || summary.objects.directories_left_out > 0 ? h('p', { class: 'small muted' }, `and ${count(list.length - Math.min(8, list.length) + summary.objects.directories_left_out, 'more directory', 'more directories')}`) : null,
      list.length === 0 ? h('p', { class: 'muted' }, 'It names no files.') : null),
    summary.objects.named_directory_count === 0 ? null : h('details', { class: 'spaced' }, h('summary', {}, `${count(summary.objects.named_directory_count, 'directory is', 'directories are')} named as a whole, for merged files`), h('ul', { class: 'stack small' }, summary.objects.named_directories.map(({ path }) => h('li', {}, name(path)))),
      summary.objects.named_directory_count > summary.objects.named_directories.length ? h('p', { class: 'small muted' }, `and ${number(summary.objects.named_directory_count - summary.objects.named_directories.length)} more`) : null),
    placeForm(app, doc, opening));
}

function bar(value: number, whole: number, colour: number): HTMLElement {
  const piece = h('i', {});
  piece.style.width = `${(100 * value) / whole}%`;
  piece.style.background = `var(--b${colour})`;
  return h('span', { class: 'track', 'aria-hidden': 'true' }, value > 0 ? piece : null);
}

function recorded(summary: Summary, glance: Glance): HTMLElement {
  const facts: [Child, Child][] = [
    [explained('Format', 'The version of the layout of _metadata. Each release writes exactly one; newer releases read older formats.'), `${summary.format_version}, written by ${words.releases(summary)}`],
    ['Kind', summary.kind === null ? 'files of this format don’t say whether it is a checkpoint or a savepoint' : `${summary.kind.savepoint ? 'savepoint' : 'checkpoint'}, known from its ${summary.kind.known_from}`],
  ];
  const properties = summary.properties;
  if (properties !== null) {
    facts.push(['Type', properties.type]);
    if (properties.savepoint_format) facts.push(['Savepoint format', term(properties.savepoint_format.toLowerCase(), properties.savepoint_format.toLowerCase())]);
    if (properties.sharing_files) facts.push([explained('Sharing', 'Which way files are shared: forward and backward in incremental checkpoints; a full one is shared by later ones only.'), properties.sharing_files.toLowerCase().replace(/_/g, ' ')]);
    facts.push(['Flink deletes it when', properties.discarded_when.length === 0 ? 'never by itself' : properties.discarded_when.map((when) => DISCARDED[when] ?? when).join(', or ')]);
    if (properties.unclaimed) facts.push([term('Restored with', 'claim'), 'NO_CLAIM']);
  } else facts.push([explained('Properties', 'What Flink records since 1.16 of why a snapshot was taken and when it deletes it.'), 'not recorded before Flink 1.16']);
  if (summary.master_states.length > 0) facts.push(['Master states', summary.master_states.map((state) => h('div', {}, name(state.name), ` ${bytes(state.bytes)}`))]);
  return h('section', { class: 'card' }, h('h2', {}, 'What Flink recorded'), h('dl', { class: 'facts' }, facts.map(([key, value]) => [h('dt', {}, key), h('dd', {}, value)])),
    h('h2', { class: 'spaced' }, 'Recognised'),
    glance.features.length === 0 ? h('p', { class: 'muted' }, 'No special features.') : h('ul', { class: 'chips' }, glance.features.map(({ name: key, meaning }) => h('li', { class: 'chip' }, explained(words.feature(key), meaning)))));
}

/** What nobody can see from outside, said rather than left out. */
function opaque(summary: Summary): HTMLElement {
  const list = [
    'The values of the state: they need the job’s own serializers. Only where they lie is read here.',
    'Whether files exist and are undamaged: that shows a listing of the bucket.',
    ...(summary.objects.total.of_unknown_length > 0 ? [`The size of ${count(summary.objects.total.of_unknown_length, 'file', 'files')}: no handle says it.`] : []),
    ...(summary.operators.some((operator) => 'raw_operator' in operator.state || 'managed_operator' in operator.state) ? ['What sinks keep inside operator state, such as uploads in progress.'] : []),
    ...(summary.format_version < 5 ? ['Names and uids of operators: this format has only their ids.'] : []),
    ...(summary.objects.unnameable > 0 ? [`${count(summary.objects.unnameable, 'path', 'paths')} that can’t be the place of any file.`] : []),
  ];
  return h('section', { class: 'card' }, h('h2', {}, 'What can’t be seen from here'), h('ul', { class: 'bars' }, list.map((text) => h('li', {}, text))));
}

export function glance(app: App, doc: Doc, opening: Opening): View {
  const { summary } = doc;
  const own = words.ownExclusive(summary);
  const total = words.totalBytes(summary);
  const answer = h('ul', { class: 'answer' });
  const numbers = h('div', {});
  const below = h('div', { class: 'cards' });
  const element = h('div', { class: 'page', 'data-view': 'glance' },
    h('h1', {}, headline(summary)),
    h('p', { class: 'muted lead-line' }, h('bdi', {}, brief(doc.name, 160)), ` · ${bytes(total)} of state in ${count(summary.objects.total.objects, 'file', 'files')}`, summary.objects.total.objects > 0 && own.bytes > 0 ? `, ${bytes(own.bytes)} of it in its own directory` : ''),
    answer, numbers, below);
  // The sentences about relocation and features come from the core; their room is kept meanwhile by answering at once from the summary.
  const draw = (said: Glance, check?: Check): void => {
    answer.replaceChildren(whole(app, summary, check), ...(check === undefined ? [] : [there(app, check)]), depends(app, summary), moves(summary, said));
    numbers.replaceChildren(figures(summary, said));
    below.replaceChildren(byOperator(app, summary), byDirectory(app, doc, opening), recorded(summary, said), opaque(summary));
  };
  element.style.visibility = 'hidden';
  const fallback: Glance = { features: summary.features.map((key) => ({ name: key, meaning: words.feature(key) })), relocatable: summary.relocatable.answer, relocatable_because: 'see its handles', new_bytes: null };
  // Both are waited for, so that nothing moves down when the second comes.
  const checked = app.checked(doc)?.then((text) => JSON.parse(text) as Check, () => undefined);
  void Promise.all([app.ask<Glance>(doc, 'glance').catch(() => fallback), checked]).then(([said, check]) => {
    draw(said, check);
    element.style.visibility = '';
  });
  return { element };
}
