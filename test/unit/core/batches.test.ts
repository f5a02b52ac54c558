// Several messages in one array: what becomes of each is what becomes of it on a line of its own.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MOST_IN_BATCH } from '../../../src/wire/batch.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { jsonText } from '../../support/json-text.ts';
import { calls, idsOf, ready as readyToResume } from '../../support/resuming-in-memory.ts';

const OLD = { protocolVersion: '2025-03-26' };
const HELLO_OF_OLD = '{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"memory","version":"1"}}';

const ready = (core: CoreInMemory): Promise<TestClient> => core.ready(OLD);
const callText = (id: number | string, args: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"tool","arguments":${args}}}`;
const ping = (id: number | string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`;
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const codes = (client: TestClient): unknown[] => client.received.map(({ id, error }) => [id, error?.code]);
const times = (count: number, text: (i: number) => string): string =>
  `[${Array.from({ length: count }, (_, i) => text(i)).join()}]`;

/** With a server that has settled on the revision of batches, and one call of each client that it has yet to answer. */
async function withOldServer(
  hello = HELLO_OF_OLD,
): Promise<{ core: CoreInMemory; client: TestClient; asked: Message }> {
  const core = new CoreInMemory();
  core.server().hello = hello;
  const client = await core.ready();
  client.call(1);
  await core.settle();
  const [asked] = core.server().requests;
  if (asked === undefined) throw new Error('the server was not asked');
  return { core, client, asked };
}

