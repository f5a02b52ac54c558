// What becomes of requests in traces, and what servers are told of them: the real core in memory, between clients and servers of both eras.

import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import type { RequestTrace, ServerLeg } from '../../../src/telemetry/request-trace.ts';
import { RequestTracer, type TracerOptions } from '../../../src/telemetry/request-tracer.ts';
import { samplerOf } from '../../../src/telemetry/sampler.ts';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: { elicitation: { form: {} } },
};
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;

class World {
  readonly answered: RequestTrace[] = [];
  readonly served: ServerLeg[] = [];
  readonly core: CoreInMemory;

  constructor(sampler = 'parentbased_always_on', options: CoreOptions = {}, more: Partial<TracerOptions> = {}) {
    const finished: TracerOptions['finished'] = {
      answered: (request) => void this.answered.push(request),
      served: (leg) => void this.served.push(leg),
    };
    this.core = new CoreInMemory({
      ...options,
      tracing: (events) =>
        new RequestTracer(
          {
            sampler: samplerOf(sampler, undefined) ?? { admits: () => true },
            propagates: true,
            showsArguments: false,
            showsResults: false,
            now: () => this.core.clock.now(),
            finished,
            ...more,
          },
          events,
        ),
    });
  }

  /** Those of calls alone. */
  get calls(): RequestTrace[] {
    return this.answered.filter(({ method }) => method.name === 'tools/call');
  }

  async sent(client: TestClient, ...lines: (string | object)[]): Promise<Message> {
    client.say(...lines);
    await this.core.settle();
    const request = this.core.server().requests.at(-1);
    if (request === undefined) throw new Error('the server was not asked');
    return request;
  }

  /** The very bytes of the last line that the server was sent. */
  get line(): string {
    return this.core.server().link?.lines.at(-1) ?? '';
  }
}

const call = (id: number, params: object): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params });
const metaOf = ({ params }: Message): Record<string, string> => (params?._meta ?? {}) as Record<string, string>;
const ofOurs = (trace = '[0-9a-f]{32}', flags = '01'): unknown =>
  expect.stringMatching(new RegExp(`^00-${trace}-(?!0{16}|${SPAN})[0-9a-f]{16}-${flags}$`));

describe.each([
  ['2025', '2025'],
  ['2025', '2026'],
  ['2026', '2025'],
  ['2026', '2026'],
])('a client of %s and a server of %s', (clientEra, serverEra) => {
  async function ready(world: World): Promise<TestClient> {
    world.core.server().era = serverEra === '2026' ? ERA_2026 : ERA_2025;
    return clientEra === '2025' ? await world.core.ready() : world.core.connect();
  }
  const who = clientEra === '2026' ? WHO : {};
  const added = serverEra === '2026' ? Object.keys(WHO) : [];

  test('a server is told the span that asks it, which belongs to the client’s span', async () => {
    const world = new World();
    const client = await ready(world);
    const request = await world.sent(
      client,
      call(1, { name: 'tool', arguments: {}, _meta: { ...who, traceparent: PARENT, tracestate: 'a=1', own: 2 } }),
    );
    expect(metaOf(request).traceparent).toEqual(ofOurs(TRACE));
    expect(Object.keys(metaOf(request)).sort()).toEqual([...added, 'own', 'traceparent', 'tracestate'].sort());
    expect(metaOf(request).tracestate).toBe('a=1');
    world.core.server().answer(request);
    await world.core.settle();
    const [trace] = world.calls;
    const [leg] = world.served;
    expect(trace?.parent).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
    expect(metaOf(request).traceparent).toBe(`00-${TRACE}-${leg?.spanId}-01`);
    expect(leg?.request).toBe(trace);
    expect(trace?.spanId).not.toBe(leg?.spanId);
  });

  test.each([
    ['no params', undefined],
    ['no _meta', { name: 'tool' }],
    ['an empty _meta', { name: 'tool', _meta: {} }],
    ['a _meta with others in it', { name: 'tool', _meta: { own: [1] } }],
  ])('a client that says nothing of a trace begins one: %s', async (_, params) => {
    if (clientEra === '2026' && params === undefined) return; // such a request says who asks
    const world = new World();
    const client = await ready(world);
    const whole =
      params === undefined ? {} : { params: { ...params, _meta: { ...who, ...(params as { _meta?: object })._meta } } };
    if (clientEra === '2025' && params !== undefined && !('_meta' in params))
      Reflect.deleteProperty(whole.params as object, '_meta');
    const request = await world.sent(client, { jsonrpc: '2.0', id: 1, method: 'x/y', ...whole });
    expect(metaOf(request).traceparent).toEqual(ofOurs());
    expect(request.params?.name).toBe(params === undefined ? undefined : 'tool');
  });

  test.each([
    ['none that there is', 'nonsense'],
    ['one of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no text', 7],
  ])('a context that is %s is replaced', async (_, traceparent) => {
    const world = new World();
    const client = await ready(world);
    const request = await world.sent(client, call(1, { name: 'tool', _meta: { ...who, traceparent } }));
    expect(metaOf(request).traceparent).toEqual(ofOurs());
    world.core.server().answer(request);
    await world.core.settle();
    expect(world.calls[0]?.parent).toBeUndefined();
  });

  test('two contexts in one request are none, and neither reaches the server', async () => {
    const world = new World();
    const client = await ready(world);
    const text = JSON.stringify(call(1, { name: 'tool', _meta: { ...who, traceparent: PARENT } }));
    await world.sent(
      client,
      text.replace('"traceparent"', `"Traceparent":"x","traceparent":"${PARENT}","traceparent"`),
    );
    expect(world.line.match(/traceparent/gi)).toHaveLength(1);
    expect(world.line).not.toContain(TRACE);
  });

  test('a trace that the client does not send is passed on as such, and none of it is finished with details', async () => {
    const world = new World();
    const client = await ready(world);
    const request = await world.sent(
      client,
      call(1, { name: 'tool', _meta: { ...who, traceparent: PARENT.replace(/01$/, '00') } }),
    );
    expect(metaOf(request).traceparent).toEqual(ofOurs(TRACE, '00'));
    world.core.server().answer(request);
    await world.core.settle();
    expect(world.calls.map(({ isSampled, details }) => [isSampled, details])).toEqual([[false, undefined]]);
  });

  test('without telemetry the client’s context passes as it is', async () => {
    const core = new CoreInMemory();
    core.server().era = serverEra === '2026' ? ERA_2026 : ERA_2025;
    const client = clientEra === '2025' ? await core.ready() : core.connect();
    client.say(call(1, { name: 'tool', _meta: { ...who, traceparent: 'of its own' } }));
    await core.settle();
    expect(metaOf(core.server().requests.at(-1) as Message).traceparent).toBe('of its own');
  });
});

