// What one client says to another goes to it and to nobody else, in its own bytes, under the name of its sender.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

async function pair(options: CoreOptions = {}, accepts: unknown = ['review/*', 'note']) {
  const core = new CoreInMemory(options);
  const a = await core.ready({ _meta: { 'mcp-bridge/clientId': 'a', 'mcp-bridge/accepts': true } });
  const b = await core.ready({ _meta: { 'mcp-bridge/clientId': 'b', 'mcp-bridge/accepts': accepts } });
  return { core, a, b };
}

const send = (id: number | string, params: object): object => ({ jsonrpc: '2.0', id, method: 'bridge/send', params });
const codeOf = (message: Message | undefined): unknown => message?.error?.data?.code;

async function refusal(core: CoreInMemory, from: TestClient, params: object): Promise<Message['error']> {
  from.say(send('refused', params));
  await core.settle();
  return from.answersTo('refused').at(-1)?.error;
}

describe('a request', () => {
  test('reaches its receiver with its sender’s name, and its answer comes back as it was written', async () => {
    const { core, a, b } = await pair();
    a.say(
      '{"jsonrpc":"2.0","id":"q","method":"bridge/send","params":{"to":"b","method":"review/start","params":{ "n":1.50, "x":"\\u00e9"}}}',
    );
    await core.settle();
    const [asked] = b.link.lines.slice(-1);
    expect(asked).toMatch(
      /^{"jsonrpc":"2.0","id":"mcp-bridge\/message-\d+","method":"review\/start","params":{ "n":1.50, "x":"\\u00e9","_meta":{"mcp-bridge\/from":"a","mcp-bridge\/hops":1}}}$/,
    );
    const { id } = JSON.parse(asked ?? '') as Message;
    b.say(`{"jsonrpc":"2.0","result": {"big":12345678901234567890 },"id":${JSON.stringify(id)}}`);
    await core.settle();
    expect(a.link.lines.at(-1)).toBe('{"jsonrpc":"2.0","result": {"big":12345678901234567890 },"id":"q"}');
    expect(core.openCalls).toBe(0);
    expect(core.counters.messages).toBe(1);
  });

  test('brings the receiver’s error back too', async () => {
    const { core, a, b } = await pair();
    a.say(send(1, { to: 'b', method: 'note' }));
    await core.settle();
    b.say({ jsonrpc: '2.0', id: b.received.at(-1)?.id, error: { code: 7, message: 'no', data: { why: [1] } } });
    await core.settle();
    expect(a.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: 7, message: 'no', data: { why: [1] } } }]);
  });

  test.each([
    ['{}', '{"mcp-bridge/from":"a","mcp-bridge/hops":1}'],
    ['{"k":1}', '{"k":1,"mcp-bridge/from":"a","mcp-bridge/hops":1}'],
    ['{"mcp-bridge/from":"boss","k":1}', '{"mcp-bridge/from":"a","k":1,"mcp-bridge/hops":1}'],
    ['{"mcp-bridge/hops":3,"mcp-bridge/from":{"x":[]}}', '{"mcp-bridge/hops":4,"mcp-bridge/from":"a"}'],
    ['{"\\u006dcp-bridge/from":"boss"}', '{"\\u006dcp-bridge/from":"a","mcp-bridge/hops":1}'],
    ['null', '{"mcp-bridge/from":"a","mcp-bridge/hops":1}'],
  ])('with the _meta %s gets it as %s', async (sent, received) => {
    const { core, a, b } = await pair();
    a.say(
      `{"jsonrpc":"2.0","id":1,"method":"bridge/send","params":{"to":"b","method":"note","params":{"_meta":${sent}}}}`,
    );
    await core.settle();
    expect(b.link.lines.at(-1)).toContain(`"params":{"_meta":${received}}`);
  });

  test.each([
    '{"_meta":{"mcp-bridge/from":"x"},"_meta":{}}',
    '{"_META":{"mcp-bridge/from":"x"}}',
    '{"_meta":{"mcp-bridge/from":"x","mcp-bridge/from":"y"}}',
    '{"_meta":{"MCP-bridge/from":"x"}}',
    '{"_meta":{"mcp-bridge/from":"x","mcp-br\\u0131dge/from":"y","mcp-\\u0042ridge/from":"z"}}',
    '{"_meta":{"mcp-bridge/hop\\u017f":0}}',
  ])('whose params could hide who speaks is refused: %s', async (params) => {
    const { core, a, b } = await pair();
    const before = b.link.lines.length;
    a.say(`{"jsonrpc":"2.0","id":1,"method":"bridge/send","params":{"to":"b","method":"note","params":${params}}}`);
    await core.settle();
    expect(codeOf(a.answersTo(1)[0])).toBe('MESSAGE_INVALID');
    expect(b.link.lines).toHaveLength(before);
  });

  test('that its sender cancels is cancelled at its receiver, and not answered', async () => {
    const { core, a, b } = await pair();
    a.say(send(1, { to: 'b', method: 'note' }));
    await core.settle();
    const { id } = b.received.at(-1) ?? {};
    a.cancel(1);
    await core.settle();
    expect(b.notifications('notifications/cancelled').map(({ params }) => params?.requestId)).toEqual([id]);
    b.say({ jsonrpc: '2.0', id, result: {} });
    await core.settle();
    expect(a.answersTo(1)).toEqual([]);
    expect(core.counters.strayResponses).toBe(1);
    expect(core.openCalls).toBe(0);
  });

  test('is cancelled at its receiver when its sender goes', async () => {
    const { core, a, b } = await pair();
    a.say(send(1, { to: 'b', method: 'note' }));
    await core.settle();
    a.link.destroy();
    await core.settle();
    expect(b.notifications('notifications/cancelled')).toHaveLength(1);
    expect(core.sessionOf(b)?.questions.size).toBe(0);
  });

  test.each(['destroy', 'endByPeer'] as const)('gets an error when its receiver goes (%s)', async (way) => {
    const { core, a, b } = await pair();
    a.say(send(1, { to: 'b', method: 'note' }));
    await core.settle();
    b.link[way]();
    await core.settle();
    expect(a.answersTo(1).map(codeOf)).toEqual(['CLIENT_GONE']);
    expect(core.openCalls).toBe(0);
  });

  test('gets an error when its time is up, which progress begins anew', async () => {
    const { core, a, b } = await pair({ limits: { callTimeoutMs: 5000 } });
    a.say(send(1, { to: 'b', method: 'note', _meta: { progressToken: 'p' } }));
    await core.settle();
    const { id, params } = b.received.at(-1) ?? {};
    expect(params?._meta).toMatchObject({ progressToken: id });
    await core.pass(4000);
    b.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } });
    await core.pass(4000);
    expect(a.notifications('notifications/progress').map(({ params: told }) => told)).toEqual([
      { progressToken: 'p', progress: 1 },
    ]);
    expect(a.answersTo(1)).toEqual([]);
    await core.pass(3000);
    expect(a.answersTo(1).map(codeOf)).toEqual(['CALL_TIMED_OUT']);
    expect(b.notifications('notifications/cancelled')).toHaveLength(1);
  });

  test('is refused under an id that is in use', async () => {
    const { core, a, b } = await pair();
    a.say(send(1, { to: 'b', method: 'note' }), send(1, { to: 'b', method: 'note' }));
    await core.settle();
    expect(a.answersTo(1).map(codeOf)).toEqual(['REQUEST_REFUSED']);
    expect(b.received.filter(({ method }) => method === 'note')).toHaveLength(1);
    expect(core.sessionOf(b)?.questions.size).toBe(1);
  });
});

