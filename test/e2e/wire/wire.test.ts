import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TestDaemon, tempDir } from '../../support/test-daemon.ts';
import { differences, type Recording, type Rule, told } from './comparison.ts';
import { converseDirectly, converseThrough } from './conversation.ts';
import { plainQuestions, roundsAsQuestions, withoutHandshake } from './crossing.ts';
import { IN_2026, JOINED_VIEWS } from './joined-views.ts';
import { MUTANTS } from './mutants.ts';
import { startOdd, startOddOf } from './odd-server.ts';
import { ERA_2026_ALONE, FROM_2025_TO_2026, FROM_2026_TO_2025, NOISE, SAME_ERA } from './rules.ts';
import type { Script, Speech } from './script.ts';
import {
  CONTEXT7,
  inBoth,
  ODD,
  ODD_IN_2026,
  ODD_IN_BOTH,
  realServers,
  realServersInBoth,
  SDK_2026,
} from './scripts.ts';
import { ServerTap, type Start } from './tap.ts';

const speechTo = (name: string, era: Speech['era'] = '2025-11-25'): Speech => ({
  era,
  meta: `"mcp-bridge/view":"server:${name}"`,
});

const speechIn = (view: string, era: Speech['era']): Speech => ({ era, meta: `"mcp-bridge/view":"${view}"` });

/** A bridge and its tap, which go with the test. */
async function opened(dir: string, name: string, start: Start): Promise<{ tap: ServerTap; daemon: TestDaemon }> {
  const tap = await ServerTap.open(join(dir, `${name}.sock`), start);
  const daemon = await TestDaemon.start({ mcpServers: { [name]: tap.definition } });
  onTestFinished(async () => {
    await daemon.stop();
    await tap.close();
  });
  return { tap, daemon };
}

/** What differs between the conversation through the bridge and the one without it. */
async function compare({ dir, name, start, script, prepare, ...how }: Compared): Promise<string[]> {
  const { direct = '2025-11-25', bridged = direct, rules, alike = (lines) => lines, joined } = how;
  const { tap, daemon } = await opened(dir, name, start);
  prepare?.();
  const wanted = await converseDirectly(start, script, speechTo(name, direct));
  prepare?.();
  const speech = joined === undefined ? speechTo(name, bridged) : speechIn(joined.view, bridged);
  const through = { socketPath: daemon.path, tap, script: joined?.script ?? script, speech };
  const found = await converseThrough(through);
  return differences(alike(wanted, direct), alike(found, bridged), rules).map(told);
}

interface Compared {
  readonly dir: string;
  readonly name: string;
  readonly start: Start;
  readonly script: Script;
  readonly prepare?: () => void;
  /** The era that the client speaks without the bridge. */
  readonly direct?: Speech['era'];
  /** The era that it speaks with the bridge. */
  readonly bridged?: Speech['era'];
  readonly rules: readonly Rule[];
  /** The view with the bridge where that is a joined one, and what is said there. */
  readonly joined?: { readonly view: string; readonly script: Script };
  /** Makes conversations of different eras alike. */
  readonly alike?: (recording: Recording, era: Speech['era']) => Recording;
}

/** What a client of either era has seen, as one of 2025 sees it; and what a server has, by its own era. */
const alikeAtServerOf =
  (server: Speech['era']) =>
  ({ client, server: lines }: Recording, era: Speech['era']): Recording => {
    const seen = withoutHandshake(client);
    return {
      client: era === '2025-11-25' ? plainQuestions(seen) : roundsAsQuestions(seen),
      server: server === '2025-11-25' ? plainQuestions(lines) : lines,
    };
  };

const ACROSS_TO_2025 = {
  direct: '2025-11-25',
  bridged: '2026-07-28',
  rules: FROM_2026_TO_2025,
  alike: alikeAtServerOf('2025-11-25'),
} as const;
const ACROSS_TO_2026 = {
  direct: '2026-07-28',
  bridged: '2025-11-25',
  rules: FROM_2025_TO_2026,
  alike: alikeAtServerOf('2026-07-28'),
} as const;

const dir = tempDir();
const work = join(dir, 'work');
mkdirSync(work);