test('a context is spliced in: all other bytes of the request are the client’s', async () => {
  const world = new World();
  const client = await world.core.ready();
  await world.sent(
    client,
    ' {"jsonrpc":"2.0" , "id":1,"method":"tools/call","params":{"name":"t\\u0061", "n":1.0e2 }}',
  );
  expect(world.line).toMatch(
    /^ \{"jsonrpc":"2\.0" , "id":\d+,"method":"tools\/call","params":\{"_meta":\{"traceparent":"00-[0-9a-f]{32}-[0-9a-f]{16}-01"\},"name":"t\\u0061", "n":1\.0e2 \}\}$/,
  );
});

test.each([
  ['params that are no object', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":[1]}'],
  ['a _meta that is no object', '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":3}}'],
])('%s are the server’s to refuse', async (_, line) => {
  const world = new World();
  const client = await world.core.ready();
  const request = await world.sent(client, line);
  expect(world.line).toBe(line.replace('"id":1', `"id":${request.id}`));
});

test('each message of a batch has a context of its own', async () => {
  const world = new World();
  const client = await world.core.ready({ protocolVersion: '2025-03-26' });
  const quiet = { name: 'tool', _meta: { traceparent: PARENT } };
  client.say(
    JSON.stringify([call(1, quiet), { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri: 'a://b' } }]),
  );
  await world.core.settle();
  for (const request of world.core.server().requests) world.core.server().answer(request);
  await world.core.settle();
  const told = world.core.server().requests.map((request) => metaOf(request).traceparent);
  expect(told).toEqual([ofOurs(TRACE), ofOurs()]);
  expect(told[1]).not.toContain(TRACE);
});

test('a request that waited is told the context when it is sent', async () => {
  const world = new World();
  const client = await world.core.ready();
  world.core.server().opensByItself = false;
  world.core.server().crash();
  client.call(1, {}, { traceparent: PARENT });
  await world.core.settle();
  world.core.clock.advance(400);
  world.core.server().open();
  await world.core.settle();
  const [request] = world.core.server().requests;
  expect(metaOf(request as Message).traceparent).toEqual(ofOurs(TRACE));
  world.core.clock.advance(20);
  world.core.server().answer(request);
  await world.core.settle();
  const [trace] = world.calls;
  const [leg] = world.served;
  expect([leg?.sentMs, leg?.endedMs].map((ms) => (ms ?? 0) - (trace?.startedMs ?? 0))).toEqual([400, 420]);
  expect(trace?.details?.notes).toEqual([{ name: 'mcp_bridge.waiting', atMs: trace?.startedMs, why: 'turn' }]);
});

