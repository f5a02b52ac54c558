// Random lives of clients that differ in what they offer, in their roots and in what they see, on several servers that
// ask back, with every way of sharing. Whatever happens: each request gets exactly one answer, its own; a question that a
// server asks in a call is shown to that call's client or to nobody; and nothing is left of any of them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  CoreInMemory,
  type Message,
  type TestClient,
  type TestInstance,
  type TestLink,
} from '../../support/core-in-memory.ts';
import { runs } from '../../support/runs.ts';

const SERVERS = ['a', 'b'];
/** The last where a call has kept the lane from others for too long. */
const ALLOWED = ['SERVER_CRASHED', 'SERVER_START_FAILED', 'SERVER_BUSY'];
const FOR_EVER = 1_000_000_000;

interface Kind {
  readonly view: 'all' | 'server:a' | 'server:b';
  readonly offers: readonly ('roots' | 'elicitation')[];
}

interface Call {
  readonly id: number;
  readonly payload: string;
  isCancelled: boolean;
}

class ModelClient {
  readonly name: string;
  readonly kind: Kind;
  readonly client: TestClient;
  readonly calls: Call[] = [];
  roots = 0;
  hasEnded = false;
  isGone = false;
  readonly #replied = new Set<unknown>();

  constructor(name: string, kind: Kind, client: TestClient) {
    this.name = name;
    this.kind = kind;
    this.client = client;
  }

  get isActive(): boolean {
    return !this.hasEnded && !this.isGone;
  }

  get questions(): Message[] {
    return this.client.received.filter(
      ({ id, method }) => method !== undefined && id !== undefined && method !== 'ping',
    );
  }

  /** Answers one of the questions that it was asked. */
  reply(): boolean {
    const open = this.questions.find(({ id }) => !this.#replied.has(id));
    if (open === undefined || !this.isActive) return false;
    this.#replied.add(open.id);
    const result = open.method === 'roots/list' ? { roots: [{ uri: `r:${this.roots}` }] } : { by: this.name };
    this.client.say({ jsonrpc: '2.0', id: open.id, result });
    return true;
  }
}

class World {
  readonly core: CoreInMemory;
  readonly clients: ModelClient[] = [];
  /** By their links, since each start of an instance has another one. */
  readonly #answered = new Map<TestLink, Set<unknown>>();
  readonly #asked: { readonly link: TestLink; readonly id: string; readonly owner: string }[] = [];

  constructor(sharing: 'auto' | 'shared' | 'dedicated', trustHints: boolean, limits: object) {
    this.core = new CoreInMemory({
      servers: SERVERS,
      definition: { sharing, trustHints },
      ttlMs: FOR_EVER,
      limits: { callTimeoutMs: FOR_EVER, ...limits },
    });
    for (const name of SERVERS) {
      const annotations = { readOnlyHint: name === 'a' };
      this.core.server(name).has({ tools: [{ name: 'tool', annotations }] });
    }
  }

  get instances(): TestInstance[] {
    return SERVERS.flatMap((name) => this.core.server(name).instances).filter(({ isRetired }) => !isRetired);
  }

  connect(kind: Kind): void {
    if (this.clients.length >= 5) return;
    const client = new ModelClient(`c${this.clients.length}`, kind, this.core.connect());
    const capabilities = Object.fromEntries(kind.offers.map((role) => [role, {}]));
    client.client.initialize('init', { capabilities, _meta: { 'mcp-bridge/view': kind.view } });
    client.client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.clients.push(client);
  }

