// Where the files lie that tests open. Needs nothing that npm installs: the core's own checks read it too.
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const WEB = fileURLToPath(new URL('../..', import.meta.url));
export const REPO = resolve(WEB, '..');
export const CORPUS = join(REPO, 'tests/corpus');

export const metadata = (name) => join(CORPUS, name, '_metadata');