test('what is said to a client comes behind the answer to its initialize, ready or not', async () => {
  const { core, a } = await pair();
  const late = core.connect();
  late.initialize('init', { _meta: { 'mcp-bridge/clientId': 'late', 'mcp-bridge/accepts': true } });
  a.say(send(1, { to: 'late', method: 'note' }));
  await core.settle();
  expect(a.answersTo(1).map(codeOf)).toEqual(['CLIENT_NOT_FOUND']);
  a.say(send(2, { to: 'late', method: 'note', notify: true }));
  await core.settle();
  expect(late.received.map(({ id, method }) => method ?? id)).toEqual(['init', 'note']);
});

describe('a notification', () => {
  test('is passed on, and its sender is told so if it asks', async () => {
    const { core, a, b } = await pair();
    a.say(
      { jsonrpc: '2.0', method: 'bridge/send', params: { to: 'b', method: 'note', params: { n: 1 } } },
      send(2, { to: 'b', method: 'note', params: { n: 2 }, notify: true }),
    );
    await core.settle();
    expect(b.notifications('note').map(({ id, params }) => [id, params?.n])).toEqual([
      [undefined, 1],
      [undefined, 2],
    ]);
    expect(a.answersTo(2)).toMatchObject([{ result: {} }]);
  });

  test('that is refused is counted', async () => {
    const { core, a } = await pair();
    a.say({ jsonrpc: '2.0', method: 'bridge/send', params: { to: 'nobody', method: 'note' } });
    await core.settle();
    expect(core.counters.messagesRefused).toBe(1);
  });
});

