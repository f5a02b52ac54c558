// The spans to send, in a limited queue. If the collector is slow or gone, spans are dropped and counted; nobody ever
// waits for it.

import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Clock, Timer } from '../util/clock.ts';
import type { Exporter } from './exporters.ts';
import type { QueueSettings } from './otel-settings.ts';

interface SpanQueueOptions extends QueueSettings {
  readonly exporter: Exporter<readonly ReadableSpan[]>;
  readonly clock: Clock;
  /**
   * Called for each batch: with undefined if it has arrived, else with the reason; and with the total of lost spans.
   */
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

  /** The number of spans that never arrived. */
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
    if (this.#sending !== undefined) return; // the running send continues by itself
    if (this.#waiting.length === maxBatch) {
      this.#timer?.cancel();
      this.#timer = clock.after(0, () => this.#send());
    } else this.#timer ??= clock.after(delayMs, () => this.#send());
  }

  /** Sends everything queued; resolves when it has arrived or is lost. */
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