describe('a batch of a client', () => {
  const message = fc.oneof(
    fc.tuple(fc.nat(3), jsonText).map(([id, args]) => callText(id, args)),
    fc.tuple(fc.nat(3), jsonText).map(([id, args]) => callText(id, `{"a":${args},"2":1,"1":1.0,"a":1e400}`)),
    fc.nat(3).map(ping),
    jsonText.map((params) => `{"jsonrpc":"2.0","method":"notifications/x","params":${params}}`),
    jsonText.map((value) => `{"jsonrpc":"2.0","id":7,"method":"ping","method":${value}}`),
    fc.constantFrom('{}', '{"jsonrpc":"2.0","id":9}', '{"jsonrpc":"1.0","id":8,"method":"ping"}'),
    fc.integer({ min: 10, max: 18 }).map((levels) => callText(5, nested(levels))),
  );
  const other = fc.constantFrom('0', 'null', '[]', '"{}"', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]');

  test('acts exactly like its messages on separate lines', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), fc.array(other), async (messages, others) => {
        const [cores, clients] = [[0, 0].map(() => new CoreInMemory({ limits: { maxDepth: 16 } })), [] as TestClient[]];
        for (const core of cores) clients.push(await ready(core));
        const [batched, single] = clients as [TestClient, TestClient];
        batched.say(`[${[...messages, ...others].join(' , ')}]`);
        if (others.length > 0) single.say('7'); // all of these are one invalid request
        single.say(...messages);
        for (const core of cores) await core.settle();
        const [one, two] = cores.map((core) => core.server().link?.lines);
        expect(one).toEqual(two);
        const nameless = ({ received }: TestClient): unknown[] =>
          received.map((got) => (got.id === null ? { code: got.error?.code } : got));
        expect(nameless(batched)).toEqual(nameless(single));
      }),
      { numRuns: 150 },
    );
  });

  test('of more messages than are taken is refused at once, with one answer', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.say(times(MOST_IN_BATCH, ping));
    await core.settle();
    expect(client.received).toHaveLength(MOST_IN_BATCH);
    client.link.lines.length = 0;
    client.say(
      times(MOST_IN_BATCH + 1, ping),
      times(4_000_000, () => '0'),
      ping('after'),
    );
    await core.settle();
    expect(codes(client)).toEqual([
      [null, -32600],
      [null, -32600],
      ['after', undefined],
    ]);
    expect(client.received[0]?.error?.message).toContain(`at most ${MOST_IN_BATCH} messages`);
  });

  test('with items that are no messages is answered once for all of them, and the others are done', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.say(`[0,null,${ping(1)},[${ping(2)}],"x",{},${ping(3)}]`);
    await core.settle();
    expect(codes(client)).toEqual([
      [null, -32600],
      [1, undefined],
      [null, -32600],
      [3, undefined],
    ]);
    expect(client.received[0]?.error?.message).toContain('4 in this batch are none');
    expect(core.counters.badFrames).toBe(2);
  });

  test('that is empty, or no JSON, is answered once', async () => {
    const core = new CoreInMemory();
    const client = await ready(core);
    client.say('[]', `[${ping(1)},`, `[${ping(1)}] 7`);
    await core.settle();
    expect(codes(client)).toEqual([
      [null, -32600],
      [null, -32700],
      [null, -32700],
    ]);
  });

  test('counts the depth of each message by itself', async () => {
    const core = new CoreInMemory({ limits: { maxDepth: 16 } });
    const client = await ready(core);
    client.say(`[${callText(1, nested(14))},${callText(2, nested(15))},${ping(3)}]`);
    await core.settle();
    expect(codes(client)).toEqual([
      [2, -32600],
      [3, undefined],
    ]);
    expect(core.server().requests).toHaveLength(1);
  });

  test('is not kept for one message of it that waits', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1 } });
    const client = await ready(core);
    client.say(`[${callText(1, '{}')},${callText(2, '{}')},${callText(3, `"${'x'.repeat(100_000)}"`)}]`);
    await core.settle();
    const waiting = [...(core.sessionOf(client)?.calls.values() ?? [])].flatMap(({ unsent }) => unsent ?? []);
    expect(waiting.map(({ b, start, end }) => b.buffer.byteLength - (end - start))).toEqual([1, 1]);
  });

  test('with more messages than may wait pauses the reading of its client', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1, maxWaitingBytesPerClient: 1000 } });
    const client = await ready(core);
    client.say(times(50, (id) => callText(id, '{}')));
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    for (let done = 0; done < 50; done++) {
      core.server().answer(core.server().requests[done]);
      await core.settle();
    }
    expect(client.link.isPaused).toBe(false);
    expect(client.received.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, id) => id));
  });

  test('may have the answers that a daemon which goes still waits for', async () => {
    const core = new CoreInMemory();
    const client = await readyToResume(core, {}, { ...OLD, capabilities: { sampling: {} } });
    client.call(1);
    await core.settle();
    const gone = core.manager.drain().then(() => core.manager.close('restart'));
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: { messages: [] } });
    await core.pass(20); // from then on it is read again
    client.take();
    const question = client.messages.find(({ method }) => method === 'sampling/createMessage')?.id;
    client.wire.say(
      `[7,{"jsonrpc":"2.0","id":${JSON.stringify(question)},"result":{"said":1.0}},${callText(2, '{}')}]\n`,
    );
    await core.settle();
    expect(core.server().link?.lines.at(-1)).toBe('{"jsonrpc":"2.0","id":"q","result":{"said":1.0}}');
    core.server().answer(calls(core)[0]);
    await core.pass(1000);
    await gone;
    expect(calls(core)).toHaveLength(1);
    expect(idsOf(client).slice(1)).toEqual([1]);
  });
});

