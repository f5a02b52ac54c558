// What the stream of events says of a client, an instance, a call and a question, in the order in which it happens.

import { describe, expect, test } from 'vitest';
import { Counters } from '../../../src/core/counters.ts';
import { Events, Signal } from '../../../src/core/events.ts';
import { CoreInMemory, type CoreOptions } from '../../support/core-in-memory.ts';

/** A core, and what its events have told since the last look. */
function watched(options: CoreOptions = {}) {
  const core = new CoreInMemory(options);
  const told: string[] = [];
  const { events } = core;
  const tell = (text: string): void => void told.push(text);
  events.clientCame.on(() => tell('client came'));
  events.clientReady.on(({ name }) => tell(`client ready: ${name}`));
  events.clientCutOff.on((_, why) => tell(`client cut off: ${why}`));
  events.clientLeft.on(() => tell('client left'));
  events.callBegun.on(({ idText }) => tell(`call ${idText} begun`));
  events.callWaiting.on(({ idText }, why) => tell(`call ${idText} waits for its ${why}`));
  events.callSent.on(({ idText }, server) => tell(`call ${idText} sent to ${server}`));
  events.callProgressed.on(({ idText }) => tell(`call ${idText} goes on`));
  events.serverAnswered.on(({ idText }, server, hasResult) =>
    tell(`${server} answered ${idText} with ${hasResult ? 'a result' : 'an error'}`),
  );
  events.serverSilent.on(({ idText }, server) => tell(`${server} will not answer ${idText}`));
  events.callAnswered.on(({ idText }) => tell(`call ${idText} answered`));
  events.callFailed.on(({ idText }, error) =>
    tell(`call ${idText} failed: ${typeof error === 'string' ? error : error.code}`),
  );
  events.callGivenUp.on(({ idText }, why) => tell(`call ${idText} given up: ${why}`));
  events.callEnded.on(({ idText }) => tell(`call ${idText} ended`));
  events.questionAsked.on((_, server, role) => tell(`${server} asks: ${role}`));
  events.questionEnded.on((_, server, end) => tell(`question of ${server}: ${end}`));
  events.incident.on((name) => tell(`incident: ${name}`));
  return { core, news: () => told.splice(0) };
}

describe('the events of a client and its calls', () => {
  test('a call that is sent at once', async () => {
    const { core, news } = watched();
    const client = await core.ready();
    expect(news()).toEqual(['client came', 'client ready: test']);
    client.call(7);
    await core.settle();
    expect(news()).toEqual(['call 7 begun', 'call 7 sent to memory']);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(news()).toEqual(['memory answered 7 with a result', 'call 7 answered', 'call 7 ended']);
  });

  test('a call that waits because its client has enough under way', async () => {
    const { core, news } = watched({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready();
    client.call(1);
    await core.settle();
    news();
    client.call(2);
    await core.settle();
    expect(news()).toEqual(['call 2 begun', 'call 2 waits for its client']);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(news()).toContain('call 2 sent to memory');
  });

  test('a call during which its server dies', async () => {
    const { core, news } = watched();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    news();
    core.server().crash();
    await core.settle();
    expect(news()).toEqual(['memory will not answer 1', 'call 1 failed: SERVER_CRASHED', 'call 1 ended']);
  });

  test('a client that goes over its call', async () => {
    const { core, news } = watched();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    news();
    client.link.destroy();
    await core.settle();
    expect(news()).toEqual([
      'call 1 given up: client-gone',
      'memory will not answer 1',
      'call 1 ended',
      'incident: cancelled',
      'client left',
    ]);
  });

  test('a question of a server, which its client answers', async () => {
    const { core, news } = watched();
    const client = await core.ready({ capabilities: { sampling: {} } });
    client.call(1);
    await core.settle();
    news();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
    await core.settle();
    expect(news()).toEqual(['memory asks: sampling']);
    client.say({ jsonrpc: '2.0', id: client.received.at(-1)?.id, result: {} });
    await core.settle();
    expect(news()).toEqual(['question of memory: answered']);
  });
});

describe('a listener that fails', () => {
  test('costs the others nothing, and is reported once', () => {
    const faults: unknown[] = [];
    const signal = new Signal<number>((error) => faults.push(error));
    const heard: number[] = [];
    const fault = new Error('a listener');
    signal.on(() => {
      throw fault;
    });
    signal.on((n) => heard.push(n));
    signal.tell(1);
    signal.tell(2);
    expect([heard, faults]).toEqual([[1, 2], [fault]]);
  });

  test('counts as a fault of the bridge, also if it listens to those', () => {
    const events: Events = new Events(() => events.incident.tell('internalErrors', undefined));
    const counters = new Counters(events);
    events.incident.on(() => {
      throw new Error('a listener');
    });
    events.incident.tell('badFrames', undefined);
    events.incident.tell('badFrames', undefined);
    expect([counters.badFrames, counters.internalErrors]).toEqual([2, 1]);
  });
});

test('a removed listener is not called any more, and events need no listener', () => {
  const signal = new Signal<number>(() => undefined);
  const heard: number[] = [];
  expect(signal.isHeard).toBe(false);
  signal.tell(1);
  const end = signal.on((n) => heard.push(n));
  expect(signal.isHeard).toBe(true);
  signal.tell(2);
  end();
  signal.tell(3);
  expect([heard, signal.isHeard]).toEqual([[2], false]);
});
