// The page's side of the worker: questions with promises for answers.
import { makeWorker, wasmModule } from '#deliver';
import type { Answer, Failure, Op, Operations, Question, Window } from './protocol';

export class CoreError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
  get code(): string {
    return this.failure.code;
  }
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  progress?: ((fraction: number) => void) | undefined;
}

export class Core {
  private worker: Worker | undefined;
  private ready: Promise<string> | undefined;
  private module: Promise<WebAssembly.Module> | undefined;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  /** Called when the instance was lost: all documents are gone. */
  onLost: (message: string) => void = () => {};

  /** Starts the worker; gives the core's version. Every question does so by itself. */
  start(): Promise<string> {
    this.ready ??= this.begin();
    return this.ready;
  }

  private async begin(): Promise<string> {
    const worker = makeWorker();
    this.worker = worker;
    worker.onmessage = (event: MessageEvent<Answer>) => this.receive(event.data);
    worker.onerror = (event) => {
      this.lost(`the worker that holds the core failed: ${event.message || 'it could not be started'}`);
    };
    this.module ??= wasmModule();
    const module = await this.module;
    return this.send('init', { module });
  }

  async ask<O extends Op>(
    op: O,
    args: Operations[O]['args'],
    options: { transfer?: Transferable[]; progress?: (fraction: number) => void; asked?: (id: number) => void } = {},
  ): Promise<Operations[O]['result']> {
    await this.start();
    return this.send(op, args, options);
  }

  private send<O extends Op>(
    op: O,
    args: Operations[O]['args'],
    options: { transfer?: Transferable[]; progress?: (fraction: number) => void; asked?: (id: number) => void } = {},
  ): Promise<Operations[O]['result']> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, progress: options.progress });
      const question: Question<O> = { id, op, args };
      this.worker?.postMessage(question, options.transfer ?? []);
      options.asked?.(id);
    });
  }

  private receive(answer: Answer): void {
    const waiting = this.waiting.get(answer.id);
    if (waiting === undefined) return;
    if ('progress' in answer) {
      waiting.progress?.(answer.progress);
      return;
    }
    this.waiting.delete(answer.id);
    if ('error' in answer) {
      waiting.reject(new CoreError(answer.error));
      if (answer.error.fatal === true) this.lost(answer.error.message);
    } else {
      waiting.resolve(answer.result);
    }
  }

  /** Ends the worker and with it all memory: WebAssembly's never shrinks. */
  restart(): void {
    this.worker?.terminate();
    this.worker = undefined;
    this.ready = undefined;
    const error = new CoreError({ code: 'closed', message: 'everything was closed' });
    for (const waiting of this.waiting.values()) waiting.reject(error);
    this.waiting.clear();
  }

  private lost(message: string): void {
    this.restart();
    this.onLost(message);
  }
}

/** Windows of one view: while one is on its way only the newest request is kept. */
export class Windows {
  private busy = false;
  private wanted: { from: number; count: number; done: (window: Window) => void } | undefined;

  constructor(
    private readonly core: Core,
    private readonly view: number,
  ) {}

  request(from: number, count: number, done: (window: Window) => void): void {
    this.wanted = { from, count, done };
    if (!this.busy) void this.pump();
  }

  private async pump(): Promise<void> {
    this.busy = true;
    try {
      while (this.wanted !== undefined) {
        const { from, count, done } = this.wanted;
        this.wanted = undefined;
        const window = await this.core.ask('window', { view: this.view, from, count });
        done(window);
      }
    } catch (error) {
      if (!(error instanceof CoreError && error.code === 'closed')) throw error;
    } finally {
      this.busy = false;
    }
  }
}
