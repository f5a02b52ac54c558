// Errors of our own in what a server's process and its timers set off: the instance ends, and who waits for it is told.

import { afterEach, expect, test } from 'vitest';
import { Counters } from '../../../src/core/counters.ts';
import { Events } from '../../../src/core/events.ts';
import type { Instance } from '../../../src/core/instance.ts';
import { OwnedTasks } from '../../../src/core/owned-tasks.ts';
import { Server } from '../../../src/core/server.ts';
import { KnownServer } from '../../../src/core/server-knowledge.ts';
import { SuspendedCalls } from '../../../src/core/suspended-calls.ts';
import { ExchangeGate } from '../../../src/downstream/exchange-gate.ts';
import { InstanceRunner, OPENED_HERE } from '../../../src/downstream/instance-runner.ts';
import { OrphanGuard } from '../../../src/downstream/process-groups.ts';
import { StartGate } from '../../../src/downstream/start-gate.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { OPEN_GATE } from '../../../src/model/tool-gate.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { FIXTURE } from '../../support/test-daemon.ts';

function fail(): never {
  throw new Error('injected');
}

class World {
  readonly events = new Events(fail);
  readonly counters = new Counters(this.events);
  readonly guard = new OrphanGuard();
  readonly logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  readonly instance: Instance;
  runner: InstanceRunner | undefined;

  constructor(definition: Partial<StdioServer> = {}) {
    const { events, logger } = this;
    const clock = systemClock;
    const limits = { ...DEFAULT_LIMITS, termGraceMs: 100 };
    const whole: StdioServer = {
      ...{ name: 's', description: '', transport: 'stdio', command: process.execPath, args: [FIXTURE], env: {} },
      ...{ cwd: undefined, dir: undefined, timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined },
      ...{ sharing: 'auto', trustHints: false, tools: NO_FILTER },
      ...definition,
    };
    const gate = new StartGate(4, { clock, events });
    const context = { limits, events, logger, clock };
    const contain = (_: unknown, task: () => void): void => task();
    const server = new Server({
      definition: whole,
      known: new KnownServer({ date: Date.now, ttlMs: 0, changed: () => undefined }),
      gate: OPEN_GATE,
      context: {
        ...context,
        contain,
        suspended: new SuspendedCalls({ ...context, contain }),
        ownedTasks: new OwnedTasks(context),
        cutOff: () => undefined,
      },
      makeRunner: (instance) => {
        const runner = new InstanceRunner(whole, instance, {
          ...context,
          ...{ environment: process.env, cwd: process.cwd(), guard: this.guard, random: () => 0, version: '0' },
          ...{
            turn: new FlushTurn(),
            pacer: new ReadPacer(),
            maxFrameBytes: 1 << 20,
            gates: { local: gate, remote: gate },
            source: OPENED_HERE,
          },
          exchanges: new ExchangeGate(8),
        });
        this.runner = runner;
        return {
          start: () => runner.start(),
          usersChanged: (users) => runner.usersChanged(users),
          vacate: () => runner.vacate(),
          broken: () => runner.endBroken(),
          retire: () => void runner.stop(),
        };
      },
    });
    this.instance = server.ownInstance();
  }

  /** Asks the server, and resolves with whether it has answered. */
  call(name: string, args: object): Promise<boolean> {
    return new Promise((resolve) =>
      this.instance.ask('tools/call', { name, arguments: args }, (answer) => resolve(answer !== undefined)),
    );
  }

  async untilClosed(): Promise<void> {
    while (this.instance.isOpen) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) {
    await world.runner?.stop();
    world.guard.close();
  }
});

async function running(definition?: Partial<StdioServer>): Promise<World> {
  const world = new World(definition);
  worlds.push(world);
  await world.instance.whenOpen();
  return world;
}

async function startsAgain(world: World): Promise<void> {
  await world.instance.whenOpen();
  expect(await world.call('echo', { text: 'again' })).toBe(true);
}

test('over a process’s stderr', async () => {
  const world = await running();
  const { output } = world.runner ?? {};
  if (output !== undefined) output.push = fail;
  await world.call('complain', { text: 'words' });
  await world.untilClosed();
  expect(world.counters.internalErrors).toBeGreaterThan(0);
  await startsAgain(world);
});

test('events report an instance: started, ready, dead, not startable, stopped', async () => {
  const told: string[] = [];
  const watched = (definition: Partial<StdioServer> = {}): World => {
    const world = new World(definition);
    worlds.push(world);
    const { events } = world;
    events.instanceStarting.on(() => told.push('starting'));
    events.instanceReady.on(({ server }) => told.push(`${server} ready`));
    events.instanceDied.on((_, { code }) => told.push(`died: ${code}`));
    events.instanceFailed.on((_, { code }) => told.push(`failed: ${code}`));
    events.instanceStopped.on(() => told.push('stopped'));
    return world;
  };
  const dying = watched();
  await dying.instance.whenOpen();
  await dying.call('crash', {});
  await dying.untilClosed();
  expect(told.splice(0)).toEqual(['starting', 's ready', 'died: SERVER_CRASHED']);
  const unused = watched({ idleMs: 1 });
  await unused.instance.whenOpen();
  await unused.untilClosed();
  expect(told.splice(0)).toEqual(['starting', 's ready', 'stopped']);
  await expect(watched({ command: '/nowhere' }).instance.whenOpen()).rejects.toThrow('s');
  expect(told).toEqual(['starting', 'failed: SERVER_START_FAILED']);
});

test('over the end of a process: its callers get an error', async () => {
  const world = await running();
  world.guard.drop = fail;
  const asked = world.call('crash', {});
  expect(await asked).toBe(false);
  expect(world.counters.internalErrors).toBe(1);
  await startsAgain(world);
});

test('over the idle timer', async () => {
  const world = await running({ idleMs: 1 });
  Object.defineProperty(world.instance, 'isBusy', { configurable: true, get: fail });
  world.runner?.usersChanged(0);
  await world.untilClosed();
  expect(world.counters.internalErrors).toBeGreaterThan(0);
});

test('over the start timeout: waiting clients get an error', async () => {
  const world = new World({ env: { FIXTURE_SILENT: '1' }, startTimeoutMs: 50 });
  worlds.push(world);
  const { warn } = world.logger;
  world.logger.warn = () => {
    world.logger.warn = warn;
    fail();
  };
  await expect(world.instance.whenOpen()).rejects.toMatchObject({ code: 'SERVER_CRASHED' });
  expect(world.counters.internalErrors).toBe(1);
});

test('over bytes that it has taken', async () => {
  const world = await running();
  const { outbox } = await world.instance.whenOpen().then(({ link }) => link);
  Object.defineProperty(world.instance, 'drained', { configurable: true, value: fail });
  outbox.latin1(`${' '.repeat(1 << 20)}`);
  outbox.endFrame();
  await world.untilClosed();
  expect(world.counters.internalErrors).toBe(1);
  Reflect.deleteProperty(world.instance, 'drained');
  await startsAgain(world);
});
