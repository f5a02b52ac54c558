// Errors of our own, put into each kind of handler: one session or one instance ends, and everybody else is served.

import { describe, expect, test } from 'vitest';
import type { Session } from '../../../src/core/session.ts';
import { CoreInMemory, type CoreOptions, type TestClient } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

function fail(): never {
  throw new Error('injected');
}

/** From now on this method fails. */
function breakMethod(target: object | undefined, name: string): void {
  if (target === undefined || !(name in target)) throw new Error(`there is no ${name}`);
  Object.defineProperty(target, name, { configurable: true, value: fail });
}

async function isServed(core: CoreInMemory, client: TestClient, id: string, server = core.server()): Promise<boolean> {
  client.call(id);
  await core.settle();
  const request = server.requests.filter(({ method }) => method === 'tools/call').at(-1);
  if (request !== undefined) server.answer(request);
  await core.settle();
  return client.answersTo(id)[0]?.result !== undefined;
}

interface Injection {
  readonly breaks: (session: Session, core: CoreInMemory) => void;
  readonly happens: (client: TestClient, core: CoreInMemory) => void | Promise<void>;
  readonly options?: CoreOptions;
}

const INJECTIONS: Readonly<Record<string, Injection>> = {
  'the end of its connection': {
    breaks: ({ view }) => breakMethod(view, 'leave'),
    happens: ({ link }) => link.destroy(),
  },
  'the end of its side': {
    breaks: (session) => breakMethod(session, 'endWhenAnswered'),
    happens: ({ link }) => link.endByPeer(),
  },
  'bytes that it has taken': {
    breaks: ({ backlog }) => breakMethod(backlog, 'drained'),
    happens: ({ link }) => link.drain(1),
  },
  'a message of it': {
    breaks: ({ view }) => breakMethod(view, 'notify'),
    happens: (client) => client.say({ jsonrpc: '2.0', method: 'notifications/other' }),
  },
  'a message that is too long': {
    breaks: (session) => breakMethod(session.output, 'fail'),
    happens: (client) => client.say('x'.repeat(2000)),
    options: { limits: { maxMessageBytes: 1000 } },
  },
  'a message that is not UTF-8': {
    breaks: (session) => breakMethod(session.output, 'refuse'),
    happens: ({ link }) => link.push(Buffer.from('{"\xff"}\n', 'latin1')),
  },
  'the look at it once a second': {
    breaks: ({ roots }) => breakMethod(roots, 'tick'),
    happens: (_, core) => core.pass(1000),
  },
  'a change of the servers': {
    breaks: ({ view }) => breakMethod(view, 'serversChanged'),
    happens: (_, core) => core.manager.serversChanged(),
  },
};

describe('an error over one client ends that client’s session and no other:', () => {
  test.each(Object.entries(INJECTIONS))('%s', async (_, { breaks, happens, options }) => {
    const core = new CoreInMemory(options);
    const [faulty, other] = [await core.ready(), await core.ready()];
    faulty.call('under way');
    other.call('under way');
    await core.settle();
    const session = core.sessionOf(faulty);
    if (session === undefined) throw new Error('it has no session');
    breaks(session, core);
    await happens(faulty, core);
    await core.settle();
    expect(core.counters.internalErrors).toBe(1);
    expect(core.manager.clients()).toEqual([core.sessionOf(other)]);
    const [, others] = core.server().requests;
    core.server().answer(others);
    await core.settle();
    expect(other.answersTo('under way')).toHaveLength(1);
    expect(await isServed(core, other, 'next')).toBe(true);
    expect(core.openCalls).toBe(0);
  });

  test('a connection that drops and may come back', async () => {
    const core = new CoreInMemory();
    const client = await ResumingClient.ready(wireInMemory(core));
    const other = await core.ready();
    await core.settle();
    for (const session of core.manager.clients())
      if (session !== core.sessionOf(other)) breakMethod(session.backlog, 'connectionDropped');
    client.drop();
    await core.settle();
    expect(core.counters.internalErrors).toBe(1);
    expect(await isServed(core, other, 'next')).toBe(true);
  });
});

describe('an error over one instance ends that instance alone:', () => {
  async function two(): Promise<{ core: CoreInMemory; client: TestClient; other: TestClient }> {
    const core = new CoreInMemory({ servers: ['faulty', 'sound'] });
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'server:faulty' } });
    const other = await core.ready({ _meta: { 'mcp-bridge/view': 'server:sound' } });
    client.call('under way');
    other.call('under way');
    await core.settle();
    return { core, client, other };
  }

  async function check(core: CoreInMemory, client: TestClient, other: TestClient): Promise<void> {
    await core.settle();
    expect(core.counters.internalErrors).toBe(1);
    expect(client.answersTo('under way')).toMatchObject([{ error: { data: { code: 'SERVER_CRASHED' } } }]);
    core.server('sound').answer(core.server('sound').requests[0]);
    await core.settle();
    expect(other.answersTo('under way')).toMatchObject([{ result: {} }]);
    expect(core.manager.clients()).toHaveLength(2);
  }

  test('the look at it once a second', async () => {
    const { core, client, other } = await two();
    breakMethod(core.server('faulty').instance.questions, 'tick');
    await core.pass(1000);
    expect(core.server('faulty').state).toBe('idle');
    await check(core, client, other);
    expect(await isServed(core, client, 'next', core.server('faulty'))).toBe(true);
  });

  test('bytes that it has taken', async () => {
    const { core, client, other } = await two();
    const untaken = core.sessionOf(client)?.backlog ?? {};
    const isFull = (get: () => boolean): void =>
      void Object.defineProperty(untaken, 'isFull', { configurable: true, get });
    isFull(() => true);
    client.call('waits');
    await core.settle();
    isFull(() => {
      isFull(() => false);
      return fail();
    });
    core.server('faulty').instance.drained();
    await check(core, client, other);
  });

  test('its end: callers there still get the answer', async () => {
    const { core, client, other } = await two();
    breakMethod(core.server('faulty').instance.tasks, 'closed');
    core.server('faulty').crash();
    await check(core, client, other);
  });

  test.each([
    [
      'the end of the call',
      (core: CoreInMemory) => breakMethod(core.server('faulty').instance.questions, 'callGivenUp'),
    ],
    [
      'what follows from it',
      (core: CoreInMemory, leaver: TestClient) => {
        for (const call of core.sessionOf(leaver)?.calls.values() ?? [])
          Object.defineProperty(call, 'plan', { get: fail });
      },
    ],
  ])('a client that goes: %s', async (_, breaks) => {
    const { core, client, other } = await two();
    const leaver = await core.ready({ _meta: { 'mcp-bridge/view': 'server:faulty' } });
    leaver.call('given up');
    await core.settle();
    breaks(core, leaver);
    leaver.link.destroy();
    await check(core, client, other);
  });
});
