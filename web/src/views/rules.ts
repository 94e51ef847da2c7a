// The checkpoint against a bucket's lifecycle rules: what they will take, and when. The core's forecast, the same as `stayput audit`'s.
import type { App, View } from '../app';
import type { BucketForecast as Bucket, Forecast, Harm, RuleName } from '../core/types';
import { block, brief, fill, h, name, prose, type Child } from '../dom';
import type { Opening } from '../open/opening';
import { bytes, count, number } from '../quantity';
import type { Doc } from '../store';
import { badge, copyButton, failed, verdict, type Level } from './parts';
import { liesOnS3, placeForm } from './place';

const DOES: Record<Harm['kind'], string> = { delete: 'deletes for good', hide: 'expires (hides below a delete marker)', archive: 'moves to an archive class, where no job can read it' };
const IF: Record<string, string> = { tags: 'its tags fit', size: 'its size fits', minimum_size: 'it is large enough', version: 'versioning is as assumed', newer_versions: 'newer versions exist' };

const ruleName = (rule: RuleName): Child => (rule.id === null ? `rule ${rule.number} (unnamed)` : name(rule.id));
const day = (time: string): string => time.slice(0, 10);

/** The rule of the first story: meant to save money, it takes files that the newest checkpoint still needs. */
function storyRule(doc: Doc): string {
  const place = doc.at ?? doc.summary.at ?? doc.summary.objects.by_directory[0]?.directory ?? '';
  const key = /^s3[a-z]?:\/\/[^/]+\/(.*)$/.exec(place)?.[1] ?? '';
  // The directory of the job directories: what somebody would call “the checkpoints”.
  const job = /^(.*?)(?:[0-9a-f]{32}|savepoint-[0-9a-f]{6}-[0-9a-f]{12})(?:\/|$)/.exec(key);
  return JSON.stringify({ Rules: [{ ID: 'save-money', Status: 'Enabled', Filter: { Prefix: job?.[1] ?? '' }, Expiration: { Days: 30 } }] }, null, 2);
}

function putBack(harm: Harm): string {
  switch (harm.put_back.how) {
    case 'never':
      return 'never: it is deleted for good';
    case 'perhaps_never':
      return 'perhaps never: versioning is suspended';
    case 'for_days':
      return `for ${count(harm.put_back.days ?? 0, 'day', 'days')} after that${harm.put_back.until ? `, until ${day(harm.put_back.until)}` : ''}`;
    default:
      return 'as long as nobody deletes the version';
  }
}

function harmCard(harm: Harm): HTMLElement {
  const unsure = harm.if !== null && harm.if !== 'version';
  const when = harm.date !== null ? `on ${day(harm.date)}` : `${count(harm.days ?? 0, 'day', 'days')} after each of them was written`;
  return h('section', { class: 'card spaced', 'data-harm': harm.kind },
    h('h2', {}, badge(unsure ? 'warn' : 'bad'), ' ', ruleName(harm.rule), unsure ? ' perhaps takes files that it needs' : ' takes files that it needs'),
    h('dl', { class: 'facts' },
      h('dt', {}, 'What'), h('dd', {}, `${DOES[harm.kind]}${harm.storage_class === undefined ? '' : ` (${brief(harm.storage_class, 40)})`}: ${count(harm.amount.objects, 'file', 'files')}, ${bytes(harm.amount.bytes)}`),
      h('dt', {}, 'When'), h('dd', {}, when),
      harm.first === null ? null : [h('dt', {}, 'The first from'), h('dd', {}, h('strong', {}, day(harm.first)), harm.due > 0 ? ` (${number(harm.due)} are due now)` : '')],
      harm.last === null || harm.last === harm.first ? null : [h('dt', {}, 'The last from'), h('dd', {}, day(harm.last))],
      harm.of_unknown_age === 0 ? null : [h('dt', {}, 'Of unknown age'), h('dd', {}, `${count(harm.of_unknown_age, 'file', 'files')}: a listing that has times (list-objects-v2, list-object-versions) tells on which day`)],
      harm.if === null ? null : [h('dt', {}, 'Only if'), h('dd', {}, IF[harm.if] ?? harm.if)],
      h('dt', {}, 'Can be put back'), h('dd', {}, putBack(harm)),
      h('dt', {}, 'Needed by the job in'), h('dd', {}, name(harm.job))),
    h('details', {}, h('summary', {}, 'For example'), h('ul', { class: 'stack' }, harm.examples.map((one) => h('li', {}, name(one))))));
}