  call(of: ModelClient, which: number): void {
    if (!of.isActive) return;
    const id = of.calls.length + 1;
    const payload = `${of.name}/${id}`;
    const server = SERVERS[which % SERVERS.length];
    const name = of.kind.view === 'all' ? `${server}__tool` : 'tool';
    of.calls.push({ id, payload, isCancelled: false });
    of.client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { payload } } });
  }

  cancel(of: ModelClient, which: number): void {
    const call = of.calls[which % Math.max(1, of.calls.length)];
    if (call === undefined || !of.isActive) return;
    call.isCancelled = true;
    of.client.cancel(call.id);
  }

  endSide(of: ModelClient): void {
    const isWelcomed = of.client.link.outbox.takenBytes > 0;
    if (!of.isActive || !isWelcomed) return;
    of.hasEnded = true;
    of.client.link.endByPeer();
  }

  changeRoots(of: ModelClient, which: number): void {
    if (!of.isActive) return;
    of.roots = which % 3;
    of.client.say({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  }

  /** Not while a client shakes hands: one whose initialize fails is another test's business. */
  failToStart(instance: TestInstance | undefined): void {
    const areWelcomed = this.clients.every(({ client, isGone }) => isGone || client.link.outbox.takenBytes > 0);
    if (instance?.state === 'starting' && areWelcomed) instance.failToStart();
  }

  /** Calls that an instance works on. */
  openAt(instance: TestInstance): Message[] {
    if (instance.link === undefined || instance.state !== 'ready') return [];
    const done = this.#answered.get(instance.link) ?? new Set();
    return instance.requests.filter(
      ({ id, method }) => method === 'tools/call' && !done.has(id) && !instance.cancelled.includes(id),
    );
  }

  answer(instance: TestInstance | undefined, which: number): void {
    if (instance?.link === undefined) return;
    const open = this.openAt(instance);
    const request = open[which % Math.max(1, open.length)];
    if (request === undefined || this.#isAskedAbout(instance.link, request)) return;
    this.#answered.set(instance.link, new Set([...(this.#answered.get(instance.link) ?? []), request.id]));
    instance.answer(request);
  }

  /** A tool that has asked waits for what it is told. */
  #isAskedAbout(link: TestLink, request: Message): boolean {
    return this.#asked.some(
      (asked) => asked.link === link && asked.owner === payloadOf(request) && this.#repliesTo(asked).length === 0,
    );
  }

  #repliesTo({ link, id }: { readonly link: TestLink; readonly id: string }): Message[] {
    const said = link.lines.map((line) => JSON.parse(line) as Message);
    return said.filter((message) => message.method === undefined && message.id === id);
  }

  /** Asks for roots, or in a call that its client still waits for. */
  ask(instance: TestInstance | undefined, which: number): void {
    if (instance?.link === undefined || instance.state !== 'ready') return;
    const id = `q${this.#asked.length}`;
    const open = this.openAt(instance).filter((request) => this.#isWanted(request));
    const call = open[which % Math.max(1, open.length)];
    if (which % 3 === 0 || call === undefined) {
      this.#asked.push({ link: instance.link, id, owner: '' });
      return instance.say({ jsonrpc: '2.0', id, method: 'roots/list' });
    }
    const owner = payloadOf(call);
    this.#asked.push({ link: instance.link, id, owner });
    instance.say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { message: owner } });
  }

  #isWanted(request: Message): boolean {
    const payload = payloadOf(request);
    const of = this.clients.find(({ calls }) => calls.some((call) => call.payload === payload));
    return of?.isGone === false && of.calls.some((call) => call.payload === payload && !call.isCancelled);
  }

  async finish(): Promise<void> {
    for (const name of SERVERS) this.core.server(name).opensByItself = true;
    for (let round = 0; round < 200; round++) {
      for (const instance of this.instances) instance.open();
      await this.core.settle();
      for (const client of this.clients) while (client.reply());
      await this.core.settle();
      const isAtRest =
        this.core.openCalls === 0 && this.instances.every((instance) => this.openAt(instance).length === 0);
      if (isAtRest && this.#openQuestions() === 0) return;
      for (const instance of this.instances) for (const _ of this.openAt(instance)) this.answer(instance, 0);
      await this.core.pass(1000);
    }
    throw new Error('it does not come to an end');
  }

  #openQuestions(): number {
    const live = new Set(
      this.instances.flatMap(({ link, state }) => (state === 'ready' && link !== undefined ? [link] : [])),
    );
    const asked = this.#asked.filter((one) => live.has(one.link) && this.#repliesTo(one).length === 0).length;
    return this.core.manager.clients().reduce((sum, { questions }) => sum + questions.size, asked);
  }

  check(): void {
    expect(this.core.counters.internalErrors).toBe(0);
    for (const session of this.core.manager.clients())
      expect(session).toMatchObject({ sentCount: 0, waitingBytes: 0, isHolding: false, pauses: { isEmpty: true } });
    for (const one of this.#asked) {
      const replies = this.#repliesTo(one);
      expect(replies.length).toBeLessThanOrEqual(1);
      for (const { result } of replies)
        if (one.owner !== '' && result !== undefined) expect(result.by).toBe(one.owner.split('/')[0]);
    }
    for (const client of this.clients) checkClient(client);
  }

  /** Lets all go. */
  async leave(): Promise<void> {
    for (const { client } of this.clients) client.link.destroy();
    await this.core.settle();
    expect([this.core.openCalls, this.core.manager.clients().length]).toEqual([0, 0]);
    expect(this.core.counters.internalErrors).toBe(0);
    for (const name of SERVERS) {
      const { server } = this.core.server(name);
      expect(server.bindings.size).toBe(0);
      for (const instance of server.instances) expect([instance.sessions.size, instance.openCalls]).toEqual([0, 0]);
      for (const instance of this.core.server(name).instances) instance.crash();
      expect(server.isUnused).toBe(true);
      for (const { live } of server.known.profiles) expect(live).toBe(0);
    }
  }
}

