import { describe, expect, test } from 'vitest';
import { Events } from '../../../src/core/events.ts';
import type { LivenessFinding } from '../../../src/core/liveness.ts';
import { Session } from '../../../src/core/session.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { DEFAULT_LIVENESS, type LivenessSettings } from '../../../src/model/liveness-settings.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { TestLink } from '../../support/core-in-memory.ts';
import { ManualTurn } from '../../support/recording-sink.ts';

const limits = { ...DEFAULT_LIMITS, handshakeTimeoutMs: 5000, stallTimeoutMs: 10_000 };

function sessionAt(
  ms: number,
  state: Session['state'] = 'ready',
): {
  session: Session;
  link: TestLink;
  look: (nowMs: number, settings?: Partial<LivenessSettings>) => LivenessFinding;
} {
  const turn = new ManualTurn();
  const link = new TestLink(() => undefined, new FlushTurn(turn.defer), 1000);
  const session = new Session(link, {
    events: new Events(() => undefined),
    limits,
    leave: () => undefined,
    now: { date: new Date(0), ms },
    principal: { kind: 'local', uid: 1000, pid: undefined },
  });
  if (state === 'initializing' || state === 'ready') session.beginInitialize('1');
  if (state === 'ready') session.becomeReady();
  const look = (nowMs: number, settings: Partial<LivenessSettings> = {}): LivenessFinding => {
    turn.end();
    return session.liveness.look(nowMs, limits, { ...DEFAULT_LIVENESS, ...settings });
  };
  return { session, link, look };
}

const say = (session: Session): void => session.output.answer('1', '{}');

describe('a look at a client', () => {
  test('knows one that never said a word', () => {
    const { session, look } = sessionAt(700, 'connecting');
    expect(look(100_000)).toBeUndefined();
    expect([5699, 5700].map((ms) => session.liveness.isSilentFor(5000, ms))).toEqual([false, true]);
    session.liveness.speaks();
    expect(session.liveness.isSilentFor(5000, 100_000)).toBe(false);
  });

  test('finds one that takes nothing, counted from the first look that saw it', () => {
    const { session, link, look } = sessionAt(0);
    link.block();
    say(session);
    expect([look(3000), look(12_999), look(13_000)]).toEqual([undefined, undefined, 'stalled']);
  });

  test('lets one that watches the daemon pause for as long as it likes', () => {
    const { session, link, look } = sessionAt(0);
    session.isWatching = true;
    link.block();
    say(session);
    expect([look(3000), look(60_000)]).toEqual([undefined, undefined]);
    session.isWatching = false;
    session.liveness.speaks();
    expect([look(61_000), look(71_000)]).toEqual([undefined, 'stalled']);
  });

  test('counts again from zero when the client has read something, or everything', () => {
    const { session, link, look } = sessionAt(0);
    link.block();
    say(session);
    look(1000);
    say(session);
    look(9000);
    link.take(1);
    expect([look(11_000), look(12_000), look(21_999), look(22_000)]).toEqual([
      undefined,
      undefined,
      undefined,
      'stalled',
    ]);
    link.unblock();
    expect(look(22_000)).toBeUndefined();
    session.liveness.speaks();
    link.block();
    say(session);
    expect([look(22_001), look(32_000), look(32_001)]).toEqual([undefined, undefined, 'stalled']);
  });

  test('asks for a probe of one that has ended its side, and for no ping', () => {
    const { session, look } = sessionAt(0);
    session.noteClientEnded();
    expect(look(1_000_000)).toBe('probe');
  });

  test('asks for a ping once for each period of silence, up to the misses that are allowed', () => {
    const { session, look } = sessionAt(0);
    const settings = { pingPeriodMs: 1000, maxMissedPings: 2 };
    expect([look(999, settings), look(1000, settings)]).toEqual([undefined, 'ping']);
    session.liveness.pinged(1);
    expect([look(1999, settings), look(2000, settings)]).toEqual([undefined, 'ping']);
    session.liveness.pinged(2);
    expect([look(2999, settings), look(3000, settings)]).toEqual([undefined, undefined]);
    expect(look(3000, { ...settings, cutOffSilentClients: true })).toBe('unresponsive');
  });

  test('gives one up that has answered pings, and answers them no more', () => {
    const { session, look } = sessionAt(0);
    const settings = { pingPeriodMs: 1000, maxMissedPings: 2 };
    session.liveness.pinged(1);
    expect([session.liveness.answersPing(2), session.liveness.answersPing(1)]).toEqual([false, true]);
    for (const id of [2, 3]) session.liveness.pinged(id);
    expect([look(2999, settings), look(3000, settings)]).toEqual([undefined, 'unresponsive']);
  });

  test('takes anything that was said for a sign of life', () => {
    const { session, look } = sessionAt(0);
    for (const id of [1, 2]) session.liveness.pinged(id);
    session.liveness.speaks();
    expect(look(100_000)).toBeUndefined();
    expect([look(129_999), look(130_000)]).toEqual([undefined, 'ping']);
  });

  test('pings only ready clients, and none with a period of 0', () => {
    expect(sessionAt(0, 'initializing').look(1_000_000)).toBeUndefined();
    expect(sessionAt(0).look(1_000_000, { pingPeriodMs: 0 })).toBeUndefined();
  });
});
