// What nobody catches while a test runs, whose errors are the test's own: kept, where they would otherwise fail the run.

import { onTestFinished } from 'vitest';

/** The messages of those to come, in order. */
export function keepUncaughtErrors(): string[] {
  const messages: string[] = [];
  const others = process.rawListeners('uncaughtException') as NodeJS.UncaughtExceptionListener[];
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => messages.push(error.message));
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
  });
  return messages;
}
