// How the worker and the WebAssembly reach the page when it comes from a server.
import wasmUrl from 'stayput-wasm/stayput_wasm_bg.wasm?url';

export const single = false;

export function makeWorker(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'stayput-core' });
}

export async function wasmModule(): Promise<WebAssembly.Module> {
  const answer = await fetch(wasmUrl);
  if (!answer.ok) throw new Error(`the core can't be loaded: the server says ${answer.status}`);
  const type = answer.headers.get('content-type') ?? '';
  // A server that names another type can't be streamed from.
  if (type.startsWith('application/wasm')) return WebAssembly.compileStreaming(answer);
  return WebAssembly.compile(await answer.arrayBuffer());
}
