import type { App, View } from '../app';
import type { Opening } from '../open/opening';
import type { Doc, ViewId } from '../store';
import { breaks } from './breaks';
import { compare } from './compare';
import { exists } from './exists';
import { files } from './files';
import { glance } from './glance';
import { operators } from './operators';
import { raw } from './raw';
import { rules } from './rules';
import { treemap } from './treemap';

export const VIEW_MAKERS: Record<ViewId, (app: App, doc: Doc, opening: Opening) => View> = {
  glance, operators, files, treemap, breaks, exists, rules, compare, raw,
};
