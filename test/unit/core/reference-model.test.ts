// The real core and the reference model live through the same schedules of clients, calls, cancels, crashes, drops and
// resumes. After every step each client that is there has got the same answers from both, each exactly once. A schedule
// that fails is printed with its seed.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';
import { type Outcome, ReferenceModel } from '../../support/reference-model.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';
import { runs } from '../../support/runs.ts';

const CLIENTS = 3;
const GRACE_MS = 2000;
const OUTCOMES: Readonly<Record<string, Outcome>> = { SERVER_CRASHED: 'crashed', SERVER_START_FAILED: 'failed' };

class Both {
  readonly core: CoreInMemory;
  readonly model = new ReferenceModel();
  readonly clients: ResumingClient[] = [];
  #seen: { link: object | undefined; count: number; open: Message[] } = { link: undefined, count: 0, open: [] };

  constructor(limits: { maxInFlightPerClient: number; maxInFlightPerServer: number }) {
    this.core = new CoreInMemory({
      limits: { ...limits, resumeGraceMs: GRACE_MS, callTimeoutMs: 1_000_000, maxCallMs: 1_000_000 },
      liveness: { pingPeriodMs: 0 },
    });
  }

  async begin(): Promise<void> {
    while (this.clients.length < CLIENTS) this.clients.push(await ResumingClient.ready(wireInMemory(this.core)));
    await this.core.settle();
  }

  isThere(which: number): boolean {
    return !this.model.gone.has(which) && !this.model.away.has(which);
  }

  /** What the running instance has not answered. */
  get open(): Message[] {
    const server = this.core.server();
    if (server.state !== 'ready') return [];
    if (server.link !== this.#seen.link) this.#seen = { link: server.link, count: 0, open: [] };
    const { requests } = server;
    for (const request of requests.slice(this.#seen.count)) {
      const { of, id } = argumentsOf(request);
      this.model.sent(of, id);
      this.#seen.open.push(request);
    }
    this.#seen.count = requests.length;
    return this.#seen.open;
  }

  call(which: number): void {
    const id = this.model.call(which);
    this.clients[which]?.call(id, 'tool', { of: which, id });
  }
  cancel(which: number, nth: number): void {
    const own = this.model.calls.filter(({ client }) => client === which);
    const call = own[nth % Math.max(1, own.length)];
    if (call === undefined) return;
    this.model.cancel(which, call.id);
    const params = { requestId: call.id };
    this.clients[which]?.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  }
  answer(nth: number): void {
    const [request] = this.open.splice(nth % Math.max(1, this.open.length), 1);
    if (request === undefined) return;
    const { of, id } = argumentsOf(request);
    this.model.answered(of, id);
    this.core.server().answer(request);
  }
  async crash(): Promise<void> {
    await this.core.settle(); // what was sent in this very turn is seen nowhere else
    void this.open;
    if (this.core.server().state !== 'ready') return;
    this.model.crashed();
    this.core.server().crash();
  }
  failToStart(): void {
    if (this.core.server().state !== 'starting') return;
    this.model.failedToStart();
    this.core.server().failToStart();
  }
  drop(which: number): void {
    this.clients[which]?.drop();
    this.model.dropped(which);
  }
  leave(which: number): void {
    this.clients[which]?.say({ jsonrpc: '2.0', method: 'bridge/leave' });
    this.clients[which]?.drop();
    this.model.left(which);
  }
  async resume(which: number): Promise<void> {
    if (!this.model.away.has(which)) return;
    const answer = await this.clients[which]?.resume(wireInMemory(this.core));
    expect(answer?.error).toBeUndefined();
    this.model.resumed(which);
  }
  /** Those who are away have been away for too long then. */
  async pass(): Promise<void> {
    for (const which of [...this.model.away]) this.model.left(which);
    await this.core.pass(GRACE_MS + 1000);
  }

  async compare(): Promise<void> {
    await this.core.settle();
    void this.open; // so that the model knows what was sent
    for (const [which, client] of this.clients.entries()) if (this.isThere(which)) this.#compareOne(which, client);
  }
  #compareOne(which: number, client: ResumingClient): void {
    client.take();
    const answers = client.messages.filter(({ method }) => method === undefined);
    const got = answers.map((answer) => [Number(answer.id), outcomeOf(answer, which)] as const);
    expect(got.length).toBe(new Map(got).size);
    expect(new Map(got)).toEqual(this.model.answersOf(which));
  }

  async finish(): Promise<void> {
    this.core.server().opensByItself = true;
    this.core.server().open();
    for (const which of [...this.model.away]) await this.resume(which);
    for (await this.compare(); this.core.openCalls > 0 || this.open.length > 0; await this.compare()) {
      expect(this.open.length).toBeGreaterThan(0);
      this.answer(0);
    }
    for (const call of this.model.calls) if (call.state === 'open') throw new Error(`no answer to ${call.id}`);
    expect([this.core.manager.parkedCount, this.core.counters.internalErrors]).toEqual([0, 0]);
    expect(this.core.manager.clients()).toHaveLength(CLIENTS - this.model.gone.size);
    for (const session of this.core.manager.clients()) expect(session).toMatchObject({ sentCount: 0, waitingBytes: 0 });
  }
}

function argumentsOf({ params }: Message): { of: number; id: number } {
  return params?.arguments as { of: number; id: number };
}

function outcomeOf({ id, result, error }: Message, of: number): Outcome | undefined {
  if (error !== undefined) return OUTCOMES[error.data?.code ?? ''];
  expect(result).toEqual({ echo: { of, id } });
  return 'echo';
}

const step = fc.record({
  do: fc.constantFrom(
    ...(['call', 'call', 'call', 'call', 'answer', 'answer', 'answer', 'cancel', 'cancel', 'crash'] as const),
    ...(['slow', 'open', 'fail', 'drop', 'drop', 'resume', 'resume', 'resume', 'leave', 'pass'] as const),
  ),
  who: fc.nat({ max: CLIENTS - 1 }),
  nth: fc.nat({ max: 9 }),
  /** Whether the next step comes before anything of this one was dealt with. */
  isAtOnce: fc.boolean(),
});
const limits = fc.record({
  maxInFlightPerClient: fc.integer({ min: 1, max: 4 }),
  maxInFlightPerServer: fc.integer({ min: 1, max: 5 }),
});

test('the core gives the answers of the reference model, each exactly once', async () => {
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (some, steps) => {
      const both = new Both(some);
      const server = both.core.server();
      await both.begin();
      for (const { do: what, who, nth, isAtOnce } of steps) {
        if (what === 'answer') both.answer(nth);
        else if (what === 'crash') await both.crash();
        else if (what === 'slow') server.opensByItself = !server.opensByItself;
        else if (what === 'open') server.open();
        else if (what === 'fail') both.failToStart();
        else if (what === 'resume') await both.resume(who);
        else if (what === 'pass') await both.pass();
        else if (!both.isThere(who)) continue;
        else if (what === 'call') both.call(who);
        else if (what === 'cancel') both.cancel(who, nth);
        else if (what === 'drop') both.drop(who);
        else both.leave(who);
        if (!isAtOnce || what !== 'call') await both.compare();
      }
      await both.finish();
    }),
    { numRuns: runs(2000) },
  );
}, 60_000);