function payloadOf({ params }: Message): string {
  return String((params?.arguments as { payload?: unknown } | undefined)?.payload);
}

function checkClient({ name, calls, client, isGone, questions }: ModelClient): void {
  for (const { id, payload, isCancelled } of calls) {
    const answers = client.answersTo(id);
    expect(answers.length).toBeLessThanOrEqual(1);
    if (!isCancelled && !isGone) expect({ payload, answers: answers.length }).toEqual({ payload, answers: 1 });
    for (const { result, error } of answers) {
      if (result !== undefined) expect(result).toEqual({ echo: { payload } });
      else expect(ALLOWED).toContain(error?.data?.code);
    }
  }
  for (const { method, params } of questions)
    if (method === 'elicitation/create') expect(String(params?.message).split('/')[0]).toBe(name);
  const known = new Set<unknown>(['init', ...calls.map(({ id }) => id)]);
  expect(client.received.filter((message) => message.method === undefined && !known.has(message.id))).toEqual([]);
  expect(client.link.writesAfterEnd).toBe(0);
}

const step = fc.record({
  do: fc.constantFrom(
    ...([
      'connect',
      'connect',
      'connect',
      'call',
      'call',
      'call',
      'call',
      'call',
      'call',
      'settle',
      'settle',
      'settle',
    ] as const),
    ...(['answer', 'answer', 'answer', 'ask', 'ask', 'reply', 'reply', 'cancel', 'crash', 'slow', 'open'] as const),
    ...(['leave', 'end', 'roots', 'second', 'seconds', 'fail', 'changed'] as const),
  ),
  who: fc.nat({ max: 4 }),
  which: fc.nat({ max: 20 }),
  kind: fc.record<Kind>({
    view: fc.constantFrom('all', 'server:a', 'server:b'),
    offers: fc.subarray(['roots', 'elicitation']),
  }),
});

test('each request gets exactly one answer, its own, and each question the right client or none, however servers are shared', async () => {
  const limits = fc.record({
    maxInFlightPerClient: fc.integer({ min: 1, max: 4 }),
    maxInstancesPerServer: fc.integer({ min: 1, max: 3 }),
    maxLaneMs: fc.constantFrom(FOR_EVER, 5000),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('auto', 'auto', 'shared', 'dedicated'),
      fc.boolean(),
      limits,
      fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }),
      async (sharing, trustHints, someLimits, steps) => {
        const world = new World(sharing, trustHints, someLimits);
        for (const { do: what, who, which, kind } of steps) {
          const of = world.clients[who % Math.max(1, world.clients.length)];
          const { instances } = world;
          const instance = instances[who % Math.max(1, instances.length)];
          const server = world.core.server(SERVERS[who % SERVERS.length]);
          if (what === 'connect') world.connect(kind);
          else if (what === 'settle') await world.core.settle();
          else if (what === 'second') await world.core.pass(1000);
          else if (what === 'seconds') await world.core.pass(7000);
          else if (what === 'slow') server.opensByItself = !server.opensByItself;
          else if (what === 'answer') world.answer(instance, which);
          else if (what === 'ask') world.ask(instance, which);
          else if (what === 'crash') instance?.crash();
          else if (what === 'open') instance?.open();
          else if (what === 'fail') world.failToStart(instance);
          else if (what === 'changed') instance?.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
          else if (of === undefined) continue;
          else if (what === 'call') world.call(of, which);
          else if (what === 'cancel') world.cancel(of, which);
          else if (what === 'reply') of.reply();
          else if (what === 'roots') world.changeRoots(of, which);
          else if (what === 'end') world.endSide(of);
          else if (what === 'leave') {
            of.isGone = true;
            of.client.link.destroy();
          }
        }
        await world.finish();
        world.check();
        await world.leave();
      },
    ),
    { numRuns: runs(3000) },
  );
});
