import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { TestDaemon, tempDir } from '../../support/test-daemon.ts';
import { differences, told } from './comparison.ts';
import { converseDirectly, converseThrough } from './conversation.ts';
import { MUTANTS } from './mutants.ts';
import { startOdd } from './odd-server.ts';
import { NOISE, SAME_ERA } from './rules.ts';
import { ODD, realServers } from './scripts.ts';
import { ServerTap, type Start } from './tap.ts';

const viewOf = (name: string): string => `"mcp-bridge/view":"server:${name}"`;

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

describe('every byte on both legs is what it is without the bridge', () => {
  const dir = tempDir();
  const work = join(dir, 'work');
  mkdirSync(work);

  test('a server that spells everything in its own way', async () => {
    const { tap, daemon } = await opened(dir, 'odd', startOdd);
    const direct = await converseDirectly(startOdd, ODD, viewOf('odd'));
    const bridged = await converseThrough({ socketPath: daemon.path, tap, script: ODD, meta: viewOf('odd') });
    expect(differences(direct, bridged, SAME_ERA).map(told)).toEqual([]);
  });

  test.each(realServers(work))('$name', async ({ name, script, prepare, start }) => {
    const { tap, daemon } = await opened(dir, name, start(work));
    prepare(work);
    const direct = await converseDirectly(start(work), script, viewOf(name));
    prepare(work);
    const bridged = await converseThrough({ socketPath: daemon.path, tap, script, meta: viewOf(name) });
    expect(differences(direct, bridged, [...SAME_ERA, ...(NOISE[name] ?? [])]).map(told)).toEqual([]);
  });
});

describe('the comparison finds a fault where', async () => {
  const dir = tempDir();
  const taps = await Promise.all(
    MUTANTS.map(({ leg, alter }, n) =>
      ServerTap.open(join(dir, `${n}.sock`), startOdd, leg === 'server' ? alter() : undefined),
    ),
  );
  const mcpServers = Object.fromEntries(taps.map((tap, n) => [`odd${n}`, tap.definition]));
  const daemon = await TestDaemon.start({ mcpServers });
  const direct = (n: number) => converseDirectly(startOdd, ODD, viewOf(`odd${n}`));
  afterAll(async () => {
    await daemon.stop();
    await Promise.all(taps.map((tap) => tap.close()));
  });

  test.concurrent.each(MUTANTS.map((mutant, n) => ({ ...mutant, n })))('$title', async ({ leg, alter, finds, n }) => {
    const tap = taps[n] as ServerTap;
    const bridged = await converseThrough({
      socketPath: daemon.path,
      tap,
      script: ODD,
      meta: viewOf(`odd${n}`),
      alter: leg === 'client' ? alter() : undefined,
      mayStall: true,
    });
    const found = differences(await direct(n), bridged, SAME_ERA).map(told);
    expect(found.join('\n')).toMatch(new RegExp(finds.source, 'm'));
  });
});
