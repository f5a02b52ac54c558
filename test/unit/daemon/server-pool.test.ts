// The servers of the daemon come from several sources, and the pool treats all sources alike.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test } from 'vitest';
import { Catalog } from '../../../src/catalog/catalog.ts';
import { SeenToolsStore } from '../../../src/catalog/seen-tools-store.ts';
import { Events } from '../../../src/core/events.ts';
import { joinedPart } from '../../../src/core/joined-part.ts';
import { OwnedTasks } from '../../../src/core/owned-tasks.ts';
import { SuspendedCalls } from '../../../src/core/suspended-calls.ts';
import { ServerPool } from '../../../src/daemon/server-pool.ts';
import type { ServerSource } from '../../../src/daemon/server-source.ts';
import { ToolGates } from '../../../src/daemon/tool-gates.ts';
import { ExchangeGate } from '../../../src/downstream/exchange-gate.ts';
import { OrphanGuard } from '../../../src/downstream/process-groups.ts';
import { StartGate } from '../../../src/downstream/start-gate.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import type { BusServer, ServerDefinition, StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { lastingCopy } from '../../../src/util/lasting-bytes.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const definition = (name: string, also: Partial<StdioServer> = {}): StdioServer => ({
  ...{ name, description: '', transport: 'stdio', command: 'true', args: [], env: {}, cwd: undefined, dir: undefined },
  ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, sharing: 'auto', trustHints: false },
  tools: NO_FILTER,
  ...also,
});

/** A source with these servers, which are looked for once; each start fails with the name of the source. */
class FailingSource implements ServerSource {
  readonly comeByThemselves = false;
  readonly #name: string;
  readonly #servers: ReadonlyMap<string, ServerDefinition>;
  looks = 0;

  constructor(name: string, servers: readonly ServerDefinition[]) {
    this.#name = name;
    this.#servers = new Map(servers.map((server) => [server.name, server]));
  }

  prepare(): Promise<void> | undefined {
    return this.looks++ === 0 ? Promise.resolve() : undefined;
  }

  of(): ReadonlyMap<string, ServerDefinition> {
    return this.#servers;
  }

  all(): Iterable<ServerDefinition> {
    return this.#servers.values();
  }

  open(): never {
    throw new BridgeError('SERVER_NOT_FOUND', `${this.#name} has no connection`);
  }
}

const guard = new OrphanGuard();
afterEach(() => guard.close());

function poolOf(...sources: ServerSource[]): ServerPool {
  const clock = new FakeClock();
  const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const events = new Events((error) => {
    throw error;
  });
  const context = { limits: DEFAULT_LIMITS, events, logger, clock };
  const gate = new StartGate(4, { clock, events });
  const contain = (_: unknown, task: () => void): void => task();
  return new ServerPool({
    sources,
    defaultView: () => undefined,
    origin: () => '',
    catalog: new Catalog({ dir: undefined, ttlMs: 0, date: Date.now, clock, logger }),
    seenTools: new SeenToolsStore({ dir: undefined, clock, date: Date.now, logger, changed: () => undefined }),
    gates: new ToolGates(),
    instanceContext: {
      ...context,
      contain,
      suspended: new SuspendedCalls({ ...context, contain }),
      ownedTasks: new OwnedTasks(context),
      cutOff: () => undefined,
    },
    runnerContext: {
      ...{ ...context, version: '0', environment: {}, cwd: '/', guard, random: () => 0 },
      ...{ turn: new FlushTurn(), pacer: new ReadPacer(), maxFrameBytes: 1 << 20 },
      ...{ gates: { local: gate, remote: gate }, exchanges: new ExchangeGate(8) },
    },
  });
}

test('the servers of all sources are offered, each name once, those of earlier sources first', () => {
  const pool = poolOf(
    new FailingSource('first', [definition('a'), definition('b')]),
    new FailingSource('second', [definition('b'), definition('c')]),
    new FailingSource('third', [definition('d')]),
  );
  expect(pool.names('/x')).toEqual(['a', 'b', 'c', 'd']);
  expect(pool.report().map(({ server }) => server)).toEqual(['a', 'b', 'c', 'd']);
});

