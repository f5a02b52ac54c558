// Calls at random, over a bus at random: it loses, repeats, delays and reorders; homes, owners and their second connections come and go; owners are started
// again; homes and owners stand still for longer than anybody waits. What comes of each call is compared with a ledger of what its owners have done, which is too simple to be wrong.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { BusMessage } from '../../../src/federation/bus.ts';
import { WINDOW_BYTES } from '../../../src/federation/frames.ts';
import { type Asked, FederationWorld, isControl, replyOfControl } from '../../support/federation-world.ts';
import { runs } from '../../support/runs.ts';

/** Longer than an answer in frames may be: it goes by claim. */
const CLAIMED = 17 << 20;
const STEP_MS = 250;
/** The bus is calm from then on. */
const CALM_STEP = 160;
/** All calls are over so long after that: twice the time after which one is lost, and once the time for which a host may be away. */
const CALM_STEPS = 240;
/** A host that gives no sign of life for so long is silent. */
const SILENT_STEPS = 44;
const OWNERS = ['one', 'two'] as const;
/** A safe call of any owner goes to another one every 2 s while nobody is heard, for 15 s; and once more so where it is lost. */
const MOST_TIMES = 16;

const call = fc.record({
  /** The bytes of its request and of its answer. */
  asks: fc.constantFrom(10, 10, 300_000, 1_500_000),
  answers: fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(10, 10, 300_000, 1_100_000, 3_000_000) },
    { weight: 1, arbitrary: fc.constant(CLAIMED) },
  ),
  takesMs: fc.constantFrom(0, 500, 9000),
  atStep: fc.oneof(fc.constant(0), fc.nat(60)),
  kind: fc.constantFrom('list', 'safe', 'unsafe', 'unsafe'),
});

const trouble = fc.record({
  atStep: fc.nat(80),
  steps: fc.integer({ min: 1, max: 30 }),
  is: fc.constantFrom('home away', 'owner away', 'partition', 'home bulk dead', 'owner bulk dead', 'owner restarts'),
  owner: fc.nat(1),
  isTimersFirst: fc.boolean(),
});

/** Up to 50 s: longer than a call, a host and an answer are waited for. */
const stillness = fc.record({
  atStep: fc.nat(60),
  steps: fc.integer({ min: 1, max: 200 }),
  is: fc.constantFrom('home stands still', 'owner stands still'),
  owner: fc.nat(1),
  isTimersFirst: fc.boolean(),
});

const weather = fc.record({
  loss: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 0.3, noNaN: true })),
  again: fc.double({ min: 0, max: 0.3, noNaN: true }),
  delayMs: fc.integer({ min: 0, max: 900 }),
  seed: fc.integer(),
  isAnywhere: fc.boolean(),
  hasBulk: fc.boolean(),
  calls: fc.array(call, { minLength: 1, maxLength: 6 }),
  troubles: fc.array(fc.oneof({ weight: 3, arbitrary: trouble }, { weight: 1, arbitrary: stillness }), {
    maxLength: 4,
  }),
});

type Weather = typeof weather extends fc.Arbitrary<infer T> ? T : never;

/** The slow and obvious twin: how often each call was begun, and nothing else. */
class Ledger {
  readonly #begun = new Map<number, number>();

  begin(id: number): void {
    this.#begun.set(id, this.timesOf(id) + 1);
  }

  timesOf(id: number): number {
    return this.#begun.get(id) ?? 0;
  }

  /** Why an outcome cannot be; undefined if it can. */
  objection(
    id: number,
    { kind, answers }: Weather['calls'][number],
    came: Outcome,
    isFair: boolean,
  ): string | undefined {
    const times = this.timesOf(id);
    if (times > 1 && kind === 'unsafe') return `ran ${times} times`;
    if (times > MOST_TIMES) return `ran ${times} times`;
    if (came.text !== undefined && times === 0) return 'has a result, and never ran';
    if (came.text !== undefined && came.text.length !== answers) return `has ${came.text.length} bytes`;
    // An owner that has told its caller that it did nothing must not have done it.
    if (came.code === 'SERVER_UNREACHABLE' && times > 0 && kind === 'unsafe')
      return 'ran, and was called not carried out';
    if (isFair && came.text === undefined) return `failed for no reason: ${JSON.stringify(came)}`;
    return undefined;
  }
}

