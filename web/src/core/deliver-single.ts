// How they reach it when the page is one file: as text within it. Nothing is fetched, so that the policy can forbid it altogether.
import wasmUrl from 'stayput-wasm/stayput_wasm_bg.wasm?url&inline';
import CoreWorker from './worker?worker&inline';
import { bytesOfDataUrl } from './data-url';

export const single = true;

export function makeWorker(): Worker {
  return new CoreWorker({ name: 'stayput-core' });
}

export function wasmModule(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(bytesOfDataUrl(wasmUrl));
}
