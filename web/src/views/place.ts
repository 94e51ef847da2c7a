// Where the checkpoint lies isn't in the file. Who knows it, says it; then its own files can be told from those of others.
import type { App } from '../app';
import { brief, h } from '../dom';
import type { Opening } from '../open/opening';
import type { Doc } from '../store';
import * as words from '../words';

/** Whether it lies on S3, as far as anybody said or its paths show. */
export function liesOnS3(doc: Doc): boolean {
  const place = doc.at ?? doc.summary.at;
  const places = place === null ? doc.summary.objects.by_directory.map(({ directory }) => directory) : [place];
  return places.some((one) => /^s3[a-z]?:/.test(one));
}

/** What such a place looks like. */
export function examplePlace({ summary }: Doc): string {
  return summary.kind?.savepoint === true ? 's3://bucket/savepoints/savepoint-JOB-…' : `s3://bucket/checkpoints/JOB/chk-${summary.checkpoint_id}`;
}

/** `onS3`: only a place on S3 helps. */
export function placeForm(app: App, doc: Doc, opening: Opening, onS3 = false): HTMLElement {
  const guess = doc.at === undefined ? words.likelyPlace(doc.summary, doc.name) : undefined;
  const likely = onS3 && guess?.at.startsWith('s3') !== true ? undefined : guess;
  const id = `place-${onS3 ? 's3-' : ''}${doc.key}`;
  const input = h('input', { type: 'text', id, value: onS3 ? '' : (doc.at ?? ''), placeholder: likely?.at ?? examplePlace(doc), spellcheck: 'false', autocomplete: 'off' });
  const said = h('p', { class: 'small bad', role: 'alert' });
  const move = async (at: string): Promise<void> => {
    try {
      const wrong = await opening.move(doc, at.trim());
      if (wrong === undefined) app.toast('Its files are sorted anew');
      else said.textContent = brief(wrong, 300);
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const question = onS3 ? 'Where on S3 does it lie?' : doc.at === undefined ? 'Where does it lie? The file itself doesn’t say.' : 'It lies in';
  return h('form', { class: 'place-form', onsubmit: (event) => { event.preventDefault(); void move(input.value); } },
    h('label', { for: id, class: 'small muted' }, question),
    h('div', { class: 'where' }, input, h('button', { type: 'submit' }, 'Use'),
      likely === undefined ? null : h('button', { type: 'button', 'data-text': 'All its absolute paths lie in this job’s directory, and Flink writes chk-N there', onclick: () => void move(likely.at) }, `Probably …/${likely.at.split('/').slice(-1)[0] ?? ''}: use that`)),
    said);
}
