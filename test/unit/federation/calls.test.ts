// Calls between a home and owners on a bus in the process: what each side promises, while the bus does what it wants.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BusMessage } from '../../../src/federation/bus.ts';
import { WINDOW_BYTES } from '../../../src/federation/frames.ts';
import { type Asked, FederationWorld } from '../../support/federation-world.ts';
import { runs } from '../../support/runs.ts';

const echo = (asked: Asked): void => asked.answer({ text: (asked.params.arguments as { text?: string }).text ?? '' });

test('a call comes to its owner with who asks, and its answer comes back', () => {
  const world = new FederationWorld();
  const seen: Asked[] = [];
  world.owner('builder', (asked) => {
    seen.push(asked);
    echo(asked);
  });
  const connection = world.home('laptop').open('builder');
  connection.call(1, { text: 'hello' });
  expect(connection.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'hello' } }]);
  expect(seen[0]?.principal).toMatchObject({ kind: 'bus', tenant: 'acme', user: 'ann', host: 'laptop' });
});

test('progress comes before the answer, in its order', () => {
  const world = new FederationWorld();
  world.owner('builder', (asked) => {
    asked.progress(1);
    asked.progress(2);
    asked.answer({ text: 'done' });
  });
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  expect(connection.came.map(({ params, result }) => params?.progress ?? result?.text)).toEqual([1, 2, 'done']);
});

test('large requests and large answers go in parts', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const connection = world.home('laptop').open('builder');
  const text = 'x'.repeat(5 << 20);
  connection.call(1, { text });
  expect(connection.answersTo(1).map(({ result }) => result?.text === text)).toEqual([true]);
  expect(Math.max(...world.bus.published.map(({ data }) => data.length))).toBeLessThanOrEqual(256 * 1024);
});

test('a cancelled call ends at its owner, and nothing comes back', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  const connection = home.open('builder');
  connection.call(1, {});
  connection.cancel(1);
  world.advance(1000); // the owner says that it has begun, and hears it then
  expect(open[0]?.isCancelled).toBe(true);
  expect(connection.came).toEqual([]);
  world.advance(20_000);
  expect(home.home.openCalls).toBe(0);
});

test('a host that nobody has heard of fails at once', () => {
  const world = new FederationWorld();
  const connection = world.home('laptop').open('nowhere');
  connection.call(1, {});
  expect(connection.answersTo(1)[0]?.error).toMatchObject({ data: { code: 'SERVER_UNREACHABLE' } });
});

test('without a bus a call fails at once', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const home = world.home('laptop');
  const connection = home.open('builder');
  home.node.connect(false);
  connection.call(1, {});
  expect(connection.answersTo(1)[0]?.error?.message).toContain('NATS is away');
});

test('an answer that comes while the home is away is delivered once when it is back', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  const connection = home.open('builder');
  connection.call(1, {});
  world.advance(1000);
  home.node.connect(false);
  open[0]?.answer({ text: 'late' });
  world.advance(10_000);
  expect(connection.came).toEqual([]);
  home.node.connect(true);
  world.settle();
  world.advance(20_000);
  expect(connection.answersTo(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'late' } }]);
  expect(open).toHaveLength(1);
});

test('an owner that is started again knows nothing of a call: nobody knows its outcome', async () => {
  const world = new FederationWorld();
  const begun: Asked[] = [];
  const first = world.owner('builder', (asked) => begun.push(asked), 'run-1');
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(1000);
  first.node.connect(false);
  world.owner('builder', (asked) => begun.push(asked), 'run-2');
  world.advance(20_000);
  await connection.connection.ended;
  expect(connection.endedBy).toMatch(/does not know the call|restarted/);
  expect(begun).toHaveLength(1);
});

test('an owner that says nothing any more ends the connection within 20 s', async () => {
  const world = new FederationWorld();
  world.owner('builder', () => undefined);
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(1000);
  world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Owner'] !== undefined });
  world.advance(20_000);
  await connection.connection.ended;
  expect(connection.endedBy).toContain('has said nothing for 15 s');
});

test('a call that takes long is kept alive', () => {
  const world = new FederationWorld();
  const open: Asked[] = [];
  world.owner('builder', (asked) => open.push(asked));
  const connection = world.home('laptop').open('builder');
  connection.call(1, {});
  world.advance(120_000);
  open[0]?.answer({ text: 'after two minutes' });
  world.settle();
  expect(connection.answersTo(1)[0]?.result?.text).toBe('after two minutes');
  expect(open).toHaveLength(1);
});

