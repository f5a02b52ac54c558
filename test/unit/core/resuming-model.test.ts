// Random lives of clients that drop and come back, on the real core. Each request that its client did not give up gets
// exactly one answer, its own, unless its session was given up, and then coming back is refused; nothing is left of any.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

class World {
  readonly core: CoreInMemory;
  readonly clients: ResumingClient[] = [];
  readonly #asked = new Map<ResumingClient, number>();
  readonly #answered = new Set<unknown>();
  readonly lost = new Set<ResumingClient>();
  readonly away = new Set<ResumingClient>();

  constructor(limits: { maxInFlightPerClient: number; maxWaitingBytesPerClient: number; resumeGraceMs: number }) {
    this.core = new CoreInMemory({ limits: { ...limits, callTimeoutMs: 1_000_000 } });
  }

  async connect(): Promise<void> {
    if (this.clients.length < 4) this.clients.push(await ResumingClient.ready(wireInMemory(this.core)));
  }
  call(of: ResumingClient, times: number): void {
    for (let i = 0; i < times; i++) {
      const id = (this.#asked.get(of) ?? 0) + 1;
      this.#asked.set(of, id);
      of.call(id, 'tool', { of: this.clients.indexOf(of), id }, id % 3 === 0 ? { progressToken: id } : undefined);
    }
  }
  open(): Message[] {
    return this.core.server().requests.filter(({ id, method }) => method === 'tools/call' && !this.#answered.has(id));
  }
  answer(which: number): void {
    const open = this.open();
    const request = open[which % Math.max(1, open.length)];
    if (request === undefined) return;
    this.#answered.add(request.id);
    const progress = { progressToken: request.id, progress: 1 };
    this.core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: progress });
    this.core.server().answer(request);
  }
  drop(of: ResumingClient): void {
    of.drop();
    this.away.add(of);
  }
  async resume(of: ResumingClient): Promise<void> {
    const { error } = await of.resume(wireInMemory(this.core));
    if (error === undefined) this.away.delete(of);
    else {
      expect(error.data?.code).toBe('RESUME_REFUSED');
      this.lost.add(of);
      of.wire.drop();
    }
  }

  async finish(): Promise<void> {
    for (const client of this.clients) if (this.away.has(client) && !this.lost.has(client)) await this.resume(client);
    for (let i = 0; i < 500; i++) {
      await this.core.settle();
      if (this.open().length === 0 && this.core.openCalls === 0) return;
      for (const _ of this.open()) this.answer(0);
    }
    throw new Error('it does not come to an end');
  }
  check(mayLose: boolean): void {
    expect(this.core.openCalls).toBe(0);
    expect(this.core.manager.parkedCount).toBe(0);
    if (!mayLose) expect(this.lost.size).toBe(0);
    for (const client of this.clients) if (!this.lost.has(client)) this.#checkClient(client);
    expect(this.core.manager.clients()).toHaveLength(this.clients.length - this.lost.size);
    for (const session of this.core.manager.clients())
      expect(session).toMatchObject({ sentCount: 0, waitingBytes: 0, pauses: { isEmpty: true } });
  }
  #checkClient(client: ResumingClient): void {
    client.take();
    const asked = this.#asked.get(client) ?? 0;
    const answers = client.messages.filter(({ method }) => method === undefined);
    expect(answers.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: asked }, (_, i) => i + 1),
    );
    for (const { id, result } of answers) expect(result).toEqual({ echo: { of: this.clients.indexOf(client), id } });
    for (const { params } of client.notices('notifications/progress')) {
      const token = Number(params?.progressToken);
      const at = client.messages.findIndex(({ method, params: said }) => method !== undefined && said === params);
      expect(at).toBeLessThan(client.messages.findIndex(({ id, method }) => method === undefined && id === token));
    }
  }
}

const step = fc.record({
  do: fc.constantFrom(
    ...(['connect', 'call', 'call', 'answer', 'answer', 'drop', 'resume', 'settle'] as const),
    ...(['acknowledge', 'second', 'take'] as const),
  ),
  who: fc.nat({ max: 3 }),
  which: fc.nat({ max: 20 }),
});
const limits = fc.record({
  maxInFlightPerClient: fc.integer({ min: 1, max: 4 }),
  maxWaitingBytesPerClient: fc.constantFrom(0, 300, 100_000),
  resumeGraceMs: fc.constantFrom(0, 3000, 1_000_000),
});

test('each request gets exactly one answer, wherever clients drop and come back', async () => {
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), async (some, steps) => {
      const world = new World(some);
      await world.connect();
      for (const { do: what, who, which } of steps) {
        const of = world.clients[who % world.clients.length] as ResumingClient;
        if (what === 'connect') await world.connect();
        else if (what === 'answer') world.answer(which);
        else if (what === 'settle') await world.core.settle();
        else if (what === 'second') await world.core.pass(1000);
        else if (world.lost.has(of)) continue;
        else if (what === 'call') world.call(of, 1 + (which % 3));
        else if (what === 'take') of.take();
        else if (what === 'resume') await world.resume(of);
        else if (world.away.has(of)) continue;
        else if (what === 'drop') world.drop(of);
        else of.acknowledge();
      }
      await world.finish();
      world.check(some.resumeGraceMs < 1_000_000);
    }),
    { numRuns: 500 },
  );
});