describe('the end of a call', () => {
  async function ended(end: (world: World, client: TestClient, request: Message) => void): Promise<World> {
    const world = new World('always_on', { definition: { timeoutMs: 1000 } });
    const client = await world.core.ready();
    const request = await world.sent(client, call(1, { name: 'tool', arguments: {} }));
    end(world, client, request);
    await world.core.settle();
    expect(world.calls).toHaveLength(1);
    expect(world.served).toHaveLength(1);
    return world;
  }
  const failures = ({ calls, served }: World): unknown => [calls[0]?.failure, served[0]?.failure];
  const say =
    (answer: object) =>
    (world: World, _: TestClient, { id }: Message) =>
      world.core.server().say({ jsonrpc: '2.0', id, ...answer });

  test('a result is a success on both sides', async () => {
    expect(failures(await ended(say({ result: { content: [] } })))).toEqual([undefined, undefined]);
  });

  test('a result that says that the tool has failed is one', async () => {
    const world = await ended(say({ result: { content: [], isError: true } }));
    expect(failures(world)).toEqual([{ type: 'tool_error' }, { type: 'tool_error' }]);
  });

  test('an error has the server’s code, and not its words', async () => {
    const world = await ended(say({ error: { code: -32602, message: 'SECRET' } }));
    const failure = { type: '-32602', status: '-32602', message: undefined };
    expect(failures(world)).toEqual([failure, failure]);
  });

  test('a server that dies has given no answer', async () => {
    const world = await ended(({ core }) => core.server().crash());
    expect(failures(world)).toEqual([
      expect.objectContaining({ type: '-32603', status: '-32603', code: 'SERVER_CRASHED' }),
      expect.objectContaining({ type: 'SERVER_CRASHED', code: 'SERVER_CRASHED' }),
    ]);
    expect(world.served[0]?.failure?.status).toBeUndefined();
  });

  test('a call that takes too long is a timeout at its server', async () => {
    const world = await ended(({ core }) => {
      core.clock.advance(1000);
      core.clock.advance(1000);
      core.clock.advance(1000);
    });
    expect(failures(world)).toEqual([
      expect.objectContaining({ type: '-32603', status: '-32603', code: 'CALL_TIMED_OUT' }),
      expect.objectContaining({ type: 'timeout', code: 'CALL_TIMED_OUT' }),
    ]);
  });

  test('a call that its client has cancelled', async () => {
    const world = await ended((_, client) => client.cancel(1));
    expect(failures(world)).toEqual([{ type: 'cancelled' }, { type: 'cancelled' }]);
  });

  test('a call whose client has gone', async () => {
    const world = await ended((_, client) => client.link.destroy());
    expect(failures(world)).toEqual([{ type: 'client-gone' }, { type: 'client-gone' }]);
  });
});

test('requests that the bridge answers itself are served by nobody else', async () => {
  const world = new World('always_on');
  const client = await world.core.ready();
  client.say({ jsonrpc: '2.0', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 2, method: 'server/discover' });
  await world.core.settle();
  expect(world.answered.map(({ method, failure }) => [method.name, failure?.status])).toEqual([
    ['initialize', undefined],
    ['ping', undefined],
    ['server/discover', '-32601'],
  ]);
  expect(world.served).toEqual([]);
});

test('a call that goes on with another request has two answers and one span at its server', async () => {
  const world = new World('always_on');
  const client = world.core.connect();
  const say = (id: number, more: object): void =>
    client.say(call(id, { name: 'tool', arguments: { a: 1 }, _meta: WHO, ...more }));
  say(1, {});
  await world.core.settle();
  world.core.server().say({
    jsonrpc: '2.0',
    id: 'q',
    method: 'elicitation/create',
    params: { message: '?', requestedSchema: { type: 'object', properties: {} } },
  });
  await world.core.settle();
  world.core.clock.advance(5);
  await world.core.settle();
  const { inputRequests, requestState } = (client.answersTo(1)[0]?.result ?? {}) as {
    inputRequests: Record<string, unknown>;
    requestState: string;
  };
  expect(world.calls).toHaveLength(1);
  expect(world.served).toHaveLength(0);
  const [key = ''] = Object.keys(inputRequests);
  say(2, { requestState, inputResponses: { [key]: { action: 'accept', content: {} } } });
  await world.core.settle();
  world.core.server().answer(world.core.server().requests[0]);
  await world.core.settle();
  expect(client.answersTo(2)).toHaveLength(1);
  expect(world.calls.map(({ details, failure }) => [details?.id, failure])).toEqual([
    ['1', undefined],
    ['2', undefined],
  ]);
  expect(world.served.map(({ request }) => request.details?.id)).toEqual(['1']);
});

test('arguments and results are kept only where somebody asked for them', async () => {
  const secret = new World('always_on');
  const open = new World('always_on', {}, { showsArguments: true, showsResults: true });
  for (const world of [secret, open]) {
    const client = await world.core.ready();
    const request = await world.sent(client, call(1, { name: 'tool', arguments: { a: 'CANARY' } }));
    world.core.server().answer(request);
    await world.core.settle();
  }
  expect(JSON.stringify(secret.calls.map(({ details }) => details))).not.toContain('CANARY');
  expect(open.calls[0]?.details).toMatchObject({ toolArguments: '{"a":"CANARY"}', result: '{"echo":{"a":"CANARY"}}' });
});
