// The spans that wait to be sent, in a bounded queue. A collector that is slow, hangs or is gone costs spans, which are counted,
// and nothing else: nobody ever waits here.

import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Clock, Timer } from '../util/clock.ts';
import type { Exporter } from './exporters.ts';
import type { QueueSettings } from './otel-settings.ts';

interface SpanQueueOptions extends QueueSettings {
  readonly exporter: Exporter<readonly ReadableSpan[]>;
  readonly clock: Clock;
  /** Told of each batch: undefined if it has arrived, else the reason; and how many spans are lost in all. */
  readonly sent: (failure: string | undefined, lost: number) => void;
}

export class SpanQueue {
  readonly #options: SpanQueueOptions;
  #waiting: ReadableSpan[] = [];
  #sending: Promise<void> | undefined;
  #timer: Timer | undefined;
  #lost = 0;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Spans that never arrived. */
  get lost(): number {
    return this.#lost;
  }

  add(span: ReadableSpan): void {
    const { maxQueued, maxBatch, delayMs, clock } = this.#options;
    if (this.#waiting.length >= maxQueued) {
      this.#lost++;
      return;
    }
    this.#waiting.push(span);
    if (this.#sending !== undefined) return; // it goes on by itself
    if (this.#waiting.length === maxBatch) {
      this.#timer?.cancel();
      this.#timer = clock.after(0, () => this.#send());
    } else this.#timer ??= clock.after(delayMs, () => this.#send());
  }

  /** Sends all that waits; resolves when it has arrived, or is lost. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined || this.#waiting.length > 0) {
      if (this.#sending === undefined) this.#send();
      await this.#sending;
    }
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending !== undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, this.#options.maxBatch);
    this.#sending = this.#options.exporter.send(batch).then((failure) => {
      this.#sending = undefined;
      if (failure !== undefined) this.#lost += batch.length;
      this.#options.sent(failure, this.#lost);
      const { maxBatch, delayMs, clock } = this.#options;
      if (this.#waiting.length === 0) return;
      this.#timer ??= clock.after(this.#waiting.length >= maxBatch ? 0 : delayMs, () => this.#send());
    });
  }
}
