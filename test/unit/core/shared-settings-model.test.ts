// Random lives of clients that subscribe, take that back, and ask for log levels, among calls and questions that hold them
// up, on servers that answer in any order, refuse, hang, take nothing and die. At rest each server has understood, from what
// it was sent in its order, just what the clients that use it wanted; each of them hears of that, and of nothing else; and
// nothing is kept of those that have gone.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  CoreInMemory,
  type Message,
  type TestClient,
  type TestInstance,
  type TestLink,
  type TestServer,
} from '../../support/core-in-memory.ts';
import { runs } from '../../support/runs.ts';

const LEVELS = ['debug', 'info', 'warning', 'error'];
const URIS = ['x:0', 'x:1', 'x:2'];
const CAPABILITIES = { tools: {}, resources: { subscribe: true }, logging: {} };
const MOST_CLIENTS = 4;
/** So often a request has ended without a question that it needs no lane any more. */
const QUIET = 3;

interface Kind {
  readonly view: 'all' | 'server:memory';
  readonly offers: readonly 'elicitation'[];
}

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly uri?: string;
  readonly level?: string;
}

/** What a client has, as far as it can know: undefined if a server that died may or may not have been told. */
type Wanted = boolean | undefined;

class ModelClient {
  readonly name: string;
  readonly kind: Kind;
  readonly client: TestClient;
  readonly asked: Asked[] = [];
  readonly cancelled = new Set<number>();
  readonly #replied = new Set<unknown>();
  isGone = false;

  constructor(name: string, kind: Kind, client: TestClient) {
    this.name = name;
    this.kind = kind;
    this.client = client;
  }

  ask(method: string, params: object, about: Pick<Asked, 'uri' | 'level'> = {}): void {
    if (this.isGone) return;
    const id = this.asked.length + 1;
    this.asked.push({ id, method, ...about });
    const who = `${this.name}/${id}`;
    this.client.say({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { who } } });
  }

  uriOf(uri: string): string {
    return this.kind.view === 'all' ? `mcp-bridge://memory/${uri}` : uri;
  }

  cancel(which: number): void {
    const open = this.asked.filter(({ id }) => this.client.answersTo(id).length === 0 && !this.cancelled.has(id));
    const asked = open[which % Math.max(1, open.length)];
    if (asked === undefined || this.isGone) return;
    this.cancelled.add(asked.id);
    this.client.cancel(asked.id);
  }

  /** Answers what it was asked. */
  reply(): void {
    for (const { id, method } of this.client.received) {
      if (method !== 'elicitation/create' || this.isGone || this.#replied.has(id)) continue;
      this.#replied.add(id);
      this.client.say({ jsonrpc: '2.0', id, result: { action: 'accept' } });
    }
  }

  /** What was granted counts, in the order in which it was asked for; an end also once it was sent. */
  wants(uri: string, wasSent: (who: string) => Wanted): Wanted {
    let wanted: Wanted = false;
    for (const { id, method, uri: about } of this.asked) {
      if (about !== uri) continue;
      const isDone = this.client.answersTo(id)[0]?.result !== undefined;
      if (method === 'resources/subscribe') wanted = isDone || wanted;
      else if (isDone || wasSent(`${this.name}/${id}`) === true) wanted = false;
      else if (wasSent(`${this.name}/${id}`) === undefined && wanted === true) wanted = undefined;
    }
    return wanted;
  }

  get level(): string | undefined {
    const granted = this.asked.filter(({ id, level }) => {
      return LEVELS.includes(level ?? '') && this.client.answersTo(id)[0]?.result !== undefined;
    });
    return granted.at(-1)?.level;
  }
}

class World {
  readonly core: CoreInMemory;
  readonly clients: ModelClient[] = [];
  readonly servers: TestServer[] = [];
  /** Of each start of an instance, what was answered how. */
  readonly #answered = new Map<TestLink, Map<unknown, boolean>>();
  readonly #links = new Set<TestLink>();
  readonly #blocked = new Set<TestLink>();
  readonly #questions = new Set<unknown>();
  /** A server has died that had not taken all that it was sent. */
  #hasLost = false;
  #tag = 0;
  readonly #isQuiet: boolean;

  /** `isQuiet`: a request about a shared setting passes whatever waits for the lane. */
  constructor(sharing: 'auto' | 'shared' | 'dedicated', isQuiet: boolean, limits: object) {
    this.#isQuiet = isQuiet;
    this.core = new CoreInMemory({ definition: { sharing }, limits: { callTimeoutMs: 5000, ...limits } });
    this.#setUp();
  }

