// Many small pieces of a large file, one after the other: read in pages, since each read of a Blob is a message to another process.

/** Who waits for long work: told how far it is, and able to end it. */
export interface Watch {
  readonly signal: AbortSignal;
  /** `fraction` is null while nobody knows how much there is. */
  at(text: string, fraction: number | null): void;
}

const SMALLEST = 16 << 10;
const LARGEST = 4 << 20;

export class Pages {
  private page = new Uint8Array(0);
  private from = 0;
  private size = SMALLEST;

  constructor(
    private readonly file: Blob,
    private readonly watch: Watch,
  ) {}

  /** Up to `length` bytes from `at` on; fewer at the end of the file. Valid until the next call. */
  async read(at: number, length: number): Promise<Uint8Array> {
    const end = this.from + this.page.length;
    if (at < this.from || at + length > end) {
      this.watch.signal.throwIfAborted();
      // Pages grow while one follows the other; between large contents only little is read.
      const follows = at >= this.from && at <= end + this.size;
      this.size = follows ? Math.min(LARGEST, this.size * 2) : SMALLEST;
      this.page = new Uint8Array(await this.file.slice(at, at + Math.max(length, this.size)).arrayBuffer());
      this.from = at;
    }
    return this.page.subarray(at - this.from, at - this.from + length);
  }
}

/** What a packed stream unpacks to. Ends with an error where it is cut or damaged. */
export async function unpack(packed: Blob, format: CompressionFormat, watch: Watch, text: string): Promise<Blob> {
  let read = 0;
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      read += piece.length;
      watch.at(text, read / Math.max(1, packed.size));
      controller.enqueue(piece);
    },
  });
  const stream = packed.stream().pipeThrough(counting, { signal: watch.signal }).pipeThrough(new DecompressionStream(format), { signal: watch.signal });
  // Put down piece by piece: the browser keeps a Blob on the disk if it has to, and a stream as a whole only as far as memory goes.
  const parts: Blob[] = [];
  let some: Uint8Array<ArrayBuffer>[] = [];
  let held = 0;
  const put = (): void => {
    parts.push(new Blob(some));
    some = [];
    held = 0;
  };
  const reader = (stream as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    some.push(next.value);
    held += next.value.length;
    if (held >= LARGEST) put();
  }
  put();
  return new Blob(parts);
}
