// Writes what comes, again and again, until the person presses Ctrl-C, or nobody reads it any more.

import { once } from 'node:events';
import { sleep } from '../util/sleep.ts';
import type { CliHost } from './host.ts';

interface Followed {
  readonly intervalMs: number;
  /** The text to write at once. */
  readonly first: string;
  /** The text that has come since; '' if none has. */
  readonly next: () => Promise<string> | string;
}

export async function following(host: CliHost, { intervalMs, first, next }: Followed): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  host.onEnd(end);
  host.stdout.on('error', end);
  await written(first, host, ending.signal);
  while (!ending.signal.aborted) {
    await sleep(intervalMs, ending.signal).catch(() => undefined); // it rejects only when it is ended
    if (!ending.signal.aborted) await written(await next(), host, ending.signal);
  }
}

/** Until whoever reads has room for more, or has gone. */
async function written(text: string, { stdout }: CliHost, signal: AbortSignal): Promise<void> {
  if (text === '' || stdout.write(text)) return;
  await once(stdout, 'drain', { signal }).catch(() => undefined); // an error of stdout ends the following, above
}