  #setUp(): void {
    const server = this.core.server();
    server.has({ tools: [{ name: 'tool' }], resources: [] });
    server.declare(CAPABILITIES);
    this.servers.push(server);
    if (!this.#isQuiet) return;
    for (const method of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])
      server.server.known.setHabit(JSON.stringify(method), QUIET);
  }

  get instances(): TestInstance[] {
    return this.servers.flatMap(({ instances }) => instances);
  }

  connect(kind: Kind): void {
    if (this.clients.filter(({ isGone }) => !isGone).length >= MOST_CLIENTS) return;
    const client = new ModelClient(`c${this.clients.length}`, kind, this.core.connect());
    const capabilities = Object.fromEntries(kind.offers.map((role) => [role, {}]));
    client.client.initialize('init', { capabilities, _meta: { 'mcp-bridge/view': kind.view } });
    client.client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.clients.push(client);
  }

  leave(of: ModelClient): void {
    of.isGone = true;
    of.client.link.destroy();
  }

  /** Goes with as much pending as there can be: nothing of it is sent from then on. */
  async hangUp(of: ModelClient, uri: string): Promise<void> {
    of.ask('tools/call', { name: of.kind.view === 'all' ? 'memory__tool' : 'tool' });
    of.ask('resources/subscribe', { uri: of.uriOf(uri) }, { uri });
    of.ask('logging/setLevel', { level: 'error' }, { level: 'error' });
    of.ask('resources/unsubscribe', { uri: of.uriOf(uri) }, { uri });
    of.ask('tools/call', { name: of.kind.view === 'all' ? 'memory__tool' : 'tool' });
    await this.core.settle();
    const before = this.#sentOf(of);
    this.leave(of);
    await this.core.settle();
    expect(this.#sentOf(of)).toEqual(before);
  }

  #sentOf({ name }: ModelClient): string[] {
    const sent = [...this.#links, ...this.instances.flatMap(({ link }) => link ?? [])].flatMap(messagesOn);
    return [...new Set(sent.flatMap((message) => whoOf(message) ?? []))].filter((who) => who.startsWith(`${name}/`));
  }

  /** The server is defined otherwise: its clients go over to another one. */
  redefine(): void {
    if (this.servers.length >= 3) return;
    this.core.redefine(['memory'], ['memory']);
    this.#setUp();
  }

  // --- servers ---

  #answersOf(link: TestLink): Map<unknown, boolean> {
    const answers = this.#answered.get(link) ?? new Map<unknown, boolean>();
    this.#answered.set(link, answers);
    this.#links.add(link);
    return answers;
  }

  openAt({ link, state, requests }: TestInstance): Message[] {
    if (link === undefined || state !== 'ready') return [];
    const answered = this.#answersOf(link);
    return requests.filter(({ id, method }) => !answered.has(id) && !/list$/.test(method ?? ''));
  }

  /** Requests of the bridge's own are done; of clients', one in a while is refused. */
  answer(instance: TestInstance | undefined, which: number, refuses = false): void {
    if (instance?.link === undefined) return;
    const open = this.openAt(instance);
    const request = open[which % Math.max(1, open.length)];
    if (request === undefined) return;
    const isRefused = refuses && whoOf(request) !== undefined;
    this.#answersOf(instance.link).set(request.id, !isRefused);
    const answer = isRefused ? { error: { code: -32602, message: 'no' } } : { result: {} };
    instance.say({ jsonrpc: '2.0', id: request.id, ...answer });
  }

  /** Asks back in one of its calls. */
  askBack(instance: TestInstance | undefined, which: number): void {
    const calls = instance === undefined ? [] : this.openAt(instance).filter(({ method }) => method === 'tools/call');
    if (calls.length === 0 || instance === undefined) return;
    const id = `q${this.#questions.size}`;
    this.#questions.add(id);
    instance.say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { message: String(which) } });
  }

  crash(instance: TestInstance | undefined): void {
    if (instance?.link === undefined || instance.state !== 'ready') return;
    this.#answersOf(instance.link);
    // What this turn has sent is lost too: it would have left at its end.
    if (this.#blocked.has(instance.link) || instance.link.outbox.queuedBytes > 0) this.#hasLost = true;
    instance.crash();
  }

  block(instance: TestInstance | undefined): void {
    if (instance?.link === undefined || instance.state !== 'ready') return;
    if (this.#blocked.delete(instance.link)) return instance.link.unblock();
    this.#blocked.add(instance.link);
    instance.link.block();
  }

  /** What the server of this link believes, by what it was sent: what was cancelled it may have done or not. */
  #lastDone(link: TestLink, isAbout: (message: Message) => boolean): Message | undefined {
    const answered = this.#answersOf(link);
    return messagesOn(link)
      .filter(isAbout)
      .filter((message) => answered.get(message.id) ?? (whoOf(message) === undefined || Number(message.id) % 2 === 0))
      .at(-1);
  }

  #isSubscribed(link: TestLink, uri: string): boolean {
    return this.#lastDone(link, ({ params }) => params?.uri === uri)?.method === 'resources/subscribe';
  }

  #levelOf(link: TestLink): unknown {
    return this.#lastDone(link, ({ method }) => method === 'logging/setLevel')?.params?.level;
  }

  // --- the end ---

  async finish(): Promise<void> {
    for (const link of this.#blocked) link.unblock();
    this.#blocked.clear();
    for (const server of this.servers) server.opensByItself = true;
    for (let round = 0; round < 200; round++) {
      for (const instance of this.instances) {
        instance.open();
        if (instance.inCore.sessions.size > 0) instance.inCore.whenOpen().catch(() => undefined);
      }
      await this.core.settle();
      for (const client of this.clients) client.reply();
      await this.core.settle();
      const open = this.instances.flatMap((instance) => this.openAt(instance));
      const isRunning = this.instances.every(({ state, inCore }) => inCore.sessions.size === 0 || state === 'ready');
      if (this.core.openCalls === 0 && open.length === 0 && isRunning) return;
      for (const instance of this.instances)
        for (const _ of this.openAt(instance)) this.answer(instance, 0, round % 2 === 0 && instance.starts % 2 === 0);
      await this.core.pass(1000);
    }
    throw new Error('it does not come to an end');
  }

  /** Whether it was sent; undefined if nobody can know any more. */
  #wasSent(who: string): Wanted {
    const of = this.clients.find(({ name }) => name === who.split('/')[0]);
    const error = of?.client.answersTo(Number(who.split('/')[1]))[0]?.error;
    if (error?.data?.code === 'SERVER_CRASHED') return true;
    if ([...this.#links].some((link) => messagesOn(link).some((message) => whoOf(message) === who))) return true;
    return this.#hasLost ? undefined : false;
  }

  #usersOf({ inCore }: TestInstance): ModelClient[] {
    return this.clients.filter(({ client, isGone }) => {
      const session = isGone ? undefined : this.core.sessionOf(client);
      return session !== undefined && inCore.sessions.has(session);
    });
  }

  check(): void {
    expect(this.core.counters.internalErrors).toBe(0);
    const live = this.clients.filter(({ isGone }) => !isGone);
    for (const { client, asked, cancelled } of live)
      for (const { id } of asked) {
        const count = client.answersTo(id).length;
        if (!cancelled.has(id) || count > 1) expect({ id, count }).toEqual({ id, count: 1 });
      }
    for (const of of live)
      for (const uri of URIS)
        if (of.wants(uri, (who) => this.#wasSent(who)) === true)
          expect(this.instances.filter((instance) => this.#usersOf(instance).includes(of))).toHaveLength(1);
    for (const instance of this.instances) if (instance.state === 'ready') this.#checkInstance(instance);
  }

  #checkInstance(instance: TestInstance): void {
    const { link } = instance;
    if (link === undefined) return;
    const users = this.#usersOf(instance);
    for (const uri of URIS) {
      const wants = users.map((user) => user.wants(uri, (who) => this.#wasSent(who)));
      if (!wants.includes(true) && wants.includes(undefined)) continue;
      expect({ uri, isSubscribed: this.#isSubscribed(link, uri) }).toEqual({
        uri,
        isSubscribed: wants.includes(true),
      });
      this.#checkUpdate(instance, uri);
    }
    const asked = users.flatMap(({ level }) => (level === undefined ? [] : [LEVELS.indexOf(level)]));
    if (asked.length === 0) return;
    expect(this.#levelOf(link)).toBe(LEVELS[Math.min(...asked)]);
    for (const level of LEVELS) this.#checkLog(instance, level);
  }

  #checkUpdate(instance: TestInstance, uri: string): void {
    const tag = ++this.#tag;
    instance.say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, tag } });
    const users = this.#usersOf(instance);
    for (const of of this.clients) {
      const wanted = users.includes(of) && of.wants(uri, (who) => this.#wasSent(who));
      if (of.isGone || wanted === undefined) continue;
      const heard = this.#heard(of, 'notifications/resources/updated', tag).map(({ params }) => params?.uri);
      expect(heard).toEqual(wanted ? [of.uriOf(uri)] : []);
    }
  }

  #checkLog(instance: TestInstance, level: string): void {
    const tag = ++this.#tag;
    instance.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level, tag } });
    for (const of of this.#usersOf(instance)) {
      const isWanted = LEVELS.indexOf(level) >= LEVELS.indexOf(of.level ?? 'info');
      expect(this.#heard(of, 'notifications/message', tag)).toHaveLength(isWanted ? 1 : 0);
    }
  }

  #heard(of: ModelClient, method: string, tag: number): Message[] {
    this.core.sessionOf(of.client)?.link.outbox.flush();
    return of.client.notifications(method).filter(({ params }) => params?.tag === tag);
  }

  async leaveAll(): Promise<void> {
    for (const of of this.clients) this.leave(of);
    await this.core.settle();
    for (const instance of this.instances) {
      const { link, inCore, state } = instance;
      expect([inCore.sessions.size, inCore.openCalls, inCore.sharedSettings.size]).toEqual([0, 0, 0]);
      if (link !== undefined && state === 'ready')
        expect(URIS.filter((uri) => this.#isSubscribed(link, uri))).toEqual([]);
    }
  }
}

function messagesOn(link: TestLink): Message[] {
  return link.lines.map((line) => JSON.parse(line) as Message);
}

/** Whose request it is; undefined for one of the bridge's own. */
function whoOf({ params }: Message): string | undefined {
  return (params?._meta as { who?: string } | undefined)?.who;
}

const STEPS = [
  ...(['connect', 'connect', 'subscribe', 'subscribe', 'subscribe', 'unsubscribe', 'unsubscribe', 'level'] as const),
  ...(['level', 'call', 'call', 'cancel', 'cancel', 'answer', 'answer', 'answer', 'answer', 'refuse'] as const),
  ...(['settle', 'settle', 'settle', 'settle', 'ask', 'reply', 'leave', 'crash', 'block', 'block'] as const),
  ...(['seconds', 'redefine', 'slow', 'hang-up', 'hang-up', 'hang-up'] as const),
];

const step = fc.record({
  do: fc.constantFrom(...STEPS),
  who: fc.nat({ max: 4 }),
  which: fc.nat({ max: 20 }),
  kind: fc.record<Kind>({
    view: fc.constantFrom('all', 'server:memory', 'server:memory'),
    offers: fc.subarray(['elicitation']),
  }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function take(world: World, { do: what, who, which, kind }: Step): Promise<void> {
  const of = world.clients.filter(({ isGone }) => !isGone).at(who % MOST_CLIENTS);
  const instance = world.instances[who % Math.max(1, world.instances.length)];
  const uri = URIS[which % URIS.length] ?? '';
  const level = [...LEVELS, 'loud'][which % (LEVELS.length + 1)] ?? '';
  if (what === 'connect') world.connect(kind);
  else if (what === 'settle') await world.core.settle();
  else if (what === 'seconds') await world.core.pass(6000);
  else if (what === 'answer' || what === 'refuse') world.answer(instance, which, what === 'refuse');
  else if (what === 'ask') world.askBack(instance, which);
  else if (what === 'crash') world.crash(instance);
  else if (what === 'block') world.block(instance);
  else if (what === 'redefine') world.redefine();
  else if (what === 'slow') world.core.server().opensByItself = which % 2 === 0;
  else if (of === undefined) return;
  else if (what === 'subscribe' || what === 'unsubscribe') of.ask(`resources/${what}`, { uri: of.uriOf(uri) }, { uri });
  else if (what === 'level') of.ask('logging/setLevel', { level }, { level });
  else if (what === 'call') of.ask('tools/call', { name: of.kind.view === 'all' ? 'memory__tool' : 'tool' });
  else if (what === 'cancel') of.cancel(which);
  else if (what === 'reply') of.reply();
  else if (what === 'leave') world.leave(of);
  else if (what === 'hang-up') await world.hangUp(of, uri);
}

test('at rest, a server has the settings that its clients want, and each gets only its own notices, after any history', async () => {
  const limits = fc.record({
    maxInFlightPerClient: fc.integer({ min: 1, max: 4 }),
    maxInFlightPerServer: fc.integer({ min: 1, max: 8 }),
    maxInstancesPerServer: fc.integer({ min: 1, max: 3 }),
    maxSubscribedBytesPerClient: fc.constantFrom(2 * (256 + 3), 1_000_000),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('auto', 'auto', 'shared', 'shared', 'dedicated'),
      fc.boolean(),
      limits,
      fc.array(step, { minLength: 10, maxLength: 70, size: 'max' }),
      async (sharing, isQuiet, someLimits, steps) => {
        const world = new World(sharing, isQuiet, someLimits);
        for (const one of steps) await take(world, one);
        await world.finish();
        world.check();
        await world.leaveAll();
      },
    ),
    { numRuns: runs(1500) },
  );
});
