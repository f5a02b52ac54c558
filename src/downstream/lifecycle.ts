// The life of an instance as a pure state machine: each event leads to a state and at most one effect. It starts nothing and waits
// for nothing: InstanceRunner carries out the effects, and reports what happened as the next event.
//
//   idle ──needed──▶ starting ──opened──▶ ready ──vacant──▶ stopping ──gone──▶ idle
//                      │  ▲                 │
//                    died │ timer          died
//                      ▼  │                 ▼
//                    waiting ◀──needed── idle, with a death on record
//
// An instance that dies is started again when it is needed: at once after its first death, after a growing, random pause if it
// has died before within a minute. After five deaths in a minute it is broken: requests fail at once until a pause is over, and
// the start after that decides. A server that refuses to start until a person signs in is idle again.

import type { Limits } from '../model/limits.ts';
import { invariant } from '../util/invariant.ts';

export type LifeState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready' }
  /** Backing off: a request is waiting, and the timer will start it. */
  | { readonly kind: 'waiting' }
  /** Fails every request until that time. */
  | { readonly kind: 'broken'; readonly untilMs: number }
  /** Ending because nobody uses it. It starts again afterwards if a request arrived meanwhile. */
  | { readonly kind: 'stopping'; readonly isNeeded: boolean }
  /** Ended for good: the daemon ends, or the server is no longer defined. */
  | { readonly kind: 'stopped' };

export interface Life {
  readonly state: LifeState;
  /** The times of its deaths within the last minute, oldest first. */
  readonly deathsMs: readonly number[];
}

export type LifeEvent = 'needed' | 'opened' | 'refused' | 'died' | 'left' | 'timer' | 'vacant' | 'gone' | 'shutdown';

/** The effect of an event. `refuse` fails all requests that wait. */
export type LifeEffect = 'launch' | 'end' | 'refuse' | { readonly waitMs: number } | undefined;

export interface Now {
  readonly ms: number;
  /** A number from 0 up to 1. */
  readonly random: number;
}

const WINDOW_MS = 60_000;
export type BreakerLimits = Pick<Limits, 'maxDeathsPerMinute' | 'brokenMs'>;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export const NEWBORN: Life = { state: { kind: 'idle' }, deathsMs: [] };

export function transition(
  life: Life,
  event: LifeEvent,
  now: Now,
  limits: BreakerLimits,
): { readonly life: Life; readonly effect: LifeEffect } {
  const recent = { ...life, deathsMs: life.deathsMs.filter((ms) => now.ms - ms < WINDOW_MS) };
  if (event === 'shutdown') return shutDown(recent);
  switch (recent.state.kind) {
    case 'idle':
      return event === 'needed' ? whenNeeded(recent, now) : stay(recent);
    case 'starting':
      if (event === 'opened') return become(recent, { kind: 'ready' });
      // The server runs and waits for a person to sign in: that is no death.
      if (event === 'refused') return become(recent, { kind: 'idle' });
      return event === 'died' ? whenDead(recent, now, limits) : stay(recent);
    case 'ready':
      if (event === 'vacant') return become(recent, { kind: 'stopping', isNeeded: false }, 'end');
      // A server that connected by itself has left: that is no death, and nothing starts it.
      if (event === 'left') return become(recent, { kind: 'idle' });
      return event === 'died' ? whenDead(recent, now, limits) : stay(recent);
    case 'waiting':
      return event === 'timer' ? become(recent, { kind: 'starting' }, 'launch') : stay(recent);
    case 'broken':
      return event === 'needed' ? whenBroken(recent, recent.state.untilMs, now) : stay(recent);
    case 'stopping':
      if (event === 'needed') return become(recent, { kind: 'stopping', isNeeded: true });
      if (event !== 'gone' && event !== 'died') return stay(recent);
      return recent.state.isNeeded ? become(recent, { kind: 'starting' }, 'launch') : become(recent, { kind: 'idle' });
    case 'stopped':
      invariant(event !== 'opened', 'nothing starts after the end');
      return stay(recent);
  }
}

type Step = ReturnType<typeof transition>;

const stay = (life: Life): Step => ({ life, effect: undefined });

function become(life: Life, state: LifeState, effect?: LifeEffect): Step {
  return { life: { ...life, state }, effect };
}

function whenNeeded(life: Life, now: Now): Step {
  const waitMs = pauseMs(life.deathsMs.length, now.random);
  if (waitMs === 0) return become(life, { kind: 'starting' }, 'launch');
  return become(life, { kind: 'waiting' }, { waitMs });
}

/** Full jitter: a random pause up to a bound that doubles with each death but the first. */
export function pauseMs(deaths: number, random: number): number {
  if (deaths < 2) return 0;
  return Math.floor(random * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (deaths - 2)));
}

function whenDead(life: Life, now: Now, { maxDeathsPerMinute, brokenMs }: BreakerLimits): Step {
  const died = { ...life, deathsMs: [...life.deathsMs, now.ms] };
  if (died.deathsMs.length < maxDeathsPerMinute) return become(died, { kind: 'idle' });
  return become(died, { kind: 'broken', untilMs: now.ms + brokenMs });
}

function whenBroken(life: Life, untilMs: number, now: Now): Step {
  return now.ms < untilMs ? { life, effect: 'refuse' } : become(life, { kind: 'starting' }, 'launch');
}

function shutDown(life: Life): Step {
  const { kind } = life.state;
  return become(life, { kind: 'stopped' }, kind === 'starting' || kind === 'ready' ? 'end' : undefined);
}
