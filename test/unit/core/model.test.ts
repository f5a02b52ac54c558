// Random lives of clients and servers, on the real core. Whatever happens: each request that its client neither
// cancelled nor walked away from gets exactly one answer, its own, and nothing is left of any.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient, type TestLink } from '../../support/core-in-memory.ts';

interface Call {
  readonly id: number;
  readonly payload: string;
  isCancelled: boolean;
}

class ModelClient {
  readonly name: string;
  readonly client: TestClient;
  readonly calls: Call[] = [];
  hasEnded = false;
  isGone = false;

  constructor(name: string, client: TestClient) {
    this.name = name;
    this.client = client;
  }
}

class World {
  readonly core: CoreInMemory;
  readonly clients: ModelClient[] = [];
  readonly #answered = new Map<TestLink, Set<unknown>>();

  constructor(limits: {
    maxInFlightPerClient: number;
    maxInFlightPerServer: number;
    maxWaitingBytesPerClient: number;
  }) {
    this.core = new CoreInMemory({ limits });
  }

  connect(): void {
    if (this.clients.length >= 5) return;
    const client = new ModelClient(`c${this.clients.length}`, this.core.connect());
    client.client.initialize();
    client.client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.clients.push(client);
  }
  /** All clients count from 1, so their ids are equal. */
  call(of: ModelClient): void {
    if (of.hasEnded || of.isGone) return;
    const id = of.calls.length + 1;
    const payload = `${of.name}/${id}`;
    of.calls.push({ id, payload, isCancelled: false });
    of.client.call(id, { payload }, id % 3 === 0 ? { progressToken: id } : undefined);
  }
  cancel(of: ModelClient, which: number): void {
    const call = of.calls[which % Math.max(1, of.calls.length)];
    if (call === undefined || of.hasEnded || of.isGone) return;
    call.isCancelled = true;
    of.client.cancel(call.id);
  }
  leave(of: ModelClient): void {
    of.isGone = true;
    of.client.link.destroy();
  }
  endSide(of: ModelClient): void {
    if (of.hasEnded || of.isGone) return;
    of.hasEnded = true;
    of.client.link.endByPeer();
  }

  /** Not while a client shakes hands: one whose initialize fails is another test's business. */
  failToStart(): void {
    const server = this.core.server();
    const areWelcomed = this.clients.every(({ client, isGone }) => isGone || client.link.outbox.takenBytes > 0);
    if (server.state === 'starting' && areWelcomed) server.failToStart();
  }

  /** What the running instance has not answered, also if it was told to cancel. */
  openAtServer(): Message[] {
    const server = this.core.server();
    if (server.link === undefined || server.state !== 'ready') return [];
    const answered = this.#answered.get(server.link) ?? new Set();
    return server.requests.filter(({ id }) => !answered.has(id));
  }
  answer(which: number): void {
    const server = this.core.server();
    const open = this.openAtServer();
    const request = open[which % Math.max(1, open.length)];
    if (request === undefined || server.link === undefined) return;
    this.#answered.set(server.link, new Set([...(this.#answered.get(server.link) ?? []), request.id]));
    server.say({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: request.id, progress: 1 },
    });
    server.answer(request);
  }

  /** Lets all come to an end: servers run, clients take and wait. */
  async finish(): Promise<void> {
    this.core.server().opensByItself = true;
    for (const { client } of this.clients) client.link.unblock();
    for (let i = 0; i < 500; i++) {
      this.core.server().open();
      await this.core.settle();
      if (this.openAtServer().length === 0 && this.core.openCalls === 0) return;
      for (const _ of this.openAtServer()) this.answer(0);
    }
    throw new Error('it does not come to an end');
  }

  check(): void {
    expect([this.core.openCalls, this.core.counters.internalErrors]).toEqual([0, 0]);
    for (const session of this.core.manager.clients())
      expect(session).toMatchObject({ sentCount: 0, waitingBytes: 0, isHolding: false });
    for (const model of this.clients) this.#checkClient(model);
    const staying = this.clients.filter(({ isGone, hasEnded }) => !isGone && !hasEnded);
    expect(this.core.manager.clients().map(({ link }) => link)).toEqual(staying.map(({ client }) => client.link));
    expect(this.core.server().instances[0]?.inCore.sessions.size ?? 0).toBe(staying.length);
    for (const { client } of staying) expect(client.link.isPaused).toBe(false);
    for (const { client } of this.clients) expect(client.link.writesAfterEnd).toBe(0);
  }

  #checkClient({ calls, client, isGone }: ModelClient): void {
    for (const { id, payload, isCancelled } of calls) {
      const answers = client.answersTo(id);
      expect(answers.length).toBeLessThanOrEqual(1);
      if (!isCancelled && !isGone) expect({ payload, answers: answers.length }).toEqual({ payload, answers: 1 });
      for (const { result, error } of answers) {
        if (result !== undefined) expect(result).toEqual({ echo: { payload } });
        else expect(['SERVER_CRASHED', 'SERVER_START_FAILED']).toContain(error?.data?.code);
      }
    }
    const known = new Set<unknown>(['init', ...calls.map(({ id }) => id)]);
    expect(client.received.filter((message) => message.method === undefined && !known.has(message.id))).toEqual([]);
    for (const { params } of client.notifications('notifications/progress'))
      expect(known).toContain(params?.progressToken);
  }
}

const step = fc.record({
  do: fc.constantFrom(
    ...([
      'connect',
      'connect',
      'call',
      'call',
      'call',
      'call',
      'call',
      'call',
      'cancel',
      'answer',
      'answer',
      'answer',
      'answer',
    ] as const),
    ...(['settle', 'settle', 'crash', 'slow', 'open', 'fail', 'leave', 'end', 'block', 'unblock', 'second'] as const),
  ),
  who: fc.nat({ max: 4 }),
  which: fc.nat({ max: 20 }),
});
const limits = fc.record({
  maxInFlightPerClient: fc.integer({ min: 1, max: 4 }),
  maxInFlightPerServer: fc.integer({ min: 1, max: 5 }),
  maxWaitingBytesPerClient: fc.constantFrom(0, 300, 100_000),
});

test('each request gets exactly one answer, its own, whatever clients and servers do', async () => {
  await fc.assert(
    fc.asyncProperty(
      limits,
      fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }),
      async (someLimits, steps) => {
        const world = new World(someLimits);
        const server = world.core.server();
        for (const { do: what, who, which } of steps) {
          const of = world.clients[who % Math.max(1, world.clients.length)];
          if (what === 'connect') world.connect();
          else if (what === 'answer') world.answer(which);
          else if (what === 'settle') await world.core.settle();
          else if (what === 'crash') server.crash();
          else if (what === 'slow') server.opensByItself = !server.opensByItself;
          else if (what === 'open') server.instances[0]?.open();
          else if (what === 'fail') world.failToStart();
          else if (what === 'second') await world.core.pass(1000);
          else if (of === undefined) continue;
          else if (what === 'call') world.call(of);
          else if (what === 'cancel') world.cancel(of, which);
          else if (what === 'leave') world.leave(of);
          else if (what === 'end') world.endSide(of);
          else if (what === 'block') of.client.link.block();
          else if (what === 'unblock') of.client.link.unblock();
        }
        await world.finish();
        world.check();
      },
    ),
    { numRuns: 1500 },
  );
});
