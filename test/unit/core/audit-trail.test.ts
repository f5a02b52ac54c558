// What is recorded of calls: each exactly once, with what has become of it.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AuditTrail, CallOutcome, CallRecord } from '../../../src/core/audit-trail.ts';
import type { ToolGate } from '../../../src/model/tool-gate.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { runs } from '../../support/runs.ts';

// Which a core loads with the first arguments that it checks.
beforeAll(() => import('../../../src/meta-tools/schema-compiler.ts'));

interface Recorded {
  readonly client: string;
  readonly view: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly args: string;
  readonly outcome: CallOutcome | undefined;
  readonly code: string;
  readonly durationMs: number;
  readonly answerBytes: number;
  readonly requestBytes: number;
  readonly about?: object;
}

class Records implements AuditTrail {
  readonly all: Recorded[] = [];
  refusal: BridgeError | undefined;
  clock: { now(): number } | undefined;

  now(): number {
    return this.clock?.now() ?? 0;
  }
  argumentsText(b: Buffer, from: number, to: number): string {
    return b.toString('utf8', from, to);
  }
  record(call: CallRecord): void {
    const { session, server, toolText, argumentsText, outcome, code, answerBytes, requestBytes, askedMs, about } = call;
    this.all.push({
      client: session.clientId,
      view: session.view?.name,
      server,
      tool: toolText,
      args: argumentsText,
      outcome,
      code,
      durationMs: this.now() - askedMs,
      answerBytes,
      requestBytes,
      ...(about !== undefined && { about }),
    });
  }
}

const WITHOUT_OFF: ToolGate = {
  isOpen: false,
  refusalOf: (tool) => (tool === 'off' ? new BridgeError('TOOL_DISABLED', 'It is switched off') : undefined),
  tagsOf: () => [],
  isChanged: () => false,
};

const inputSchema = { type: 'object', properties: { payload: { type: 'string' } } };
const TOOLS = { tools: ['tool', 'off'].map((name) => ({ name, inputSchema })) };

function recordedCore(limits = {}): { core: CoreInMemory; records: Records } {
  const records = new Records();
  const core = new CoreInMemory({ audit: records, limits, ttlMs: 1e9 });
  records.clock = core.clock;
  core.server().has(TOOLS);
  core.server().server.gate = WITHOUT_OFF;
  return { core, records };
}

const inView = (view: string, clientId: string) => ({
  _meta: { 'mcp-bridge/view': view, 'mcp-bridge/clientId': clientId },
});