function bucketCards(app: App, bucket: Bucket): Child {
  const safe = bucket.ages.filter(({ days_today: days }) => days !== null).map(({ days_today: days }) => days!);
  const oldest = bucket.ages.filter(({ oldest_written: written }) => written !== null).sort((a, b) => (a.oldest_written! < b.oldest_written! ? -1 : 1))[0];
  const days = safe.length === 0 ? 0 : Math.max(...safe);
  const { correction } = bucket;
  return [
    bucket.harms.map(harmCard),
    bucket.aborts.map((abort) => h('section', { class: 'card spaced' }, h('h2', {}, badge(abort.uploads > 0 ? 'bad' : 'info'), ' ', ruleName(abort.rule), ' aborts unfinished uploads'), h('p', {}, `${count(abort.days, 'day', 'days')} after they were begun${abort.prefix === '' ? '' : ', below '}`, abort.prefix === '' ? '' : name(abort.prefix), '. Exactly-once sinks keep uploads open between checkpoints; a checkpoint older than that loses them.'))),
    bucket.hidden > 0 ? h('section', { class: 'card spaced' }, h('h2', {}, badge('bad'), ` ${count(bucket.hidden, 'needed file isn’t', 'needed files aren’t')} visible already`), h('ul', { class: 'stack' }, bucket.hidden_examples.map((one) => h('li', {}, name(one))))) : null,
    safe.length === 0 && oldest === undefined ? null : h('section', { class: 'card spaced', 'data-card': 'days' }, h('h2', {}, days === 0 ? 'Its oldest file' : ['To keep all that it names until the end of today (UTC), a rule needs at least ', h('strong', { 'data-safe-days': days }, count(days, 'day', 'days'))]),
      days === 0 ? null : h('p', {}, days === 1 ? 'That is no promise for tomorrow:' : `With fewer it takes the oldest file at once, and with exactly ${count(days, 'day', 'days')} from the coming midnight (UTC) on. No number is safe for good:`, ' a file stays needed until a compaction rewrites it, however old it gets.'),
      oldest?.oldest_written == null ? null : h('p', { class: 'spaced' }, `The oldest file that it needs was written on ${day(oldest.oldest_written)}: `, name(oldest.oldest ?? ''))),
    correction === null ? null : h('section', { class: 'card spaced stack' }, h('h2', {}, 'Rules that leave it alone'),
      h('ul', { class: 'stack' }, correction.changes.map((change) => h('li', {}, ruleName(change.rule), ': ', prose(change.what, 600), change.reaches_further ? h('span', { class: 'muted' }, '. It reaches beyond checkpoints: there too.') : null))),
      h('pre', { 'data-corrected': true, tabindex: '0' }, correction.configuration === null ? 'no rule is left' : block(correction.configuration)),
      h('div', { class: 'input-row' }, correction.configuration === null ? null : copyButton(app, correction.configuration, 'Copy the rules'), copyButton(app, correction.command, 'Copy the command')),
      h('pre', { tabindex: '0' }, block(correction.command))),
  ];
}

export function rules(app: App, doc: Doc, opening: Opening): View {
  const given = app.store.state.rules;
  const { listing } = app.store.state;
  const area = h('textarea', { rows: 9, id: `rules-${doc.key}`, 'aria-label': 'Lifecycle rules, JSON or XML', spellcheck: 'false', placeholder: '{"Rules": [{"ID": "…", "Status": "Enabled", "Filter": {"Prefix": "…"}, "Expiration": {"Days": 30}}]}' });
  area.value = given?.text ?? '';
  const answer = h('div', { 'aria-live': 'polite', class: 'spaced' });
  const element = h('div', { class: 'page', 'data-view': 'rules' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Will lifecycle rules hurt it?'), h('p', {}, 'Drop or paste what ', h('code', {}, 'aws s3api get-bucket-lifecycle-configuration'), ' prints, or the XML. Days need a listing that has times; without one the answer goes by prefix.')),
    answer,
    liesOnS3(doc) ? null : h('section', { class: 'card spaced', 'data-card': 'place' }, h('p', {}, 'The paths in this file aren’t on S3, which is all that rules of a bucket reach. Say where on S3 it lies, and rules can be held against it.'), placeForm(app, doc, opening, true)),
    h('div', { class: 'card stack spaced' }, area,
      h('div', { class: 'input-row' },
        h('button', { type: 'button', class: 'primary', onclick: () => app.store.set({ rules: { text: area.value, name: 'the rules in the field' } }) }, 'Check'),
        h('button', { type: 'button', 'data-example-rule': true, onclick: () => opening.rules(storyRule(doc), 'the rule that saves money') }, 'Try “expire after 30 days”'),
        h('span', { class: 'small muted' }, listing === null ? 'No listing is open: no days can be named.' : `With ${brief(listing.name, 60)}.`))));
  const show = (said: Forecast): void => {
    const harms = said.buckets.flatMap((bucket) => bucket.harms);
    const sure = harms.some((harm) => harm.if === null || harm.if === 'version');
    const uploads = said.buckets.some((bucket) => bucket.aborts.some((abort) => abort.uploads > 0));
    const level: Level = sure || uploads ? 'bad' : harms.length > 0 ? 'warn' : 'ok';
    const key = sure || uploads ? 'hurts' : harms.length > 0 ? 'perhaps' : 'safe';
    const others = Object.entries(said.without_rules);
    fill(answer,
      verdict(level, h('span', { 'data-verdict': key }, prose(said.sentence))),
      said.buckets.map((bucket) => bucketCards(app, bucket)),
      others.length === 0 ? null : h('p', { class: 'notice warn spaced' }, h('span', {}, 'It needs files in other buckets as well, whose rules nobody told: ', others.map(([bucket, amount], i) => [i > 0 ? ', ' : '', name(bucket), ` (${count(amount.objects, 'file', 'files')})`]), '.')),
      said.notes.map((note) => h('p', { class: 'small muted spaced' }, prose(note, 600))));
  };
  if (given !== null && given.text.trim() !== '') {
    const args = { doc: doc.doc, rules: new TextEncoder().encode(given.text), today: Date.now(), ...(listing === null ? {} : { listing: listing.listing }) };
    app.core.ask('forecast', args).then((text) => show(JSON.parse(text) as Forecast), (error: unknown) => fill(answer, failed(error)));
  }
  return { element };
}