describe('every byte on both legs is what it is without the bridge', () => {
  const odd = startOddOf('2026-07-28');

  test('a server that spells everything in its own way', async () => {
    expect(await compare({ dir, name: 'odd', start: startOdd, script: ODD, rules: SAME_ERA })).toEqual([]);
  });

  test.each(realServers(work))('$name', async ({ name, script, prepare, start }) => {
    const rules = [...SAME_ERA, ...(NOISE[name] ?? [])];
    const real = { dir, name, script, rules, start: start(work), prepare: () => prepare(work) };
    expect(await compare(real)).toEqual([]);
  });

  test.each([
    ['a server that spells everything in its own way', odd, ODD_IN_2026],
    ['a server made with the SDK', SDK_2026.start, SDK_2026.script],
    ['context7', CONTEXT7.start, CONTEXT7.script],
  ])('%s, both sides in the era of 2026', async (_, start, script) => {
    const rules = ERA_2026_ALONE;
    expect(await compare({ dir, name: 'new', start, script, direct: '2026-07-28', rules })).toEqual([]);
  });
});

describe('in a joined view every byte of a call is what it is without the bridge', () => {
  test.each(JOINED_VIEWS)('$view', async ({ view, script, said, rules }) => {
    const joined = { view, script: said };
    expect(await compare({ dir, name: 'odd', start: startOdd, script, joined, rules })).toEqual([]);
  });

  test.each(JOINED_VIEWS)('$view, both sides in the era of 2026', async ({ view, script, said, rules }) => {
    const [plain, joined] = [inBoth(script), { view, script: inBoth(said) }];
    const both = [...rules, ...IN_2026];
    const start = startOddOf('2026-07-28');
    expect(
      await compare({ dir, name: 'odd', start, script: plain, joined, direct: '2026-07-28', rules: both }),
    ).toEqual([]);
  });
});

describe('across the eras every byte is what it is without the bridge, but for what the rules name', () => {
  test('a client of 2026 at a server that spells everything in its own way', async () => {
    expect(await compare({ dir, name: 'odd', start: startOdd, script: ODD_IN_BOTH, ...ACROSS_TO_2025 })).toEqual([]);
  });

  test.each(realServersInBoth(work))('a client of 2026 at $name', async ({ name, script, prepare, start }) => {
    const rules = [...ACROSS_TO_2025.rules, ...(NOISE[name] ?? [])];
    const real = { dir, name, script, start: start(work), prepare: () => prepare(work) };
    expect(await compare({ ...real, ...ACROSS_TO_2025, rules })).toEqual([]);
  });

  test.each([
    ['a server that spells everything in its own way', startOddOf('2026-07-28'), ODD_IN_BOTH],
    ['a server made with the SDK', SDK_2026.start, SDK_2026.script],
    ['context7', CONTEXT7.start, CONTEXT7.script],
  ])('a client of 2025 at %s', async (_, start, script) => {
    expect(await compare({ dir, name: 'new', start, script, ...ACROSS_TO_2026 })).toEqual([]);
  });
});

describe('the comparison finds a fault where', () => {
  const taps: ServerTap[] = [];
  let daemon: TestDaemon | undefined;
  beforeAll(async () => {
    for (const [n, { leg, alter }] of MUTANTS.entries())
      taps.push(await ServerTap.open(join(dir, `${n}.sock`), startOdd, leg === 'server' ? alter() : undefined));
    const mcpServers = Object.fromEntries(taps.map((tap, n) => [`odd${n}`, tap.definition]));
    daemon = await TestDaemon.start({ mcpServers });
  });
  afterAll(async () => {
    await daemon?.stop();
    await Promise.all(taps.map((tap) => tap.close()));
  });

  test.concurrent.each(MUTANTS.map((mutant, n) => ({ ...mutant, n })))('$title', async ({ leg, alter, finds, n }) => {
    const tap = taps[n];
    if (tap === undefined || daemon === undefined) throw new Error('There is no bridge');
    const speech = speechTo(`odd${n}`);
    const bridged = await converseThrough({
      socketPath: daemon.path,
      tap,
      script: ODD,
      speech,
      alter: leg === 'client' ? alter() : undefined,
      mayStall: true,
    });
    const found = differences(await converseDirectly(startOdd, ODD, speech), bridged, SAME_ERA).map(told);
    expect(found.join('\n')).toMatch(new RegExp(finds.source, 'm'));
  });
});
