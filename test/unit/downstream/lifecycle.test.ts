import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Life,
  type LifeEffect,
  type LifeEvent,
  NEWBORN,
  pauseMs,
  transition,
} from '../../../src/downstream/lifecycle.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';

const { brokenMs: BROKEN_MS } = DEFAULT_LIMITS;

/** Lets events happen at their times; the effects, in order. */
function live(
  events: readonly (readonly [LifeEvent, number])[],
  random = 0.999,
): { life: Life; effects: LifeEffect[] } {
  let life = NEWBORN;
  const effects = events.map(([event, ms]) => {
    const step = transition(life, event, { ms, random }, DEFAULT_LIMITS);
    life = step.life;
    return step.effect;
  });
  return { life, effects };
}

/** Needed, started, dead, so many times in a row, from `ms` on. */
const deaths = (count: number, ms = 0): [LifeEvent, number][] =>
  Array.from({ length: count }, (_, n) => n).flatMap((n): [LifeEvent, number][] => [
    ['needed', ms + n],
    ['timer', ms + n],
    ['opened', ms + n],
    ['died', ms + n],
  ]);

describe('an instance', () => {
  test('is started once, however many need it', () => {
    const { life, effects } = live([
      ['needed', 0],
      ['needed', 1],
      ['opened', 2],
      ['needed', 3],
    ]);
    expect([life.state.kind, effects]).toEqual(['ready', ['launch', undefined, undefined, undefined]]);
  });

  test('that has died once is started at once when it is needed', () => {
    const { effects } = live([
      ['needed', 0],
      ['opened', 1],
      ['died', 2],
      ['needed', 3],
    ]);
    expect(effects).toEqual(['launch', undefined, undefined, 'launch']);
  });

  test('that wants a person to sign in has not died, however often it is asked', () => {
    const asked = Array.from({ length: 10 }, (_, n): [LifeEvent, number][] => [
      ['needed', n],
      ['refused', n],
    ]);
    const { life, effects } = live([...asked.flat(), ['needed', 10]]);
    expect(effects.filter((effect) => effect !== undefined)).toEqual(Array.from({ length: 11 }, () => 'launch'));
    expect(life.deathsMs).toEqual([]);
  });

  test('that comes by itself has not died when it goes, however often', () => {
    const comings = Array.from({ length: 9 }, (_, ms): [LifeEvent, number][] => [
      ['needed', ms],
      ['opened', ms],
      ['left', ms],
    ]).flat();
    const { life, effects } = live(comings);
    expect(life).toEqual(NEWBORN);
    expect(effects.filter((effect) => effect !== undefined)).toEqual(Array(9).fill('launch'));
  });

  test('that dies again and again is started after pauses that grow', () => {
    const waits = [2, 3, 4].map((count) => live([...deaths(count), ['needed', 10]]).effects.at(-1));
    expect(waits).toEqual([{ waitMs: 499 }, { waitMs: 999 }, { waitMs: 1998 }]);
    expect(live([...deaths(2), ['needed', 10], ['needed', 11], ['timer', 600]]).effects.slice(-2)).toEqual([
      undefined,
      'launch',
    ]);
  });

  test('that has died five times within a minute is broken, refuses for a while, and then has one more try', () => {
    const { life, effects } = live([...deaths(5), ['needed', 100], ['needed', BROKEN_MS], ['needed', BROKEN_MS + 4]]);
    expect(effects.slice(-3)).toEqual(['refuse', 'refuse', 'launch']);
    expect(life.state.kind).toBe('starting');
    const next = (event: LifeEvent) =>
      transition(life, event, { ms: BROKEN_MS + 5, random: 0 }, DEFAULT_LIMITS).life.state;
    expect(next('opened').kind).toBe('ready');
    expect(next('died')).toEqual({ kind: 'broken', untilMs: 2 * BROKEN_MS + 5 });
  });

  test('forgets deaths after a minute', () => {
    const { life, effects } = live([...deaths(4), ['needed', 70_000]]);
    expect([life.deathsMs, effects.at(-1)]).toEqual([[], 'launch']);
  });

  test('counts a failed start as a death', () => {
    const failed = Array.from({ length: 5 }, (_, n): [LifeEvent, number][] => [
      ['needed', n],
      ['timer', n],
      ['died', n],
    ]).flat();
    expect(live(failed).life.state.kind).toBe('broken');
  });

  test('that nobody uses is ended, and started again for new clients', () => {
    expect(
      live([
        ['needed', 0],
        ['opened', 1],
        ['vacant', 2],
        ['gone', 3],
      ]),
    ).toMatchObject({
      life: { state: { kind: 'idle' }, deathsMs: [] },
      effects: ['launch', undefined, 'end', undefined],
    });
    const { life, effects } = live([
      ['needed', 0],
      ['opened', 1],
      ['vacant', 2],
      ['needed', 3],
      ['gone', 4],
    ]);
    expect([life.state.kind, effects.at(-1)]).toEqual(['starting', 'launch']);
  });

  test('is ended for good at a shutdown, whatever it is doing', () => {
    for (const [before, effect] of [
      [[], undefined],
      [[['needed', 0]], 'end'],
      [
        [
          ['needed', 0],
          ['opened', 1],
        ],
        'end',
      ],
      [deaths(5), undefined],
    ] as [[LifeEvent, number][], LifeEffect][]) {
      const { life, effects } = live([...before, ['shutdown', 9], ['needed', 10], ['timer', 11], ['gone', 12]]);
      expect([life.state.kind, ...effects.slice(-4)]).toEqual(['stopped', effect, undefined, undefined, undefined]);
    }
  });

  test('pauses within a bound that doubles up to 15 s, and not at all the first time', () => {
    expect([0, 1].map((count) => pauseMs(count, 0.999))).toEqual([0, 0]);
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 50 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (count, random) => {
          const pause = pauseMs(count, random);
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThan(Math.min(15_000, 500 * 2 ** (count - 2)));
        },
      ),
    );
  });

  test('never has two processes, and never forgets a waiting client', () => {
    const event = fc.constantFrom<LifeEvent>('needed', 'opened', 'refused', 'died', 'timer', 'vacant', 'gone');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, fc.nat(20_000)), { maxLength: 60 }),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        (steps, random) => {
          let life = NEWBORN;
          let ms = 0;
          let processes = 0;
          let isWaitedFor = false;
          for (const [what, later] of steps) {
            ms += later;
            // Only what can happen to what is there.
            if ((what === 'opened' || what === 'died' || what === 'gone') && processes === 0) continue;
            if ((what === 'opened' || what === 'refused') && life.state.kind !== 'starting') continue;
            if (what === 'gone' && life.state.kind !== 'stopping') continue;
            if (what === 'died' && life.state.kind === 'stopping') continue;
            if (what === 'timer' && life.state.kind !== 'waiting') continue;
            if (what === 'died' || what === 'refused' || what === 'gone') processes--;
            if (what === 'opened' || what === 'refused' || what === 'died') isWaitedFor = false;
            const { life: next, effect } = transition(life, what, { ms, random }, DEFAULT_LIMITS);
            if (what === 'needed' && next.state.kind !== 'ready') isWaitedFor = true;
            if (effect === 'launch') processes++;
            if (effect === 'refuse') isWaitedFor = false;
            life = next;
            expect(processes).toBeLessThanOrEqual(1);
            if (isWaitedFor) expect(['starting', 'waiting', 'stopping']).toContain(life.state.kind);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});
