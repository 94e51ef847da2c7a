// Packs the built page into one HTML file that opens from a disk: script, style and icon inline, each named by its hash in the policy.
import { createHash } from 'node:crypto';
import { singlePolicy, metaTag } from './policy.mjs';

const hash = (text) => createHash('sha256').update(text, 'utf8').digest('base64');
// An end tag within a string would end the element.
const inElement = (text) => text.replace(/<\/(script|style)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');

export function singleFile() {
  return {
    name: 'stayput-single-file',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      const scripts = Object.values(bundle).filter((part) => part.type === 'chunk');
      const styles = Object.values(bundle).filter((part) => part.type === 'asset' && part.fileName.endsWith('.css'));
      if (scripts.length !== 1) throw new Error(`one script was expected, not ${scripts.map((part) => part.fileName).join(', ')}`);
      const script = inElement(scripts[0].code);
      const style = inElement(styles.map((part) => String(part.source)).join('\n'));
      let html = String(page.source)
        .replace(/<script[^>]*type="module"[^>]*><\/script>\s*/g, '')
        .replace(/<link[^>]*rel="(stylesheet|manifest|icon)"[^>]*>\s*/g, '');
      const head = `${metaTag(singlePolicy([hash(script)], [hash(style)]))}\n<style>${style}</style>`;
      html = html
        .replace('<meta charset="utf-8">', (found) => `${found}\n${head}`)
        // A module, so that it runs when the page is parsed.
        .replace('</body>', () => `<script type="module">${script}</script>\n</body>`);
      for (const part of [...scripts, ...styles]) delete bundle[part.fileName];
      delete bundle['index.html'];
      const left = Object.keys(bundle);
      if (left.length > 0) throw new Error(`these would lie beside the single file: ${left.join(', ')}`);
      this.emitFile({ type: 'asset', fileName: 'inspector.html', source: html });
    },
  };
}
