// What kind of document a file is, by its first bytes: a checkpoint, a listing of a bucket, or lifecycle rules.

/** `unknown`: nothing is known of it; the core says what it looks like. */
export type Kind = 'metadata' | 'listing' | 'rules' | 'unknown';

const LISTING_LINE = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\s+\d+\s+\S/;

export async function kindOf(file: Blob, path: string): Promise<Kind> {
  const head = new Uint8Array(await file.slice(0, 64 * 1024).arrayBuffer());
  // The magic number of `_metadata`.
  if (head[0] === 0x49 && head[1] === 0x60 && head[2] === 0x67 && head[3] === 0x2d) return 'metadata';
  if (/(^|\/)_metadata$/.test(path)) return 'metadata';
  if (head.includes(0)) return 'unknown';
  const text = new TextDecoder().decode(head).trimStart();
  return kindOfText(text, path) ?? 'unknown';
}

export function kindOfText(text: string, path = ''): Kind | null {
  const head = text.slice(0, 65_536);
  if (/^[[{]/.test(head)) {
    if (/"(Contents|Versions|DeleteMarkers|CommonPrefixes)"\s*:/.test(head)) return 'listing';
    if (/"Rules"\s*:/.test(head) || (/"Status"\s*:/.test(head) && /"(Expiration|NoncurrentVersionExpiration|Transitions?|Filter|Prefix)"\s*:/.test(head))) return 'rules';
    return null;
  }
  if (head.startsWith('<')) {
    if (/<(\w+:)?LifecycleConfiguration[\s>]/.test(head)) return 'rules';
    if (/<(\w+:)?(ListBucketResult|ListVersionsResult)[\s>]/.test(head)) return 'listing';
    return null;
  }
  if (LISTING_LINE.test(head) || /^\s*PRE\s/.test(head)) return 'listing';
  const first = head.split('\n', 1)[0] ?? '';
  // An inventory: bucket, key, size …, all quoted. Or the listings of this project: key, tab, size.
  if (/^"[^"]*","[^"]*"/.test(first) || /^[^\t]+\t\d+\s*$/.test(first) || (/\.csv$/i.test(path) && first.includes(','))) return 'listing';
  return null;
}

/** Why a JSON or XML text can't be whole, in the words of the browser; undefined if it can be. */
export function halfOf(text: string): string | undefined {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) {
    try {
      JSON.parse(trimmed);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  } else if (trimmed.startsWith('<') && !/<\/(\w+:)?LifecycleConfiguration\s*>$|<(\w+:)?LifecycleConfiguration[^>]*\/>$/.test(trimmed)) return 'the element LifecycleConfiguration isn’t closed';
  return undefined;
}
