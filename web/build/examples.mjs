// Examples for the start page: real cases of tests/corpus, packed at build time. `virtual:examples` is their list.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const WANTED = [
  {
    id: 'chain',
    title: 'An incremental checkpoint that leans on another job',
    about: 'The job was restored. Part of its state still lies in the directory of the one before it.',
    cases: ['1.14.6-rocks-inc-chain-j2-chk7'],
  },
  {
    id: 'series',
    title: 'Six checkpoints of one job, over two restores',
    about: 'Compare them: which one brought which bytes, and how old the oldest file still needed is.',
    cases: [
      '1.14.6-rocks-inc-chain-j1-chk3', '1.14.6-rocks-inc-chain-j1-chk4', '1.14.6-rocks-inc-chain-j2-chk6',
      '1.14.6-rocks-inc-chain-j2-chk7', '1.14.6-rocks-inc-chain-j3-chk9', '1.14.6-rocks-inc-chain-j3-chk10',
    ],
  },
  {
    id: 'savepoint',
    title: 'A savepoint that can be moved',
    about: 'Everything it needs lies in its own directory.',
    cases: ['2.3.0-rocks-inc-sp1'],
  },
  {
    id: 'merged',
    title: 'Merged files of Flink 2.3',
    about: 'Many small states in few large files: segments, and directories named as a whole.',
    cases: ['2.3.0-merge-rocks-j2-chk8'],
  },
  {
    id: 'changelog',
    title: 'A changelog checkpoint',
    about: 'A materialised part and the log of changes since then.',
    cases: ['2.3.0-changelog-heap-chk8'],
  },
  {
    id: 'bucket',
    title: 'A bucket whose lifecycle rule took files',
    about: 'With the bucket’s listing and its rule: is all there, can it be put back, and what goes next?',
    cases: ['stories/lifecycle-running'],
  },
];

const value = (toml, name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(toml)?.[1];

/** A story has a bucket: its listing, its rules, and the `_metadata` objects in it, of which the newest is shown. */
function story(folder, name) {
  const config = JSON.parse(readFileSync(join(folder, 'bucket-config.json'), 'utf8'));
  const objects = readdirSync(join(folder, 'metadata'), { recursive: true }).filter((path) => /_metadata@/.test(path));
  const number = (path) => Number(/chk-(\d+)/.exec(path)?.[1]);
  const newest = objects.sort((a, b) => number(b) - number(a))[0];
  if (newest === undefined) throw new Error(`the story ${name} has no _metadata`);
  const directory = newest.replace(/\/_metadata@.*$/, '');
  return {
    name: directory.split('/').slice(-1)[0],
    at: `s3://${config.Bucket}/${directory}`,
    root: `s3://${config.Bucket}`,
    metadata: readFileSync(join(folder, 'metadata', newest)),
    listing: readFileSync(join(folder, 'bucket.json')),
    rules: JSON.stringify(config.Lifecycle, null, 2),
  };
}

function read(corpus, name) {
  const folder = join(corpus, name);
  if (existsSync(join(folder, 'bucket-config.json'))) return story(folder, name);
  if (!existsSync(folder)) throw new Error(`tests/corpus has no case ${name}`);
  const toml = readFileSync(join(folder, 'case.toml'), 'utf8');
  const root = value(toml, 'root');
  const key = value(toml, 'metadata_key');
  return {
    name,
    at: `${root}/${key}`.replace(/\/_metadata$/, ''),
    root,
    metadata: readFileSync(join(folder, '_metadata')),
    listing: readFileSync(join(folder, 'listing.tsv')),
  };
}

export function examples(corpus, single) {
  const virtual = 'virtual:examples';
  return {
    name: 'stayput-examples',
    resolveId: (id) => (id === virtual ? `\0${virtual}` : null),
    load(id) {
      if (id !== `\0${virtual}`) return null;
      const building = this.meta.watchMode === false || this.environment?.mode === 'build';
      const place = (name, bytes) => {
        if (single || !building) return JSON.stringify(`data:application/octet-stream;base64,${bytes.toString('base64')}`);
        const reference = this.emitFile({ type: 'asset', name, source: bytes });
        return `import.meta.ROLLUP_FILE_URL_${reference}`;
      };
      // Several examples may show the same case.
      const names = [...new Set(WANTED.flatMap(({ cases }) => cases))];
      const cases = names.map((name) => {
        const found = read(corpus, name);
        return `{name:${JSON.stringify(found.name)},at:${JSON.stringify(found.at)},root:${JSON.stringify(found.root)},metadata:${place(`${basename(name)}.metadata`, found.metadata)},listing:${place(`${basename(name)}.listing.txt`, found.listing)},rules:${JSON.stringify(found.rules ?? null)}}`;
      });
      const list = WANTED.map(({ id: key, title, about, cases: of }) => `{id:${JSON.stringify(key)},title:${JSON.stringify(title)},about:${JSON.stringify(about)},files:[${of.map((name) => `cases[${names.indexOf(name)}]`).join(',')}]}`);
      return `const cases = [${cases.join(',\n')}];\nexport default [${list.join(',\n')}];`;
    },
  };
}