describe('nothing is passed on', () => {
  test('to nobody; the nearest ids are told', async () => {
    const { core, a } = await pair();
    await core.ready({ _meta: { 'mcp-bridge/clientId': 'reviewer' } });
    const error = await refusal(core, a, { to: 'reviewr', method: 'note' });
    expect(error).toMatchObject({ code: -32601, data: { code: 'CLIENT_NOT_FOUND', hint: 'Did you mean reviewer?' } });
  });

  test('to its own sender', async () => {
    const { core, a } = await pair();
    expect(await refusal(core, a, { to: 'a', method: 'note' })).toMatchObject({ data: { code: 'MESSAGE_TO_SELF' } });
  });

  test('that its receiver does not accept', async () => {
    const { core, a } = await pair({}, []);
    expect(await refusal(core, a, { to: 'b', method: 'note' })).toMatchObject({
      code: -32602,
      data: { code: 'MESSAGE_NOT_ACCEPTED' },
    });
  });

  test.each([
    'initialize',
    'ping',
    'sampling/createMessage',
    'elicitation/create',
    'roots/list',
    'notifications/cancelled',
    'notifications/tools/list_changed',
    'tools/call',
    'Tools/call',
    'bridge/send',
    'rpc.discover',
  ])('that is MCP’s or the bridge’s own: %s, also to one who accepts everything', async (method) => {
    const { core, a, b } = await pair({}, true);
    const before = b.link.lines.length;
    expect(await refusal(core, a, { to: 'b', method })).toMatchObject({ data: { code: 'MESSAGE_NOT_ACCEPTED' } });
    expect(b.link.lines).toHaveLength(before);
  });

  test('between two whom policy keeps apart; they do not see each other either', async () => {
    const policy = [
      { from: 'a', to: 'b*', isAllowed: false },
      { from: '*', to: '*', isAllowed: true },
    ];
    const { core, a, b } = await pair({ agents: { policy } });
    expect(await refusal(core, a, { to: 'b', method: 'note' })).toMatchObject({ data: { code: 'MESSAGE_REFUSED' } });
    a.say({ jsonrpc: '2.0', id: 'who', method: 'bridge/clients' });
    b.say(send('back', { to: 'a', method: 'note', notify: true }));
    await core.settle();
    expect(a.answersTo('who')[0]?.result).toMatchObject({ clients: [{ id: 'a' }] });
    expect(b.answersTo('back')).toMatchObject([{ result: {} }]);
  });

  test('over the size that is allowed', async () => {
    const { core, a } = await pair({ agents: { maxMessageBytes: 1000 } });
    const error = await refusal(core, a, { to: 'b', method: 'note', params: { text: 'x'.repeat(1000) } });
    expect(error).toMatchObject({ data: { code: 'MESSAGE_TOO_LARGE' } });
  });

  test('more often than is allowed, until time has passed', async () => {
    const { core, a, b } = await pair({ agents: { maxPerSecond: 2 } });
    for (let n = 0; n < 6; n++) a.say(send(n, { to: 'b', method: 'note', params: { n }, notify: true }));
    await core.settle();
    expect(b.notifications('note').map(({ params }) => params?.n)).toEqual([0, 1, 2, 3]);
    expect([4, 5].map((id) => codeOf(a.answersTo(id)[0]))).toEqual(['TOO_MANY_MESSAGES', 'TOO_MANY_MESSAGES']);
    await core.pass(1000);
    a.say(send(7, { to: 'b', method: 'note', params: { n: 7 }, notify: true }));
    await core.settle();
    expect(a.answersTo(7)).toMatchObject([{ result: {} }]);
  });

  test('to and fro without end: two that answer each other share what one may send', async () => {
    const { core, a, b } = await pair({ agents: { maxPerSecond: 3 } });
    const other = await core.ready({ _meta: { 'mcp-bridge/clientId': 'c', 'mcp-bridge/accepts': true } });
    for (let n = 0; n < 4; n++) {
      a.say(send(n, { to: 'b', method: 'note', notify: true }));
      b.say(send(n, { to: 'a', method: 'note', notify: true }));
    }
    await core.settle();
    expect([...a.notifications('note'), ...b.notifications('note')]).toHaveLength(6);
    a.say(send(9, { to: 'c', method: 'note', notify: true }));
    await core.settle();
    expect(other.notifications('note')).toHaveLength(1);
  });

  test('that was handed on too often', async () => {
    const { core, a } = await pair({ agents: { maxHops: 3 } });
    const hops = (n: unknown): object => ({ to: 'b', method: 'note', notify: true, _meta: { 'mcp-bridge/hops': n } });
    expect(await refusal(core, a, hops(2))).toBeUndefined();
    expect(await refusal(core, a, hops(3))).toMatchObject({ data: { code: 'MESSAGE_LOOP' } });
    expect(await refusal(core, a, hops('many'))).toMatchObject({ data: { code: 'MESSAGE_INVALID' } });
    const inner = { to: 'b', method: 'note', notify: true, params: { _meta: { 'mcp-bridge/hops': 9 } } };
    expect(await refusal(core, a, inner)).toMatchObject({ data: { code: 'MESSAGE_LOOP' } });
  });

  test('to a client that does not take what it was sent', async () => {
    const { core, a, b } = await pair({ limits: { maxQueuedBytesPerClient: 65_536 }, agents: { maxPerSecond: 1000 } });
    b.link.block();
    const answers: unknown[] = [];
    for (let n = 0; n < 20; n++) {
      a.say(send(n, { to: 'b', method: 'note', params: { text: 'x'.repeat(10_000) }, notify: true }));
      await core.settle();
      answers.push(codeOf(a.answersTo(n)[0]));
    }
    expect(answers.slice(0, 5)).toEqual(Array(5).fill(undefined));
    expect(answers.slice(10)).toEqual(Array(10).fill('CLIENT_BUSY'));
    b.link.unblock();
    expect(await refusal(core, a, { to: 'b', method: 'note', notify: true })).toBeUndefined();
  });

  test('beyond what may be unanswered, by its sender or its receiver', async () => {
    const { core, a, b } = await pair({ agents: { maxInFlight: 2 } });
    const c = await core.ready({ _meta: { 'mcp-bridge/clientId': 'c' } });
    a.say(send(1, { to: 'b', method: 'note' }), send(2, { to: 'b', method: 'note' }));
    await core.settle();
    expect(await refusal(core, a, { to: 'b', method: 'note' })).toMatchObject({ data: { code: 'CLIENT_BUSY' } });
    expect(await refusal(core, c, { to: 'b', method: 'note' })).toMatchObject({ data: { code: 'CLIENT_BUSY' } });
    b.say({ jsonrpc: '2.0', id: b.received.at(-1)?.id, result: {} });
    c.say(send('now', { to: 'b', method: 'note' }));
    await core.settle();
    expect(b.received.filter(({ method }) => method === 'note')).toHaveLength(3);
  });

  test.each([
    [undefined, 'params must be an object'],
    [{}, 'params.to must be the id of a client'],
    [{ to: 'b' }, 'params.method must be a string'],
    [{ to: 'b', method: 7 }, 'params.method must be a string'],
    [{ to: 'b', method: 'note', params: [1] }, 'params.params must be an object'],
    [{ to: 'b', method: 'note', notify: 'yes' }, 'params.notify must be true or false'],
  ])('that says too little: %j', async (params, problem) => {
    const { core, a } = await pair();
    a.say({ jsonrpc: '2.0', id: 1, method: 'bridge/send', ...(params && { params }) });
    await core.settle();
    expect(a.answersTo(1)[0]?.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem) as string,
      data: { code: 'MESSAGE_INVALID' },
    });
  });

  test('before initialize, or by a session that is no client', async () => {
    const { core } = await pair();
    const early = core.connect();
    early.say(send(1, { to: 'b', method: 'note' }));
    const control = await core.ready({ _meta: { 'mcp-bridge/role': 'control' } });
    control.say(send(1, { to: 'b', method: 'note' }));
    await core.settle();
    expect(early.answersTo(1)[0]?.error?.code).toBe(-32600);
    expect(control.answersTo(1)).toEqual([]); // the control methods are asked, which this core has none of
  });
});