describe('any life of clients and servers', () => {
  const VIEWS = ['server:memory', 'all', 'discover'];
  type Kind = 'good' | 'off' | 'unknown' | 'faulty' | 'nameless';

  interface Call {
    readonly id: number;
    readonly args: string;
    readonly kind: Kind;
    isCancelled: boolean;
  }

  class Client {
    readonly client: TestClient;
    readonly view: string;
    readonly name: string;
    readonly calls: Call[] = [];
    isGone = false;

    constructor(client: TestClient, view: string, name: string) {
      this.client = client;
      this.view = view;
      this.name = name;
    }
  }

  class World {
    readonly core: CoreInMemory;
    readonly records: Records;
    readonly clients: Client[] = [];
    readonly #answered = new WeakMap<object, Set<unknown>>();

    constructor() {
      const most = { maxInFlightPerClient: 3, maxInFlightPerServer: 4, maxWaitingBytesPerServer: 2000 };
      const limits = { ...most, callTimeoutMs: 30_000 };
      ({ core: this.core, records: this.records } = recordedCore(limits));
    }

    async connect(which: number): Promise<void> {
      if (this.clients.length >= 4) return;
      const view = VIEWS[which % VIEWS.length] as string;
      const name = `c${this.clients.length}`;
      const client = this.core.connect();
      client.initialize('init', inView(view, name));
      client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
      await this.core.settle();
      this.clients.push(new Client(client, view, name));
    }

    call({ calls, client, view, name, isGone }: Client, kind: Kind): void {
      if (isGone || client.link.outbox.takenBytes === 0) return;
      const id = calls.length + 1;
      const payload = kind === 'faulty' ? id : `${name}/${id}`;
      const args = { payload, of: name };
      calls.push({ id, args: JSON.stringify(args), kind, isCancelled: false });
      const tool = { good: 'tool', faulty: 'tool', off: 'off', unknown: 'nope', nameless: undefined }[kind];
      const prefix = view === 'all' ? 'memory__' : '';
      const params =
        view === 'discover' && tool !== undefined
          ? { name: 'execute_tool', arguments: { server: 'memory', tool, arguments: args } }
          : { ...(tool !== undefined && { name: `${prefix}${tool}` }), arguments: args };
      client.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    }

    async cancel(of: Client, which: number): Promise<void> {
      const call = of.calls[which % Math.max(1, of.calls.length)];
      if (call === undefined || of.isGone) return;
      await this.core.settle();
      call.isCancelled = true;
      of.client.cancel(call.id);
    }

    async leave(of: Client): Promise<void> {
      await this.core.settle(); // it has what was said to it
      of.isGone = true;
      of.client.link.destroy();
      await this.core.settle();
    }

    #open(): Message[] {
      const { link, state, requests } = this.core.server();
      if (link === undefined || state !== 'ready') return [];
      const answered = this.#answered.get(link) ?? new Set();
      return requests.filter(({ id, method }) => method === 'tools/call' && !answered.has(id));
    }

    answer(which: number): void {
      const open = this.#open();
      const request = open[which % Math.max(1, open.length)];
      const { link } = this.core.server();
      if (request === undefined || link === undefined) return;
      this.#answered.set(link, new Set([...(this.#answered.get(link) ?? []), request.id]));
      const said = [
        { result: { content: [], isError: false } },
        { result: { isError: true, content: [{ type: 'text', text: '"isError":false' }] } },
        { result: { content: [{ isError: true }] } },
        { error: { code: -32602, message: 'Not so' } },
      ][which % 4];
      this.core.server().say({ jsonrpc: '2.0', id: request.id, ...said });
    }

    async finish(): Promise<void> {
      this.core.server().opensByItself = true;
      for (let i = 0; i < 300; i++) {
        this.core.server().open();
        await this.core.settle();
        if (this.#open().length === 0 && this.core.openCalls === 0) return;
        for (const _ of this.#open()) this.answer(i);
      }
      throw new Error('it does not come to an end');
    }

    check(): void {
      const calls = this.clients.flatMap((of) => of.calls.map((call) => ({ ...call, of })));
      const key = ({ client, args }: { client: string; args: string }): string => `${client} ${args}`;
      expect(this.records.all.map(key).sort()).toEqual(
        calls.map(({ of, args }) => key({ client: of.name, args })).sort(),
      );
      for (const { of, id, args, kind, isCancelled } of calls) {
        const record = this.records.all.find(({ client, args: own }) => client === of.name && own === args);
        const [answer] = of.client.answersTo(id);
        const expected = expectedOf(answer, isCancelled);
        expect({ id, kind, ...record }).toMatchObject({ ...expected, view: of.view });
        if (kind === 'good') expect(record).toMatchObject({ server: 'memory', tool: '"tool"' });
        if (kind === 'off') expect(record).toMatchObject({ server: 'memory', tool: '"off"' });
        expect((record?.answerBytes ?? 0) > 0).toBe(answer !== undefined);
        if (answer !== undefined) expect(record?.answerBytes).toBe(Buffer.byteLength(JSON.stringify(answer)) + 1);
      }
    }
  }

  /** By what the client has seen. */
  function expectedOf(answer: Message | undefined, isCancelled: boolean): { outcome: string; code?: string } {
    if (answer === undefined) return { outcome: isCancelled ? 'cancelled' : 'client-gone' };
    if (answer.error === undefined) return { outcome: answer.result?.isError === true ? 'tool-error' : 'ok' };
    const { code } = answer.error.data ?? {};
    if (code === undefined) {
      const own = answer.error.message === 'params.name is missing';
      return own ? { outcome: 'refused', code: String(answer.error.code) } : { outcome: 'error', code: '' };
    }
    const outcomes: Record<string, string> = {
      CALL_TIMED_OUT: 'timeout',
      SERVER_CRASHED: 'crashed',
      SERVER_START_FAILED: 'error',
    };
    return { outcome: outcomes[code] ?? 'refused', code };
  }

  const step = fc.record({
    do: fc.constantFrom(
      ...(['connect', 'call', 'call', 'call', 'call', 'answer', 'answer', 'answer', 'cancel', 'settle'] as const),
      ...(['off', 'unknown', 'faulty', 'nameless', 'crash', 'slow', 'open', 'leave', 'minute', 'settle'] as const),
    ),
    who: fc.nat({ max: 3 }),
    which: fc.nat({ max: 20 }),
  });

  test('gives each call one record, with the outcome that its client has seen', async () => {
    const seen = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), async (steps) => {
        const world = new World();
        const server = world.core.server();
        await world.connect(0);
        for (const { do: what, who, which } of steps) {
          const of = world.clients[who % world.clients.length] as Client;
          if (what === 'connect') await world.connect(which);
          else if (what === 'answer') world.answer(which);
          else if (what === 'settle') await world.core.settle();
          else if (what === 'crash') server.crash();
          else if (what === 'slow') server.opensByItself = !server.opensByItself;
          else if (what === 'open') server.instances[0]?.open();
          else if (what === 'minute') await world.core.pass(62_000);
          else if (what === 'cancel') await world.cancel(of, which);
          else if (what === 'leave') await world.leave(of);
          else world.call(of, what === 'call' ? 'good' : what);
        }
        await world.finish();
        world.check();
        for (const { outcome } of world.records.all) seen.add(outcome);
      }),
      { numRuns: runs(400) },
    );
    expect([...seen].sort()).toEqual(
      ['ok', 'tool-error', 'error', 'refused', 'timeout', 'crashed', 'cancelled', 'client-gone'].sort(),
    );
  });
});

