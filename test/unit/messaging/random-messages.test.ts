// Random talk between clients that come and go, on the real core. Each request that its sender neither cancelled nor
// walked away from gets exactly one answer, its own or an error; notifications keep their order; nothing is left of any.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const MOST_CLIENTS = 5;
const MAX_IN_FLIGHT = 6;

type Step =
  | { readonly kind: 'connect' }
  | { readonly kind: 'ask' | 'tell'; readonly from: number; readonly to: number }
  | { readonly kind: 'answer' | 'answerLast' | 'leave' | 'cancel' | 'progress'; readonly who: number }
  | { readonly kind: 'block' | 'unblock'; readonly who: number }
  | { readonly kind: 'settle' }
  | { readonly kind: 'pass'; readonly ms: number };

const who = fc.nat(MOST_CLIENTS - 1);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant({ kind: 'connect' } as const) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('ask', 'tell'), from: who, to: who }) },
    {
      weight: 7,
      arbitrary: fc.record({ kind: fc.constantFrom('answer', 'answerLast', 'cancel', 'progress'), who }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('leave', 'block', 'unblock'), who }) },
    { weight: 3, arbitrary: fc.constant({ kind: 'settle' } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(4000) }) },
  ),
  { maxLength: 120 },
);

class Talker {
  readonly name: string;
  readonly client: TestClient;
  asked = 0;
  told = 0;
  isGone = false;
  readonly cancelled = new Set<number>();
  readonly answered = new Set<unknown>();

  constructor(name: string, client: TestClient) {
    this.name = name;
    this.client = client;
  }

  get open(): Message[] {
    const given = this.client.notifications('notifications/cancelled').map(({ params }) => params?.requestId);
    return this.client.received.filter(
      ({ id, method }) => method === 'talk/ask' && !this.answered.has(id) && !given.includes(id),
    );
  }
}

class Room {
  readonly core = new CoreInMemory({
    limits: { callTimeoutMs: 20_000, maxQueuedBytesPerClient: 65_536 },
    agents: { maxPerSecond: 40, maxInFlight: MAX_IN_FLIGHT },
    liveness: { pingPeriodMs: 0 },
  });
  readonly talkers: Talker[] = [];

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'connect':
        return this.#connect();
      case 'settle':
        return this.core.settle();
      case 'pass':
        return this.core.pass(step.ms);
      case 'ask':
      case 'tell':
        return this.#say(step.kind, this.talkers[step.from], this.talkers[step.to]);
      default:
        return this.#act(step.kind, this.talkers[step.who]);
    }
  }

  async #connect(): Promise<void> {
    if (this.talkers.length >= MOST_CLIENTS) return;
    const name = `t${this.talkers.length}`;
    const meta = { 'mcp-bridge/clientId': name, 'mcp-bridge/accepts': ['talk/*'] };
    this.talkers.push(new Talker(name, await this.core.ready({ _meta: meta })));
  }

  #say(kind: 'ask' | 'tell', from: Talker | undefined, to: Talker | undefined): void {
    if (from === undefined || to === undefined || from.isGone) return;
    const n = kind === 'ask' ? ++from.asked : ++from.told;
    const params = { to: to.name, method: `talk/${kind}`, params: { n, _meta: { 'mcp-bridge/from': 'forged' } } };
    const message = { jsonrpc: '2.0', method: 'bridge/send', params };
    from.client.say(kind === 'tell' ? message : { ...message, id: n });
  }

  #act(kind: 'answer' | 'answerLast' | 'leave' | 'cancel' | 'progress' | 'block' | 'unblock', of?: Talker): void {
    if (of === undefined || of.isGone) return;
    const { client } = of;
    const request = kind === 'answerLast' ? of.open.at(-1) : of.open[0];
    switch (kind) {
      case 'block':
        return client.link.block();
      case 'unblock':
        return client.link.unblock();
      case 'leave':
        of.isGone = true;
        return client.link.destroy();
      case 'cancel':
        if (of.asked === 0) return;
        of.cancelled.add(of.asked);
        return client.cancel(of.asked);
      case 'progress':
        if (request === undefined) return;
        return client.say({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: request.id, progress: 1 },
        });
      default:
        if (request === undefined) return;
        of.answered.add(request.id);
        return client.say({ jsonrpc: '2.0', id: request.id, result: { by: of.name, to: request.params } });
    }
  }
}

test('each request gets one answer, and each notification its place', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const room = new Room();
      for (const step of plan) {
        await room.take(step);
        for (const { client, isGone } of room.talkers) {
          const session = isGone ? undefined : room.core.sessionOf(client);
          expect(session?.questions.size ?? 0).toBeLessThanOrEqual(MAX_IN_FLIGHT);
        }
      }
      for (const { client, isGone } of room.talkers) if (!isGone) client.link.unblock();
      await room.core.pass(25_000); // whatever was not answered has timed out
      for (const talker of room.talkers) if (!talker.isGone) checkHeard(talker);
      expect(room.core.openCalls).toBe(0);
      for (const session of room.core.manager.clients()) expect(session.questions.size).toBe(0);
      expect(room.core.counters.internalErrors).toBe(0);
    }),
    { numRuns: 150 },
  );
});

function checkHeard({ name, client, asked, cancelled }: Talker): void {
  for (let id = 1; id <= asked; id++) {
    const answers = client.answersTo(id);
    expect(answers.length).toBeLessThanOrEqual(1);
    if (!cancelled.has(id)) expect(answers).toHaveLength(1);
    const result = answers[0]?.result;
    if (result !== undefined)
      expect(result).toMatchObject({ to: { n: id, _meta: { 'mcp-bridge/from': name, 'mcp-bridge/hops': 1 } } });
  }
  const last = new Map<unknown, number>();
  for (const { params } of client.notifications('talk/tell')) {
    const { n, _meta } = params as { n: number; _meta: Record<string, unknown> };
    expect(_meta['mcp-bridge/from']).not.toBe('forged');
    expect(n).toBeGreaterThan(last.get(_meta['mcp-bridge/from']) ?? 0);
    last.set(_meta['mcp-bridge/from'], n);
  }
}