describe('bridge/clients', () => {
  test('says who is there and what they accept, and nothing of control sessions', async () => {
    const { core, a } = await pair();
    await core.ready({ _meta: { 'mcp-bridge/role': 'control', 'mcp-bridge/clientId': 'secret' } });
    core.connect();
    await core.settle();
    a.say({ jsonrpc: '2.0', id: 1, method: 'bridge/clients' });
    await core.settle();
    expect(a.answersTo(1)[0]?.result).toEqual({
      clients: [
        { id: 'a', name: 'test', version: '1', accepts: true, mailbox: false },
        { id: 'b', name: 'test', version: '1', accepts: ['review/*', 'note'], mailbox: false },
      ],
    });
  });

  test('gives each client once, in pages, whoever comes and goes meanwhile', async () => {
    const { core, a, b } = await pair();
    for (let n = 0; n < 7; n++) await core.ready({ _meta: { 'mcp-bridge/clientId': `c${n}` } });
    const ids: unknown[] = [];
    let cursor: unknown;
    do {
      a.say({ jsonrpc: '2.0', id: `page-${cursor}`, method: 'bridge/clients', params: { limit: 3, cursor } });
      await core.settle();
      const { clients, nextCursor } = a.answersTo(`page-${cursor}`)[0]?.result ?? {};
      ids.push(...(clients as { id: string }[]).map(({ id }) => id));
      if (cursor === undefined) b.link.destroy();
      cursor = nextCursor;
    } while (cursor !== undefined);
    expect(ids).toEqual(['a', 'b', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
  });

  test.each([{ limit: 0 }, { limit: 1001 }, { limit: 'x' }, { cursor: '' }, { cursor: {} }])(
    'refuses %j',
    async (params) => {
      const { core, a } = await pair();
      a.say({ jsonrpc: '2.0', id: 1, method: 'bridge/clients', params });
      await core.settle();
      expect(codeOf(a.answersTo(1)[0])).toBe('MESSAGE_INVALID');
    },
  );
});

test('initialize says what is wrong with what a client accepts', async () => {
  const core = new CoreInMemory();
  for (const accepts of ['all', [''], [7], Array(65).fill('m'), { m: true }]) {
    const client = core.connect();
    client.initialize('init', { _meta: { 'mcp-bridge/accepts': accepts } });
    await core.settle();
    expect(client.answersTo('init')[0]?.error).toMatchObject({ code: -32602 });
  }
});

test('a client that leaves in the middle of many messages leaves nothing behind', async () => {
  const { core, a, b } = await pair({ agents: { maxPerSecond: 1000 } });
  for (let n = 0; n < 30; n++) a.say(send(n, { to: 'b', method: 'note' }));
  await core.settle();
  a.link.destroy();
  b.link.destroy();
  await core.settle();
  expect(core.openCalls).toBe(0);
  expect(core.manager.clients()).toEqual([]);
});
