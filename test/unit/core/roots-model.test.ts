// Random lives of clients with different roots on servers that ask for roots whenever they like: as they open, in a call, a
// while later, more than once, or never. Whatever happens: once a server has asked, it gets calls only of clients whose
// roots are those that it was told; and each call is answered once.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient, type TestInstance } from '../../support/core-in-memory.ts';

type Manner = 'opening' | 'in-call' | 'later' | 'twice';

interface Rooted {
  readonly client: TestClient;
  readonly root: string;
  isSilent: boolean;
  calls: number;
  isGone: boolean;
}

const ROOTS = ['a:1', 'a:2', 'a:3', ''];
const resultOf = (root: string): object => ({ roots: root === '' ? [] : [{ uri: root }] });

class World {
  readonly core: CoreInMemory;
  readonly clients: Rooted[] = [];
  readonly #manner: Manner;
  #asked = 0;

  constructor(manner: Manner, isKnown: boolean, limits: object) {
    this.core = new CoreInMemory({ ttlMs: 1_000_000_000, limits: { callTimeoutMs: 1_000_000_000, ...limits } });
    this.#manner = manner;
    this.core.server().answersPings = false;
    if (isKnown) this.core.server().server.known.noteAsksForRoots();
    this.core.server().answers = (request, instance) => this.#answer(request, instance);
  }

  #answer({ method, params }: Message, instance: TestInstance): object | undefined {
    const pings = instance.requests.filter((request) => request.method === 'ping').length;
    if (method === 'ping' && this.#manner === 'opening' && pings === 1) this.ask(instance);
    if (method === 'tools/call' && this.#manner !== 'later') this.ask(instance);
    if (method === 'tools/call' && this.#manner === 'twice') this.ask(instance);
    if (method === 'tools/call' && instance.requests.length % 3 === 0) return undefined; // it takes its time
    return { result: { echo: params?.arguments ?? null } };
  }

  ask(instance: TestInstance | undefined): void {
    instance?.say({ jsonrpc: '2.0', id: `q${this.#asked++}`, method: 'roots/list' });
  }

  connect(root: string, isSilent: boolean): void {
    if (this.clients.length >= 6) return;
    const client = this.core.connect();
    const rooted: Rooted = { client, root, isSilent, calls: 0, isGone: false };
    this.clients.push(rooted);
    client.link.onLine = (line) => {
      const { id, method } = JSON.parse(line) as Message;
      if (method === 'roots/list' && !rooted.isSilent) client.say({ jsonrpc: '2.0', id, result: resultOf(root) });
    };
    client.initialize('init', { capabilities: { roots: {} } });
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  call(of: Rooted): void {
    of.client.call(++of.calls, { root: of.isSilent ? '' : of.root });
  }

  async finish(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      await this.core.pass(1_000);
      for (const instance of this.core.server().instances)
        for (const request of open(instance)) instance.answer(request);
    }
  }

  check(): void {
    for (const { client, calls, isGone } of this.clients) {
      const answers = Array.from({ length: calls }, (_, i) => client.answersTo(i + 1).length);
      if (!isGone) expect(answers).toEqual(answers.map(() => 1));
    }
    for (const instance of this.core.server().instances) checkInstance(instance);
  }
}

function open(instance: TestInstance): Message[] {
  if (instance.state !== 'ready') return [];
  return instance.requests.filter(({ method }) => method === 'tools/call');
}

/** Once it was told roots, it gets calls of clients that have these. */
function checkInstance({ received }: TestInstance): void {
  let told: string | undefined;
  for (const { method, params, result } of received) {
    if (method === undefined && result !== undefined) told = String(firstRoot(result));
    const { root } = (params?.arguments ?? {}) as { root?: string };
    if (method === 'tools/call' && told !== undefined) expect(root).toBe(told);
  }
}

function firstRoot({ roots }: Readonly<Record<string, unknown>>): string {
  const [first] = Array.isArray(roots) ? (roots as { uri: string }[]) : [];
  return first?.uri ?? '';
}

const step = fc.record({
  do: fc.constantFrom(
    'connect',
    'connect',
    'call',
    'call',
    'call',
    'settle',
    'settle',
    'second',
    'ask',
    'leave',
    'crash',
  ),
  who: fc.nat({ max: 5 }),
  root: fc.constantFrom(...ROOTS),
  isSilent: fc.boolean(),
});

test('a server that has asked for roots gets calls of clients with these roots only, whenever it asks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Manner>('opening', 'in-call', 'later', 'twice'),
      fc.boolean(),
      fc.record({ maxInstancesPerServer: fc.integer({ min: 1, max: 4 }) }),
      fc.array(step, { minLength: 4, maxLength: 40, size: 'max' }),
      async (manner, isKnown, limits, steps) => {
        const world = new World(manner, isKnown, limits);
        for (const { do: what, who, root, isSilent } of steps) {
          const of = world.clients[who % Math.max(1, world.clients.length)];
          const { instances } = world.core.server();
          const instance = instances[who % Math.max(1, instances.length)];
          if (what === 'connect') world.connect(root, isSilent && who === 0);
          else if (what === 'settle') await world.core.settle();
          else if (what === 'second') await world.core.pass(1_000);
          else if (what === 'ask') world.ask(instance);
          else if (what === 'crash') instance?.crash();
          else if (of === undefined || of.isGone) continue;
          else if (what === 'call') world.call(of);
          else if (what === 'leave') {
            of.isGone = true;
            of.client.link.destroy();
          }
        }
        await world.finish();
        world.check();
      },
    ),
    { numRuns: 1000 },
  );
});