test('a reader that stands still has at most a window of each call, and holds up no other', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  const home = world.home('laptop');
  const slow = home.open('builder');
  const quick = home.open('builder');
  slow.connection.pause();
  slow.call(1, { text: 'x'.repeat(6 << 20) });
  const sent = world.bus.published.filter(({ headers }) => headers['Mcp-Owner'] !== undefined);
  expect(sent.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThanOrEqual(WINDOW_BYTES);
  quick.call(1, { text: 'quick' });
  expect(quick.answersTo(1)[0]?.result?.text).toBe('quick');
  world.advance(120_000); // the owner keeps the rest for a caller that shows that it is there
  slow.connection.resume();
  world.settle();
  expect(slow.answersTo(1)[0]?.result?.text).toHaveLength(6 << 20);
});

test('any owner may take a call of a server by its name alone', () => {
  const world = new FederationWorld();
  const took: string[] = [];
  for (const host of ['one', 'two'])
    world.owner(host, (asked) => {
      took.push(host);
      asked.answer({ text: host });
    });
  const connection = world.home('laptop').open(undefined);
  for (let id = 1; id <= 20; id++) connection.call(id, {});
  expect(connection.came).toHaveLength(20);
  expect(new Set(took)).toEqual(new Set(['one', 'two']));
});

describe('over a bus that loses, repeats, delays and reorders', () => {
  const weather = fc.record({
    loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
    again: fc.double({ min: 0, max: 0.3, noNaN: true }),
    delayMs: fc.integer({ min: 0, max: 900 }),
    seed: fc.integer(),
    isAnywhere: fc.boolean(),
    calls: fc.array(
      fc.record({
        bytes: fc.constantFrom(10, 300_000, 1_500_000),
        takesMs: fc.constantFrom(0, 500, 9000),
        isList: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    breaks: fc.array(fc.record({ atStep: fc.nat(30), who: fc.constantFrom('home', 'owner', 'partition') }), {
      maxLength: 2,
    }),
  });

  test('each call has at most one answer, and one or the end of its connection; a tool never runs twice; credit is kept', async () => {
    await fc.assert(
      fc.asyncProperty(weather, async ({ loss, again, delayMs, seed, isAnywhere, calls, breaks }) => {
        const world = new FederationWorld();
        const random = randomFrom(seed);
        const ran = new Map<string, number>();
        const serve = (asked: Asked): void => {
          if (asked.method !== 'tools/call') return asked.answer({ text: 'list' });
          const { key, bytes, takesMs } = asked.params.arguments as { key: string; bytes: number; takesMs: number };
          ran.set(key, (ran.get(key) ?? 0) + 1);
          asked.progress(1);
          world.clock.after(takesMs, () => asked.answer({ text: 'x'.repeat(bytes) }));
        };
        const owners = [world.owner('one', serve), world.owner('two', serve)];
        const home = world.home('laptop');
        const credit = new CreditWatch();
        world.bus.fateOf = (message) => {
          credit.saw(message);
          return { isLost: random() < loss, times: random() < again ? 2 : 1, delayMs: Math.floor(random() * delayMs) };
        };
        const connection = home.open(isAnywhere ? undefined : 'one');
        for (const [i, call] of calls.entries())
          if (call.isList) connection.list(i + 1);
          else connection.call(i + 1, { key: `${i}`, ...call, pad: 'y'.repeat(call.bytes) });
        for (let step = 0; step < 400; step++) {
          for (const { atStep, who } of breaks) {
            if (step === atStep && who === 'home') home.node.connect(false);
            if (step === atStep + 8 && who === 'home') home.node.connect(true);
            if (who === 'owner' && (step === atStep || step === atStep + 8)) owners[0]?.node.connect(step !== atStep);
            if (who === 'partition' && owners[0] !== undefined && (step === atStep || step === atStep + 12))
              owners[0].node.side = step === atStep ? 1 : 0;
          }
          world.advance(250);
          await Promise.resolve();
          const isOver =
            calls.every((_, i) => connection.answersTo(i + 1).length > 0) || connection.endedBy !== undefined;
          if (isOver && step > 90) break; // what comes twice or late has come by then
        }
        for (let id = 1; id <= calls.length; id++) {
          const answers = connection.answersTo(id).length;
          expect(answers).toBeLessThanOrEqual(1);
          if (connection.endedBy === undefined) expect(answers).toBe(1);
        }
        for (const times of ran.values()) expect(times).toBe(1);
        expect(credit.worst).toBeLessThanOrEqual(WINDOW_BYTES);
        expect(home.home.openCalls).toBe(0);
      }),
      { numRuns: runs(100) },
    );
  });
});

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

  saw({ subject, reply, headers, data }: BusMessage): void {
    const got = Number(headers['Mcp-Got']);
    if (subject.endsWith('.ctl') && headers['Mcp-Frame'] === undefined && headers['Mcp-Got'] !== undefined)
      this.#noteGot(subject.slice(0, -'.ctl'.length), got);
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
