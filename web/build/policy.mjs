// The content security policy, as the page says it itself: any host that serves the folder gets it.
// `connect-src` is the promise that no byte of a dropped file leaves the browser, kept by the browser.

const STATIC =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
  "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'";

/** Of the single file: what is inline is named by its hash, and nothing may be fetched at all. */
export function singlePolicy(scripts, styles) {
  const hashes = (list) => list.map((hash) => `'sha256-${hash}'`).join(' ');
  return (
    `default-src 'none'; script-src ${hashes(scripts)} 'wasm-unsafe-eval'; worker-src blob: data:; style-src ${hashes(styles)}; ` +
    "img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
  );
}

export function metaTag(content) {
  return `<meta http-equiv="Content-Security-Policy" content="${content}">`;
}

/** Puts the policy first in the head of the built page. The development server needs inline scripts and has none. */
export function policy(single) {
  return {
    name: 'stayput-policy',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (html) => (single ? html : html.replace('<meta charset="utf-8">', (found) => `${found}\n${metaTag(STATIC)}`)),
    },
  };
}
