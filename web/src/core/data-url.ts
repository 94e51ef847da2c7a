/** The bytes of a `data:` URL in base64. Not by `fetch`, which the policy of the single file forbids. */
export function bytesOfDataUrl(url: string): Uint8Array<ArrayBuffer> {
  const text = atob(url.slice(url.indexOf(',') + 1));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}