interface Outcome {
  readonly text: string | undefined;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

test('each call ends once, with what its owner has done; nothing is done twice that may not be; credit is kept', async () => {
  await fc.assert(fc.asyncProperty(weather, tried), { numRuns: runs(250) });
}, 120_000);

async function tried({ loss, again, delayMs, seed, isAnywhere, hasBulk, calls, troubles }: Weather): Promise<void> {
  const random = randomFrom(seed);
  vi.spyOn(Math, 'random').mockImplementation(random); // an owner is chosen by it
  const world = new FederationWorld({ maxMessageBytes: 64 << 20 });
  world.hasBulk = hasBulk;
  const ledger = new Ledger();
  const serveAs =
    (host: string) =>
    (asked: Asked): void => {
      const { id, bytes, takesMs } = (asked.params.arguments ?? asked.params._meta) as Given;
      ledger.begin(id);
      asked.progress(1);
      const { clock } = owners[host === 'one' ? 0 : 1] ?? world;
      clock.after(takesMs, () => asked.answer({ text: 'x'.repeat(bytes) }));
    };
  const owners = OWNERS.map((host) => world.owner(host, serveAs(host)));
  const home = world.home('laptop');
  const credit = new CreditWatch();
  let isCalm = false;
  world.bus.fateOf = (message) => {
    credit.saw(message);
    if (isCalm) return {};
    return { isLost: random() < loss, times: random() < again ? 2 : 1, delayMs: Math.floor(random() * delayMs) };
  };
  const connection = home.open(isAnywhere ? undefined : 'one');
  const asked = new Set<number>();
  const ask = (id: number, { asks, answers, takesMs, kind }: Weather['calls'][number]): void => {
    if (connection.endedBy !== undefined) return;
    asked.add(id);
    const given: Given = { id, bytes: answers, takesMs, pad: 'y'.repeat(asks) };
    if (kind === 'list') return connection.list(id, given);
    if (kind === 'safe') connection.safe.add(`${id}`);
    connection.call(id, given);
  };

  const untilStep = Math.max(0, ...troubles.map(({ atStep, steps }) => atStep + steps));
  const calmStep = Math.max(CALM_STEP, untilStep + 1);
  /** Requests that its clients write while the home stands still. */
  let unread: (() => void)[] = [];
  for (let step = 0; step < calmStep + CALM_STEPS; step++) {
    isCalm = step >= calmStep;
    for (const one of troubles) {
      if (step === one.atStep) begin(one);
      if (step === one.atStep + SILENT_STEPS && one.is === 'home stands still' && home.node.isFrozen) fallSilent();
      if (step === one.atStep + one.steps) end(one);
    }
    for (const [i, one] of calls.entries()) if (step === one.atStep) unread.push(() => ask(i + 1, one));
    if (!home.node.isFrozen) {
      for (const task of unread) task();
      unread = [];
    }
    world.advance(STEP_MS);
    for (let i = 0; i < 5; i++) {
      await Promise.resolve(); // long answers are parked
      world.settle();
    }
    const isOver = [...asked].every((id) => connection.answersTo(id).length > 0) || connection.endedBy !== undefined;
    if (isOver && step > Math.max(120, untilStep)) break; // what comes twice or late has come by then
  }

  const isFair = loss === 0 && troubles.length === 0;
  for (const [i, one] of calls.entries()) {
    const id = i + 1;
    if (!asked.has(id)) continue;
    const answers = connection.answersTo(id);
    const ended = connection.endedBy ?? 'not ended';
    if (answers.length > 1) expect.fail(`call ${id} has ${answers.length} answers`);
    if (answers.length === 0 && (ended === 'not ended' || isFair)) expect.fail(`call ${id} has no answer (${ended})`);
    const [{ result, error } = {}] = answers;
    const outcome = { text: result?.text, code: error?.data?.code, message: error?.message };
    const objection = ledger.objection(id, one, outcome, isFair);
    if (objection !== undefined) expect.fail(`call ${id} ${objection} (${JSON.stringify(error)})`);
  }
  expect(credit.worst).toBeLessThanOrEqual(WINDOW_BYTES);
  expect(home.home.openCalls).toBe(0);
  home.home.close();
  for (const { owner } of owners) owner.close();

  function begin({ is, owner: at }: Weather['troubles'][number]): void {
    const host = OWNERS[at] ?? 'one';
    const owner = owners[at];
    if (is === 'home away') home.node.connect(false);
    if (is === 'home bulk dead') home.node.isBulkDead = true;
    if (is === 'home stands still') home.standStill();
    if (owner === undefined) return;
    if (is === 'owner stands still') owner.standStill();
    if (is === 'owner away') owner.node.connect(false);
    if (is === 'partition') owner.node.side = 1;
    if (is === 'owner bulk dead') owner.node.isBulkDead = true;
    if (is !== 'owner restarts') return;
    owner.node.connect(false); // its process is gone, with all that it knew
    owners[at] = world.owner(host, serveAs(host), `run-${world.clock.now()}`);
  }

  /** The home gives no sign of life: its owners wait for it for a while. */
  function fallSilent(): void {
    world.silent.add('laptop');
    for (const { owner } of owners) owner.hostSilent('laptop');
  }

  function end({ is, owner: at, isTimersFirst }: Weather['troubles'][number]): void {
    const owner = owners[at];
    if (is === 'home stands still') {
      home.goOn(isTimersFirst);
      world.silent.delete('laptop');
    }
    if (is === 'home away') home.node.connect(true);
    if (is === 'home bulk dead') home.node.isBulkDead = false;
    if (owner === undefined) return;
    if (is === 'owner stands still') owner.goOn(isTimersFirst);
    if (is === 'owner away') owner.node.connect(true);
    if (is === 'partition') owner.node.side = 0;
    if (is === 'owner bulk dead') owner.node.isBulkDead = false;
  }
}

/** The arguments of a call: what its server is to do. */
interface Given {
  readonly id: number;
  readonly bytes: number;
  readonly takesMs: number;
  readonly pad: string;
}

/** Small and reproducible (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Watches the frames to each caller: the bytes of those that it has not said that it has. */
class CreditWatch {
  worst = 0;
  readonly #sent = new Map<string, number[]>();
  readonly #got = new Map<string, number>();

  saw({ subject: to, reply, headers, data }: BusMessage): void {
    const subject = to.replace(/\.bulk$/, '');
    const got = Number(headers['Mcp-Got']);
    if (isControl(subject) && headers['Mcp-Frame'] === undefined && headers['Mcp-Got'] !== undefined)
      this.#noteGot(replyOfControl(subject), got);
    if (reply !== undefined && headers['Mcp-Got'] !== undefined) this.#noteGot(reply, got);
    const seq = Number(headers['Mcp-Seq']);
    if (headers['Mcp-Owner'] === undefined || Number.isNaN(seq)) return;
    const sizes = this.#sent.get(subject) ?? [];
    sizes[seq] = data.length;
    this.#sent.set(subject, sizes);
    const open = sizes.reduce((sum, bytes, at) => sum + (at > (this.#got.get(subject) ?? 0) ? bytes : 0), 0);
    this.worst = Math.max(this.worst, open);
  }

  #noteGot(reply: string, got: number): void {
    this.#got.set(reply, Math.max(got, this.#got.get(reply) ?? 0));
  }
}
