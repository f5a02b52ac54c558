import { expect, test } from 'vitest';
import { Events } from '../../../src/core/events.ts';
import { StartGate } from '../../../src/downstream/start-gate.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A gate for two at a time, and what was let in by it. */
function world() {
  const gate = new StartGate(2, { clock: new FakeClock(), events: new Events(() => undefined) });
  const begun: string[] = [];
  const leaves: (() => void)[] = [];
  const enter = (server: string, askers: readonly object[] = []): void =>
    gate.enter({ server, askers: () => askers }, (leave) => {
      begun.push(server);
      leaves.push(leave);
    });
  const leave = (times: number): void => {
    for (let n = 0; n < times; n++) leaves.shift()?.();
  };
  return { begun, enter, leave };
}

test('a server that is to be started many times at once holds up another one by one start, not by all of them', () => {
  const { begun, enter, leave } = world();
  for (let n = 0; n < 60; n++) enter('many');
  enter('other');
  enter('third');
  leave(4);
  expect(begun).toEqual(['many', 'many', 'many', 'other', 'third', 'many']);
});

test('a client that asks for many servers holds up another one’s single server by one start', () => {
  const { begun, enter, leave } = world();
  const [greedy, modest] = [{}, {}];
  for (let n = 0; n < 60; n++) enter(`greedy ${n}`, [greedy]);
  leave(1);
  enter('modest', [modest]);
  leave(3);
  expect(begun).toEqual(['greedy 0', 'greedy 1', 'greedy 2', 'greedy 3', 'modest', 'greedy 4']);
});

test('a server that another client waits for as well comes when it is the turn of that one', () => {
  const { begun, enter, leave } = world();
  const [greedy, modest] = [{}, {}];
  for (let n = 0; n < 10; n++) enter(`greedy ${n}`, [greedy]);
  const askers = [greedy];
  enter('wanted by both', askers);
  for (let n = 10; n < 20; n++) enter(`greedy ${n}`, [greedy]);
  leave(1);
  askers.push(modest);
  leave(2);
  expect(begun).toEqual(['greedy 0', 'greedy 1', 'greedy 2', 'greedy 3', 'wanted by both']);
});

test('a stream of new clients does not keep an older one waiting for ever', () => {
  const { begun, enter, leave } = world();
  const older = {};
  for (let n = 0; n < 4; n++) enter(`older ${n}`, [older]);
  for (let n = 0; n < 20; n++) {
    enter(`new ${n}`, [{}]);
    leave(1);
  }
  expect(begun.filter((name) => name.startsWith('older'))).toHaveLength(4);
});