describe('a batch behind an initialize that is not answered', () => {
  const batch = `[${callText(1, '{"n":1.0}')},${ping(2)}]`;

  test('waits for the version, and is taken if that has batches', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize('init', OLD);
    client.say(batch);
    await core.settle();
    expect(client.received).toEqual([]);
    core.server().open();
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual(['init', 2]);
    expect(core.server().link?.lines.at(-1)).toContain('"arguments":{"n":1.0}');
  });

  test('is refused behind its answer if that has none, and also if there is none', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const [current, failing] = [core.connect(), core.connect()];
    current.initialize();
    failing.initialize('init', { ...OLD, _meta: { 'mcp-bridge/view': 'server:nobody' } });
    for (const client of [current, failing]) client.say(batch);
    await core.settle();
    core.server().open();
    await core.settle();
    expect(codes(current)).toEqual([
      ['init', undefined],
      [null, -32600],
    ]);
    expect(codes(failing)).toEqual([
      ['init', -32601],
      [null, -32600],
    ]);
  });

  test('counts like other messages held there: with more than the limit its client is not read', async () => {
    const core = new CoreInMemory({ limits: { maxWaitingBytesPerClient: 1000 } });
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize('init', OLD);
    client.say(times(20, (id) => callText(id, '{}')));
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    core.server().open();
    await core.settle();
    expect(core.server().requests).toHaveLength(20);
  });

  test('is answered request by request when the daemon goes before', async () => {
    const core = new CoreInMemory();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize('init', OLD);
    client.say(batch, callText(3, '{}'));
    await core.settle();
    void core.manager.close();
    await core.settle();
    expect(client.received.map(({ id, error }) => [id, error?.data?.code])).toEqual([
      ['init', 'SHUTTING_DOWN'],
      [1, 'SHUTTING_DOWN'],
      [2, 'SHUTTING_DOWN'],
      [3, 'SHUTTING_DOWN'],
    ]);
  });
});

describe('a batch of a server', () => {
  test('that has settled on the revision of batches reaches its clients message by message, to the last byte', async () => {
    const { core, client, asked } = await withOldServer();
    const notice =
      '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400,"2":0,"1":0}}';
    core.server().say(`[7, ${notice} ,{"jsonrpc":"2.0","id":${asked.id},"result":{"n":12345678901234567890}}]`);
    await core.settle();
    expect(client.link.lines).toEqual([notice, '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}']);
    expect(core.counters.serverNoise).toBe(1);
  });

  test.each(['2025-11-25', '2024-11-05'])(
    'that has settled on %s is refused, and so is the call it answers',
    async (version) => {
      const { core, client, asked } = await withOldServer(HELLO_OF_OLD.replace('2025-03-26', version));
      const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
      core.server().say(`[${notice},{"jsonrpc":"2.0","id":${asked.id},"result":{}}]`);
      await core.settle();
      expect(client.received).toMatchObject([
        { id: 1, error: { code: -32603, data: { code: 'SERVER_ANSWER_REFUSED' } } },
      ]);
      expect(core.openCalls).toBe(0);
    },
  );

  test('that names no version is refused', async () => {
    const { core, client, asked } = await withOldServer('{"capabilities":{}}');
    core.server().say(`[{"jsonrpc":"2.0","id":${asked.id},"result":{}}]`);
    await core.settle();
    expect(client.received).toMatchObject([{ id: 1, error: { data: { code: 'SERVER_ANSWER_REFUSED' } } }]);
  });

  test('that is started again may send one if it has settled on that this time', async () => {
    const { core, client } = await withOldServer(HELLO_OF_OLD.replace('2025-03-26', '2025-11-25'));
    core.server().crash();
    core.server().hello = HELLO_OF_OLD;
    client.call(2);
    await core.settle();
    core.server().say(`[{"jsonrpc":"2.0","id":${core.server().requests.at(-1)?.id},"result":{}}]`);
    await core.settle();
    expect(client.answersTo(2)).toMatchObject([{ result: {} }]);
  });

  test('of more messages than are taken is noise once, and the call that it answers fails', async () => {
    const { core, client, asked } = await withOldServer();
    core.server().say(times(4_000_000, () => '0'));
    const answer = `{"jsonrpc":"2.0","id":${asked.id},"result":{}}`;
    core.server().say(times(MOST_IN_BATCH + 1, (i) => (i === 0 ? answer : '{}')));
    await core.settle();
    expect(core.counters.serverNoise).toBe(2);
    expect(client.received).toMatchObject([{ id: 1, error: { data: { code: 'SERVER_ANSWER_REFUSED' } } }]);
    expect(core.server().received).toHaveLength(1);
  });
});
