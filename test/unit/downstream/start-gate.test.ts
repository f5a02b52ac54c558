import { expect, test } from 'vitest';
import { StartGate } from '../../../src/downstream/start-gate.ts';
import { FakeClock } from '../../support/fake-clock.ts';

test('a server that is to be started many times at once holds up another one by one start, not by all of them', () => {
  const gate = new StartGate(2, { clock: new FakeClock(), counters: { startsQueued: 0 } });
  const begun: string[] = [];
  const leaves: (() => void)[] = [];
  const enter = (server: string): void =>
    gate.enter(server, (leave) => {
      begun.push(server);
      leaves.push(leave);
    });
  for (let n = 0; n < 60; n++) enter('many');
  enter('other');
  enter('third');
  for (let n = 0; n < 4; n++) leaves.shift()?.();
  expect(begun).toEqual(['many', 'many', 'many', 'other', 'third', 'many']);
});
