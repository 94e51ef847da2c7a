// What the page uses of the core. The core's own declarations come with its package; these let the page be checked without building it.
declare module 'stayput-wasm/stayput_wasm.js' {
  export class Upload {
    constructor(length: number);
    push(chunk: Uint8Array): void;
    finish(at?: string): Opened;
    free(): void;
  }
  export class Opened {
    reading(): string;
    document(): Document | undefined;
    free(): void;
  }
  export class Document {
    summary(): string;
    liesAt(at: string): void;
    view(query: string): View;
    bytes(from: number, to: number): Uint8Array<ArrayBuffer>;
    check(listing: Listing): string;
    forecast(rules: Uint8Array, today: number, versioning?: string): string;
    forecastWith(rules: Uint8Array, listing: Listing, today: number, versioning?: string): string;
    exportChunk(view: View, from: number, count: number, format: string): string;
    redaction(): Redaction;
    free(): void;
  }
  export class Redaction {
    summary(): string;
    exportChunk(view: View, from: number, count: number, format: string): string;
    free(): void;
  }
  export class View {
    static columns(): string;
    readonly length: number;
    numbers(from: number, count: number): Float64Array<ArrayBuffer>;
    texts(from: number, count: number): string;
    free(): void;
  }
  export class Listing {
    static read(bytes: Uint8Array, name: string): Listing;
    describe(): string;
    free(): void;
  }
  export class Comparing {
    constructor();
    add(document: Document): void;
    compare(): string;
    free(): void;
  }
  export function explainTerms(): string;
  export function readPointer(bytes: Uint8Array): string | undefined;
  export function version(): string;
  export default function init(options: { module_or_path: WebAssembly.Module }): Promise<{ memory: WebAssembly.Memory }>;
}
declare module 'stayput-wasm/stayput_wasm_bg.wasm?url' {
  const url: string;
  export default url;
}
declare module 'stayput-wasm/stayput_wasm_bg.wasm?url&inline' {
  const url: string;
  export default url;
}
