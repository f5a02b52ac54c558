// Unit tests share a process. A file that leaves a variable, a listener or a fake clock behind fails by itself, and not the
// file that happens to run after it.

import { afterAll, expect, vi } from 'vitest';

const variables = { ...process.env };
const before = sharedState();

afterAll(() => {
  expect(changedVariables(), 'variables of the environment').toEqual([]);
  expect(sharedState()).toEqual(before);
});

/** Names only: their values do not belong in a log. */
function changedVariables(): string[] {
  const names = new Set([...Object.keys(variables), ...Object.keys(process.env)]);
  return [...names].filter((name) => process.env[name] !== variables[name]);
}

function sharedState(): object {
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)] as const);
  return {
    cwd: process.cwd(),
    hasFakeTimers: vi.isFakeTimers(),
    listeners: Object.fromEntries(listeners),
    exitCode: process.exitCode,
  };
}
