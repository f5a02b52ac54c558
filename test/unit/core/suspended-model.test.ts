// Random lives of calls that their servers ask something during, with clients of 2026, against a model that knows nothing of
// bytes, timers and instances. Whatever happens: no tool runs twice, each request gets what the model says, and each question of
// a server gets one answer.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient, type TestInstance } from '../../support/core-in-memory.ts';
import { runs } from '../../support/runs.ts';

const PREFIX = 'io.modelcontextprotocol/';
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientCapabilities`]: { elicitation: {} },
};
const KEPT_MS = 600_000;
const FOR_EVER = 1_000_000_000;

interface Place {
  readonly client: number;
  readonly id: number;
}

interface State {
  readonly text: string;
  readonly untilMs: number;
}

/** A call as the model has it. */
interface ModelCall {
  /** Also the name of its tool, so that no tool is ever known to ask nothing. */
  readonly payload: string;
  /** Where it is answered now; undefined while it is suspended, or over. */
  open: Place | undefined;
  readonly unanswered: Map<string, string>;
  keys: number;
  /** All states of it; the last one counts while `isSuspended`. */
  readonly states: State[];
  isSuspended: boolean;
  outcome: 'answered' | 'crashed' | undefined;
}

/** The way of a call to its server: the instance, in which of its runs, and the id there. */
interface Sent {
  readonly instance: TestInstance;
  readonly run: number;
  readonly id: unknown;
}

type Expected = { readonly asks: readonly string[] } | { readonly error: string } | { readonly payload: string };

class World {
  readonly core = new CoreInMemory({
    limits: { maxInstancesPerServer: 100, maxLaneMs: FOR_EVER, maxCallMs: FOR_EVER, maxDeathsPerMinute: FOR_EVER },
  });
  readonly clients: TestClient[] = [];
  readonly calls: ModelCall[] = [];
  /** The answer that each request is to have by now. */
  readonly expected = new Map<string, Expected>();
  /** The answer that each question of a server is to have by now; undefined for none. */
  readonly questions = new Map<string, { readonly instance: TestInstance; end: 'result' | 'error' | undefined }>();
  readonly #links = new Map<ModelCall, Sent>();
  #ids = 0;

  async start(): Promise<void> {
    for (let i = 0; i < 2; i++) this.clients.push(this.core.connect());
    await this.core.settle();
  }

  async turn(): Promise<void> {
    await this.core.settle();
    this.core.clock.advance(5);
    await this.core.settle();
  }

  /** Where the call was sent. */
  #sent(call: ModelCall): Sent | undefined {
    const known = this.#links.get(call);
    if (known !== undefined) return known;
    for (const instance of this.core.server().instances) {
      const request = instance.requests.find(({ params }) => params?.name === call.payload);
      if (request === undefined) continue;
      const sent = { instance, id: request.id, run: instance.starts };
      this.#links.set(call, sent);
      return sent;
    }
    return undefined;
  }

  /** The calls that a server works on. */
  underWay(): ModelCall[] {
    return this.calls.filter(
      (call) => (call.open !== undefined || (call.isSuspended && call.outcome === undefined)) && this.#sent(call),
    );
  }

  #say(client: number, payload: string, args: object, more: object = {}): Place {
    const id = ++this.#ids;
    const params = { name: payload, arguments: args, ...more, _meta: WHO };
    this.clients[client]?.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    return { client, id };
  }

  async call(client: number): Promise<void> {
    const payload = `t${this.calls.length}`;
    const open = this.#say(client, payload, { payload });
    this.calls.push({
      ...{ payload, open, unanswered: new Map(), keys: 0, states: [] },
      ...{ isSuspended: false, outcome: undefined },
    });
    await this.turn();
  }

  async ask(call: ModelCall, count: number): Promise<void> {
    const sent = this.#sent(call);
    if (sent === undefined) return;
    for (let i = 0; i < count; i++) {
      const question = `${call.payload}-${++call.keys}`;
      call.unanswered.set(`q${call.keys}`, question);
      this.questions.set(question, { instance: sent.instance, end: undefined });
      sent.instance.say({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params: { message: question } });
    }
    await this.turn();
    if (call.open === undefined) return;
    this.#suspend(call, call.open, this.core.clock.now() + KEPT_MS);
    call.open = undefined;
  }

  #suspend(call: ModelCall, place: Place, untilMs: number): void {
    this.#expect(place, { asks: [...call.unanswered.keys()] });
    const { requestState } = this.answerTo(place)?.result ?? {};
    call.states.push({ text: String(requestState), untilMs });
    call.isSuspended = true;
  }

  async withdraw(call: ModelCall, which: number): Promise<void> {
    const all = [...call.unanswered];
    const [key, requestId] = all[which % Math.max(1, all.length)] ?? [];
    if (key === undefined || requestId === undefined) return;
    call.unanswered.delete(key);
    this.#sent(call)?.instance.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    await this.turn();
  }

  async answer(call: ModelCall): Promise<void> {
    const sent = this.#sent(call);
    if (sent === undefined) return;
    sent.instance.say({ jsonrpc: '2.0', id: sent.id, result: { echo: call.payload } });
    await this.turn();
    this.#end(call, 'answered');
  }

  async crash(which: number): Promise<void> {
    const { instances } = this.core.server();
    const instance = instances[which % Math.max(1, instances.length)];
    if (instance?.state !== 'ready') return;
    const lost = this.underWay().filter((call) => this.#sent(call)?.instance === instance);
    instance.crash();
    await this.turn();
    for (const call of lost) {
      call.unanswered.clear();
      this.#end(call, 'crashed');
    }
    for (const [question, { instance: asker }] of this.questions)
      if (asker === instance) this.questions.delete(question);
  }

  #end(call: ModelCall, outcome: 'answered' | 'crashed'): void {
    for (const question of call.unanswered.values()) this.#ends(question, 'error');
    call.unanswered.clear();
    if (call.open !== undefined) this.#expect(call.open, this.#outcomeOf(call, outcome));
    else call.outcome = outcome;
    call.open = undefined;
  }

  #outcomeOf({ payload }: ModelCall, outcome: 'answered' | 'crashed'): Expected {
    return outcome === 'answered' ? { payload } : { error: 'SERVER_CRASHED' };
  }

  async retry(call: ModelCall, how: Retry): Promise<void> {
    const state = call.states[how.isOld ? 0 : call.states.length - 1];
    if (state === undefined) return;
    const answered = [...call.unanswered].filter((_, i) => ((how.mask >> i) & 1) === 1);
    const responses = answered.map(([key], i) => [key, { action: how.isMalformed && i === 0 ? 'x' : 'decline' }]);
    const place = this.#say(how.client, call.payload, how.isOtherCall ? {} : { payload: call.payload }, {
      requestState: state.text,
      inputResponses: { ...Object.fromEntries(responses), other: 1 },
    });
    await this.turn();
    if (this.core.clock.now() >= state.untilMs) return this.#expect(place, { error: 'expired' });
    if (!call.isSuspended || state !== call.states.at(-1)) return this.#expect(place, { error: 'used' });
    if (how.isOtherCall) return this.#expect(place, { error: 'other-call' });
    if (call.outcome !== undefined) {
      call.isSuspended = false;
      return this.#expect(place, this.#outcomeOf(call, call.outcome));
    }
    if (how.isMalformed && answered.length > 0) return this.#expect(place, { error: 'answer-malformed' });
    for (const [key, question] of answered) {
      call.unanswered.delete(key);
      this.#ends(question, 'result');
    }
    if (call.unanswered.size > 0) return this.#suspend(call, place, state.untilMs);
    call.isSuspended = false;
    call.open = place;
  }

  async cancel(call: ModelCall): Promise<void> {
    if (call.open === undefined) return;
    const params = { requestId: call.open.id, _meta: WHO };
    this.clients[call.open.client]?.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    call.open = undefined;
    await this.turn();
    // What was given up is over at the server once it has answered, or after a while.
    this.core.clock.advance(6000);
    await this.turn();
  }

  async reconnect(which: number): Promise<void> {
    this.clients[which]?.link.destroy();
    for (const call of this.calls) if (call.open?.client === which) call.open = undefined;
    await this.turn();
    this.core.clock.advance(6000);
    this.clients[which] = this.core.connect();
    await this.turn();
  }

  /** All that is suspended is given up. */
  async expire(): Promise<void> {
    this.core.clock.advance(KEPT_MS + 1000);
    await this.turn();
    for (const call of this.calls) {
      if (!call.isSuspended) continue;
      for (const question of call.unanswered.values()) this.#ends(question, 'error');
      call.unanswered.clear();
      call.isSuspended = false;
    }
  }

  #ends(question: string, end: 'result' | 'error'): void {
    const known = this.questions.get(question);
    if (known !== undefined) known.end = end;
  }

  answerTo({ client, id }: Place): Message | undefined {
    return this.clients[client]?.answersTo(id)[0];
  }

  #expect(place: Place, expected: Expected): void {
    this.expected.set(`${place.client} ${place.id}`, expected);
    const message = this.answerTo(place);
    const inputRequests = message?.result?.inputRequests as object | undefined;
    const got =
      inputRequests === undefined
        ? message?.error === undefined
          ? { payload: message?.result?.echo }
          : { error: message.error.data?.reason ?? message.error.data?.code }
        : { asks: Object.keys(inputRequests) };
    expect(got).toEqual(expected);
  }

  /** Nothing happened that the model does not know of. */
  check(): void {
    expect(this.core.counters.internalErrors).toBe(0);
    for (const [client, { received }] of this.clients.entries())
      for (const { id, method } of received) {
        expect(method).toBeUndefined();
        expect(this.expected.has(`${client} ${String(id)}`) || this.#isEnded(client, id)).toBe(true);
        expect(received.filter((other) => other.id === id)).toHaveLength(1);
      }
    for (const [question, { instance, end }] of this.questions) {
      const answers = instance.received.filter(({ id, method }) => id === question && method === undefined);
      const ends = answers.map(({ result }) => (result === undefined ? 'error' : 'result'));
      expect({ question, ends }).toEqual({ question, ends: end === undefined ? [] : [end] });
    }
    for (const call of this.calls) {
      const sent = this.#sent(call);
      const times = this.core
        .server()
        .instances.flatMap(({ requests }) => requests.filter(({ params }) => params?.name === call.payload));
      expect(times.length).toBe(sent === undefined || sent.run < sent.instance.starts ? 0 : 1);
    }
    expect(this.core.suspended.size).toBe(this.calls.filter(({ isSuspended }) => isSuspended).length);
  }

  /** Answered at once, before the model has looked. */
  #isEnded(client: number, id: unknown): boolean {
    return this.expected.get(`${client} ${String(id)}`) !== undefined;
  }
}

interface Retry {
  readonly client: number;
  readonly mask: number;
  readonly isOld: boolean;
  readonly isOtherCall: boolean;
  readonly isMalformed: boolean;
}

const which = fc.nat({ max: 30 });
const client = fc.nat({ max: 1 });
const seldom = fc.integer({ min: 0, max: 9 }).map((n) => n === 0);
type Step = (world: World) => Promise<void>;
const onCall = (world: World, n: number, step: (call: ModelCall) => Promise<void>): Promise<void> => {
  const call = world.calls[n % Math.max(1, world.calls.length)];
  return call === undefined ? Promise.resolve() : step(call);
};
const onWork = (world: World, n: number, step: (call: ModelCall) => Promise<void>): Promise<void> => {
  const calls = world.underWay();
  const call = calls[n % Math.max(1, calls.length)];
  return call === undefined ? Promise.resolve() : step(call);
};

const steps: fc.Arbitrary<Step>[] = [
  client.map((c) => (world) => world.call(c)),
  fc.tuple(which, fc.integer({ min: 1, max: 3 })).map(
    ([n, count]) =>
      (world) =>
        onWork(world, n, (call) => world.ask(call, count)),
  ),
  fc
    .tuple(
      which,
      fc.record({ client, mask: fc.nat({ max: 7 }), isOld: seldom, isOtherCall: seldom, isMalformed: seldom }),
    )
    .map(
      ([n, how]) =>
        (world) =>
          onCall(world, n, (call) => world.retry(call, how)),
    ),
  fc.tuple(which, client).map(
    ([n, from]) =>
      (world) =>
        onCall(world, n, (call) =>
          world.retry(call, { client: from, mask: 255, isOld: false, isOtherCall: false, isMalformed: false }),
        ),
  ),
  which.map((n) => (world) => onWork(world, n, (call) => world.answer(call))),
  fc.tuple(which, which).map(
    ([n, question]) =>
      (world) =>
        onWork(world, n, (call) => world.withdraw(call, question)),
  ),
  which.map((n) => (world) => onCall(world, n, (call) => world.cancel(call))),
  which.map((n) => (world) => world.crash(n)),
  client.map((c) => (world) => world.reconnect(c)),
  fc.constant((world: World) => world.expire()),
];

test('suspended calls behave like the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(...weighted()), { maxLength: 40 }), async (lives) => {
      const world = new World();
      await world.start();
      for (const step of lives) {
        await step(world);
        world.check();
      }
      await world.expire();
      world.check();
    }),
    { numRuns: runs(1000) },
  );
});

/** What starts and goes on with calls comes more often than what ends them. */
function weighted(): { weight: number; arbitrary: fc.Arbitrary<Step> }[] {
  const weights = [6, 6, 5, 4, 3, 2, 1, 1, 1, 1];
  return steps.map((arbitrary, i) => ({ weight: weights[i] ?? 1, arbitrary }));
}