test('a server is opened by its own source, and by the earlier one where two have its name', async () => {
  const pool = poolOf(
    new FailingSource('first', [definition('a', { alsoNamed: ['other'] })]),
    new FailingSource('second', [definition('a'), definition('c')]),
  );
  const failureOf = async (name: string): Promise<unknown> => {
    const opened = pool.find(name, '/x')?.ownInstance().whenOpen();
    return opened?.catch((error: unknown) => (error instanceof Error ? error.message : error));
  };
  expect(await failureOf('a')).toContain('first has no connection');
  expect(await failureOf('c')).toContain('second has no connection');
  expect(pool.find('other', '/x')).toBe(pool.find('a', '/x'));
  await pool.stop();
});

test('all sources are asked for a directory’s servers, until each knows them', async () => {
  const sources = [new FailingSource('first', []), new FailingSource('second', [])];
  const pool = poolOf(...sources);
  await pool.prepare('/x');
  expect(sources.map(({ looks }) => looks)).toEqual([1, 1]);
  expect(pool.prepare('/x')).toBeUndefined();
});

/** A server of another host, as federation defines thousands of them. */
const elsewhere = (name: string): BusServer => ({
  ...{ transport: 'bus', name, offeredName: name, host: 'h', mark: 'm', description: `Server ${name}` },
  ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: 1, tools: NO_FILTER, trustHints: false },
  ...{ sharing: 'shared', nature: undefined, alsoNamed: undefined },
});

/** A list of tools of about 320 bytes each. */
function listOf(server: string, tools: number): Buffer {
  const properties = {
    path: { type: 'string', description: 'The path of the item' },
    limit: { type: 'number', description: 'The most lines that are read' },
  };
  const listed = Array.from({ length: tools }, (_, i) => ({
    name: `tool_${i}`,
    description: `Reads item ${i} of ${server}, and says what is in it, since when, and who has changed it last`,
    inputSchema: { type: 'object', properties, required: ['path'] },
  }));
  return Buffer.from(`${JSON.stringify({ tools: listed })}\n`);
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function bytesInUse(): number {
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a tool takes 1.2 kB at most, with all that is known of it and its part of its server', () => {
  const [servers, tools] = [800, 10];
  const key = { capabilities: {}, rootsKey: undefined, owner: undefined };
  const learn = (pool: ServerPool, name: string): unknown => {
    const known = pool.find(name, undefined)?.known;
    const initializeResult = Buffer.from(`{"capabilities":{"tools":{}},"serverInfo":{"name":"${name}"}}\n`);
    const profile = known?.opened(key, { initializeResult }, '');
    const pages = [{ cursor: undefined, result: lastingCopy(listOf(name, tools)) }];
    if (known !== undefined && profile !== undefined) known.learnList(profile, 'tools', pages, key);
    pool.seenOf(name, undefined)?.seen.packed(); // as when its file is written
    return joinedPart('tools', pages, { alias: name, longestName: 47 });
  };
  const poolWith = (count: number): ServerPool => {
    const names = Array.from({ length: count }, (_, i) => `s${i}`);
    const pool = poolOf(new FailingSource('bus', names.map(elsewhere)));
    for (const name of names) learn(pool, name);
    return pool;
  };
  poolWith(20); // what is made once
  const before = bytesInUse();
  const pool = poolWith(servers);
  const bytes = (bytesInUse() - before) / servers / tools;
  expect([...pool.servers()].length).toBe(servers);
  process.stdout.write(`a tool: ${bytes.toFixed(0)} bytes\n`);
  expect(bytes).toBeGreaterThan(listOf('s', tools).length / tools); // else nothing was kept
  expect(bytes).toBeLessThan(1200);
});