describe('a call that is refused', () => {
  const call = (id: unknown, params: object) => ({ jsonrpc: '2.0', id, method: 'tools/call', params });

  async function refused(view: string, request: object | string, before?: (core: CoreInMemory) => void) {
    const { core, records } = recordedCore();
    const client = await core.ready(inView(view, 'me'));
    before?.(core);
    client.say(request);
    await core.settle();
    expect(client.received.at(-1)?.error).toBeDefined();
    return records.all;
  }

  test.each([
    ['server:memory', call(1, { name: 'off' }), { server: 'memory', tool: '"off"', code: 'TOOL_DISABLED' }],
    ['all', call(1, { name: 'memory__off' }), { server: 'memory', tool: '"off"', code: 'TOOL_DISABLED' }],
    ['all', call(1, { name: 'other__x' }), { server: '', tool: '"other__x"', code: 'TOOL_NOT_FOUND' }],
    ['discover', call(1, { name: 'other' }), { server: '', tool: '"other"', code: 'TOOL_NOT_FOUND' }],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: {} }),
      { tool: '"execute_tool"', code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'search_tools', arguments: {} }),
      { tool: '"search_tools"', code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'else', tool: 'größe', arguments: { a: 1 } } }),
      { server: 'else', tool: Buffer.from('"größe"').toString('latin1'), args: '{"a":1}', code: 'SERVER_NOT_FOUND' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'x', arguments: { a: 1 } } }),
      { server: 'memory', tool: '"x"', args: '{"a":1}', code: 'TOOL_NOT_FOUND' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'off', arguments: { a: 1 } } }),
      { server: 'memory', tool: '"off"', args: '{"a":1}', code: 'TOOL_DISABLED' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'tool', arguments: { payload: 1 } } }),
      { server: 'memory', tool: '"tool"', args: '{"payload":1}', code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'off' } }),
      { server: 'memory', tool: '"off"', args: '{}', code: 'TOOL_DISABLED' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'off', arguments: '{\n"a":1}' } }),
      { server: 'memory', tool: '"off"', args: '{ "a":1}', code: 'TOOL_DISABLED' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', tool: 'off', arguments: 7 } }),
      { server: 'memory', tool: '"off"', code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'execute_tool', arguments: { server: 'memory', arguments: {} } }),
      { server: 'memory', tool: '"execute_tool"', code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'get_tool_details', arguments: { server: 'memory', tool: 'off' } }),
      { tool: '"get_tool_details"', about: { server: 'memory', tool: 'off' }, code: 'TOOL_DISABLED' },
    ],
    [
      'discover',
      call(1, { name: 'get_tool_details', arguments: { server: 'memory' } }),
      { tool: '"get_tool_details"', about: { server: 'memory', tool: '' }, code: 'TOOL_ARGUMENTS_INVALID' },
    ],
    [
      'discover',
      call(1, { name: 'list_tools', arguments: { server: 'else' } }),
      { tool: '"list_tools"', about: { server: 'else', tool: '' }, code: 'SERVER_NOT_FOUND' },
    ],
    [
      'discover',
      call(1, { name: 'search_tools', arguments: { query: 'x', server: 'else' } }),
      { tool: '"search_tools"', about: { server: 'else', tool: '' }, code: 'SERVER_NOT_FOUND' },
    ],
    ['server:memory', call({}, { name: 'tool' }), { tool: '"tool"', code: '-32600' }],
    [
      'server:memory',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"off","Name":"tool"}}',
      { tool: '', code: '-32600' },
    ],
  ])('in the view %s is recorded: %j', async (view, request, expected) => {
    const records = await refused(view, request);
    expect(records).toEqual([expect.objectContaining({ client: 'me', view, outcome: 'refused', ...expected })]);
  });

  test('is recorded before its client has shaken hands, too', async () => {
    const { core, records } = recordedCore();
    const client = core.connect();
    client.call(1);
    await core.settle();
    expect(records.all).toMatchObject([
      { client: '', view: undefined, outcome: 'refused', code: '-32600', tool: '"tool"' },
    ]);
  });

  test('is recorded under an id that is in use', async () => {
    const { core, records } = recordedCore();
    const client = await core.ready(inView('server:memory', 'me'));
    client.call(1, { first: 1 });
    client.call(1, { second: 1 });
    await core.settle();
    expect(records.all).toMatchObject([{ args: '{"second":1}', outcome: 'refused', code: 'REQUEST_REFUSED' }]);
  });

  test('is recorded while the daemon ends, and so is one that it gives up', async () => {
    const { core, records } = recordedCore({ drainTimeoutMs: 1000 });
    const client = await core.ready(inView('server:memory', 'me'));
    client.call(1);
    await core.settle();
    const drained = core.manager.drain();
    client.call(2);
    await core.pass(2000);
    await drained;
    const closed = core.manager.close();
    await core.settle();
    await closed;
    expect(records.all).toMatchObject([
      { outcome: 'refused', code: 'SHUTTING_DOWN', durationMs: 0 },
      { outcome: 'refused', code: 'SHUTTING_DOWN', durationMs: 2000 },
    ]);
  });

  test.each(['server:memory', 'discover'])(
    'because it could not be recorded reaches no server in the view %s',
    async (view) => {
      const { core, records } = recordedCore();
      const client = await core.ready(inView(view, 'me'));
      const own = (id: number, tool: string): object =>
        view === 'discover'
          ? call(id, { name: 'execute_tool', arguments: { server: 'memory', tool, arguments: {} } })
          : call(id, { name: tool, arguments: {} });
      records.refusal = new BridgeError('AUDIT_FAILED', 'It could not be recorded');
      client.say(own(1, 'tool'), own(2, 'off'));
      await core.settle();
      expect(core.server().requests.filter(({ method }) => method === 'tools/call')).toEqual([]);
      records.refusal = undefined;
      client.say(own(3, 'tool'));
      await core.settle();
      core.server().answer(core.server().requests.find(({ method }) => method === 'tools/call'));
      await core.settle();
      expect(records.all.map(({ code, outcome }) => code || outcome)).toEqual(['AUDIT_FAILED', 'TOOL_DISABLED', 'ok']);
      expect(client.answersTo(1)[0]?.error).toMatchObject({ code: -32603, data: { code: 'AUDIT_FAILED' } });
    },
  );
});

test('lookups with the meta-tools are recorded as lookups', async () => {
  const { core, records } = recordedCore();
  const client = await core.ready(inView('discover', 'me'));
  client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_mcp_servers', arguments: {} } });
  await core.settle();
  expect(records.all).toMatchObject([{ server: '', tool: '"list_mcp_servers"', args: '{}', outcome: 'ok', code: '' }]);
});

test('nothing but calls is recorded', async () => {
  const { core, records } = recordedCore();
  const client = await core.ready(inView('server:memory', 'me'));
  client.say(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 2, method: 'resources/read', params: {} },
  );
  await core.settle();
  expect(records.all).toEqual([]);
});
