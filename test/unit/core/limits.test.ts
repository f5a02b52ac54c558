// Each limit that a client or a server can meet: at it nothing happens, and one beyond it what the documentation says,
// with its counter. Who adds a limit adds a row here, or says below where it is tried.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DEFAULT_AUDIT } from '../../../src/config/audit-settings.ts';
import { Counters } from '../../../src/core/counters.ts';
import { Events } from '../../../src/core/events.ts';
import { GRACE_MS } from '../../../src/core/pressure.ts';
import { StartGate } from '../../../src/downstream/start-gate.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../src/model/limits.ts';
import { DEFAULT_LIVENESS } from '../../../src/model/liveness-settings.ts';
import { DEFAULT_MESSAGING } from '../../../src/model/messaging-settings.ts';
import { DEFAULT_DAEMON } from '../../../src/model/settings.ts';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

type CounterName = Exclude<keyof Counters, 'errorsByCode'>;

interface Row {
  readonly most: number;
  readonly counter: CounterName;
  /** Takes so much of it: what is `most`, or one more. */
  readonly take: (core: CoreInMemory, amount: number) => Promise<unknown>;
  /** What is taken if it is neither the limit nor one beyond. */
  readonly amounts?: readonly [number, number];
  readonly options?: CoreOptions;
}

const ASKABLE = { capabilities: { elicitation: {} } };
const text = (bytes: number): string => 'x'.repeat(Math.max(0, bytes));
const elicitation = (id: unknown): object => ({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} });

/** A call of a client of 2026 that is answered with a question. */
async function suspended(core: CoreInMemory, id: number, params: string): Promise<void> {
  const client = core.connect();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'tool', _meta } });
  await core.settle();
  core.server().say(`{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":${params}}`);
  core.clock.advance(5);
  await core.settle();
}

/** A whole call of so many bytes. */
function callOf(id: number, bytes: number): string {
  const around = JSON.stringify({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'tool', arguments: { t: '' } },
  });
  return around.replace('""', `"${text(bytes - around.length)}"`);
}

function nested(depth: number): string {
  const inner = '['.repeat(depth - 2) + ']'.repeat(depth - 2);
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":${inner}}}`;
}

async function calls(core: CoreInMemory, client: TestClient, count: number): Promise<void> {
  for (let id = 1; id <= count; id++) client.call(id);
  await core.settle();
}

/** Of an answer to this, what is around its text, without the newline. */
const answerOf = (id: unknown): number => JSON.stringify({ jsonrpc: '2.0', id, result: '' }).length;

/** An answer of so many bytes, for a client that takes nothing. */
async function unread(core: CoreInMemory, bytes: number): Promise<TestClient> {
  const client = await core.ready();
  client.call(1);
  await core.settle();
  client.link.block();
  const around = '{"jsonrpc":"2.0","id":1,"result":""}'.length + 1;
  const id = core.server().requests.at(-1)?.id;
  core.server().say({ jsonrpc: '2.0', id, result: text(bytes - around) });
  await core.settle();
  return client;
}

/** A server that takes nothing, for which so many bytes wait. */
async function untaken(core: CoreInMemory, bytes: number): Promise<TestClient> {
  const client = await core.ready();
  core.server().link?.block();
  client.say(callOf(1, bytes - 1)); // with its newline
  await core.settle();
  return client;
}

async function asked(core: CoreInMemory, count: number): Promise<TestClient> {
  const client = await core.ready(ASKABLE);
  client.call('call');
  await core.settle();
  for (let n = 0; n < count; n++) core.server().say(elicitation(`q${n}`));
  await core.settle();
  return client;
}

async function parked(core: CoreInMemory, count = 1): Promise<ResumingClient[]> {
  const clients: ResumingClient[] = [];
  for (let n = 0; n < count; n++) clients.push(await ResumingClient.ready(wireInMemory(core)));
  for (const client of clients) client.drop();
  await core.settle();
  return clients;
}

/** What a client has not said to have: the answers to `initialize` do not count. */
async function unacknowledged(core: CoreInMemory, ...sizes: readonly number[]): Promise<void> {
  const client = await ResumingClient.ready(wireInMemory(core));
  client.drop();
  await core.settle();
  const notice = { jsonrpc: '2.0', method: 'notifications/x', params: '' };
  for (const bytes of sizes) core.server().say({ ...notice, params: text(bytes - JSON.stringify(notice).length - 1) });
  await core.settle();
}

const TICK = 1000;
type Tried = Partial<Record<keyof Limits, Row>>;

const CORE: Tried = {
  maxMessageBytes: {
    ...{ most: 2048, counter: 'oversizedFrames' },
    take: async (core, bytes) => (await core.ready()).say(callOf(1, bytes)),
  },
  maxDepth: {
    ...{ most: 8, counter: 'badFrames' },
    take: async (core, depth) => (await core.ready()).say(nested(depth)),
  },
  maxClients: {
    ...{ most: 3, counter: 'clientsRefused' },
    take: async (core, count) => {
      for (let n = 0; n < count; n++) core.connect();
    },
  },
  maxInFlightPerClient: {
    ...{ most: 3, counter: 'waitedForClient' },
    take: async (core, count) => calls(core, await core.ready(), count),
  },
  maxInFlightPerServer: {
    ...{ most: 3, counter: 'waitedForServer' },
    take: async (core, count) => {
      for (let n = 0; n < count; n++) await calls(core, await core.ready(), 1);
    },
  },
  maxWaitingBytesPerClient: {
    ...{ most: 500, counter: 'clientsPaused', options: { limits: { maxInFlightPerClient: 1 } } },
    take: async (core, bytes) => {
      const client = await core.ready();
      client.call(1);
      client.say(callOf(2, bytes));
    },
  },
  maxWaitingBytesPerServer: {
    ...{ most: 500, counter: 'serverBusy', options: { limits: { maxInFlightPerClient: 1 } } },
    take: async (core, bytes) => {
      const client = await core.ready();
      client.call(1);
      client.say(callOf(2, bytes));
    },
  },
  maxQueuedBytesPerClient: {
    ...{ most: 70_000, counter: 'clientsOverQueued', amounts: [2 * 70_000, 2 * 70_000 + 1] },
    take: async (core, bytes) => {
      const client = await core.ready();
      await calls(core, client, 2);
      client.link.block();
      // The newline of the second answer follows at the end of the turn.
      for (const [i, size] of [70_002, bytes - 70_003].entries())
        core.server().say({ jsonrpc: '2.0', id: i + 1, result: text(size - answerOf(i + 1)) });
      await core.pass(GRACE_MS);
    },
  },
  maxQueuedBytesPerServer: {
    ...{ most: 70_000, counter: 'waitedForServer', amounts: [69_999, 70_000] },
    take: async (core, bytes) => {
      const client = await untaken(core, bytes);
      client.call(2);
    },
  },
  maxSubscribedBytesPerClient: {
    ...{ most: 3 * (256 + 10), counter: 'subscriptionsRefused', amounts: [10, 11] },
    take: async (core, bytes) => {
      const client = await core.ready();
      for (const uri of ['a:23456789', 'b:23456789', 'a:23456789', text(bytes)])
        client.say({
          jsonrpc: '2.0',
          id: client.received.length + uri,
          method: 'resources/subscribe',
          params: { uri },
        });
    },
  },
  stallTimeoutMs: {
    ...{ most: 5 * TICK, counter: 'clientsStalled', amounts: [6 * TICK, 7 * TICK] },
    take: async (core, ms) => {
      await unread(core, 100);
      await core.pass(ms);
    },
  },
  handshakeTimeoutMs: {
    ...{ most: 5 * TICK, counter: 'handshakeTimeouts', amounts: [4 * TICK, 5 * TICK] },
    take: async (core, ms) => {
      core.connect();
      await core.pass(ms);
      core.connect(); // which needs the place
    },
    options: { limits: { maxClients: 1 } },
  },
  callTimeoutMs: {
    ...{ most: 5 * TICK, counter: 'timeouts', amounts: [5 * TICK, 6 * TICK] },
    take: async (core, ms) => {
      await calls(core, await core.ready(), 1);
      await core.pass(ms);
    },
  },
  maxCallMs: {
    ...{ most: 5 * TICK, counter: 'timeouts', amounts: [5 * TICK, 6 * TICK] },
    options: { limits: { callTimeoutMs: 2 * TICK } },
    take: async (core, ms) => {
      const client = await core.ready();
      client.call(1, {}, { progressToken: 1 });
      await core.settle();
      const progressToken = core.server().requests[0]?.id;
      for (let passed = 0; passed < ms; passed += TICK) {
        core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
        await core.pass(TICK);
      }
    },
  },
  maxLaneMs: {
    ...{ most: 5 * TICK, counter: 'serverBusy', amounts: [5 * TICK, 6 * TICK] },
    options: { definition: { sharing: 'shared' } },
    take: async (core, ms) => {
      for (const client of [await core.ready(ASKABLE), await core.ready(ASKABLE)]) await calls(core, client, 1);
      await core.pass(ms);
    },
  },
  maxQuestions: { most: 4, counter: 'questionsRefused', take: asked },
  questionHeldMs: {
    ...{ most: 5 * TICK, counter: 'questionsUncertain', amounts: [5 * TICK, 6 * TICK] },
    take: async (core, ms) => {
      const [one, other] = [await core.ready(ASKABLE), await core.ready(ASKABLE)];
      for (let n = 0; n < 3; n++) {
        await calls(core, one, 1); // without a question, so that both may call at once
        core.server().answer(core.server().requests.at(-1));
        await core.settle();
      }
      for (const client of [one, other]) await calls(core, client, 1);
      core.server().say(elicitation('q'));
      await core.pass(ms);
    },
  },
  questionTimeoutMs: {
    ...{ most: 5 * TICK, counter: 'questionTimeouts', amounts: [5 * TICK, 6 * TICK] },
    take: async (core, ms) => {
      await asked(core, 1);
      await core.pass(ms);
    },
  },
  // One user may have half of each.
  maxSuspendedCalls: {
    ...{ most: 6, counter: 'suspensionsRefused', amounts: [3, 4] },
    take: async (core, count) => {
      for (let n = 0; n < count; n++) {
        await suspended(core, n, '{}');
        core.server().answer(core.server().requests.at(-1)); // the next one has the lane
        await core.settle();
      }
    },
  },
  maxSuspendedBytes: {
    ...{ most: 8192, counter: 'suspensionsRefused', amounts: [4096, 4097] },
    take: (core, bytes) => suspended(core, 1, `{"t":"${text(bytes - 1024 - '{"t":""}'.length)}"}`),
  },
  maxTasksPerServer: {
    ...{ most: 3, counter: 'tasksForgotten' },
    take: async (core, count) => {
      const client = await core.ready();
      for (let n = 0; n < count; n++) {
        client.say({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'tool', task: {} } });
        await core.settle();
        const id = core.server().requests.at(-1)?.id;
        core.server().say({ jsonrpc: '2.0', id, result: { task: { taskId: `t${n}`, status: 'working' } } });
      }
    },
  },
  maxInstancesPerServer: {
    ...{ most: 2, counter: 'instancesRefused' },
    take: async (core, count) => {
      for (let n = 0; n < count; n++) {
        const client = await core.ready(ASKABLE);
        client.call(1);
        await core.settle();
        const { instances } = core.server();
        instances.at(-1)?.say(elicitation(n)); // its conversation is nobody else's
        await core.settle();
      }
    },
  },
  resumeGraceMs: {
    ...{ most: 5 * TICK, counter: 'sessionsExpired', amounts: [4 * TICK, 5 * TICK] },
    take: async (core, ms) => {
      await parked(core);
      await core.pass(ms);
    },
  },
  maxParkedClients: { most: 3, counter: 'sessionsNotKept', take: parked },
  maxParkedBytes: { most: 1000, counter: 'sessionsNotKept', take: (core, bytes) => unacknowledged(core, bytes) },
  maxResumeBytesPerClient: {
    ...{ most: 20_000, counter: 'sessionsNotKept', amounts: [19_998, 19_999] },
    take: (core, bytes) => unacknowledged(core, 20_000, bytes), // the first is let go where the second is enough
  },
};

describe.each(Object.entries(CORE) as [keyof Limits, Row][])('%s', (key, { most, counter, take, amounts, options }) => {
  const count = async (amount: number): Promise<number> => {
    const core = new CoreInMemory({ ...options, limits: { ...options?.limits, [key]: most } });
    await take(core, amount);
    await core.settle();
    return core.counters[counter];
  };
  const [at, beyond] = amounts ?? [most, most + 1];

  test('lets through everything up to it', async () => {
    expect(await count(at)).toBe(0);
  });
  test(`counts everything beyond it as ${counter}`, async () => {
    expect(await count(beyond)).toBe(1);
  });
});

/** A file, and the title of a test in it. */
type Elsewhere = readonly [file: string, title: string];

const here = (title: string): Elsewhere => ['unit/core/limits.test.ts', title];
const processes = (title: string): Elsewhere => ['integration/limits.test.ts', title];
const messages = (title: string): Elsewhere => ['unit/messaging/messages.test.ts', title];
const letters = (title: string): Elsewhere => ['unit/messaging/letters.test.ts', title];
const audit = (title: string): Elsewhere => ['integration/audit-log.test.ts', title];

const STARTS = here('lets that many start, and counts those that wait for a turn');
const BROKEN = processes('a server is broken at maxDeathsPerMinute, and tried again after brokenMs');
const SLOW_START = processes(
  'a server that has not started after startTimeoutMs is ended, and killed after termGraceMs (%s)',
);
const SILENT = here('cut off for one more than maxMissedPings, if cutOffSilentClients says so');
const FULL_MAILBOX = letters('a mailbox takes so many and no more, and loses nothing');
const SHARED_LOG = audit('two daemons that write to one file, and put it aside all the time, lose no line');

/** By which tests those are tried that are not in the table. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, Elsewhere>>>> = {
  limits: {
    ...{ progressExtendsTimeout: here('progressExtendsTimeout: %s'), maxLocalStarts: STARTS, maxRemoteStarts: STARTS },
    maxRemoteCalls: [
      'unit/downstream/exchange-gate.test.ts',
      'one server gets a quarter of maxRemoteCalls, and the others have the rest',
    ],
    drainTimeoutMs: here('drainTimeoutMs: after %i ms %i calls are still waited for'),
    ...{ maxDeathsPerMinute: BROKEN, brokenMs: BROKEN, startTimeoutMs: SLOW_START, termGraceMs: SLOW_START },
    idleMs: processes('a server without any client is stopped after idleMs, and not one that has any'),
    maxToolNameLength: [
      'unit/core/joined-names.test.ts',
      'has at most maxToolNameLength characters, also where that is %i, and begins with its alias',
    ],
    maxDialIns: ['unit/daemon/dial-ins.test.ts', 'so many may be connected and no more'],
  },
  liveness: {
    pingPeriodMs: here('pinged after pingPeriodMs and not before'),
    ...{ maxMissedPings: SILENT, cutOffSilentClients: SILENT },
  },
  daemon: {
    idleExitMs: [
      'integration/restarting.test.ts',
      'ends when it was unused for a while, but not while a client uses it or may come back',
    ],
  },
  agents: {
    maxPerSecond: messages('more often than is allowed, until time has passed'),
    maxMessageBytes: messages('over the size that is allowed'),
    maxInFlight: messages('beyond what may be unanswered, by its sender or its receiver'),
    maxHops: messages('that was handed on too often'),
    policy: messages('between two whom policy keeps apart; they do not see each other either'),
    isEnabled: letters(
      'nobody has a mailbox who sees one server alone, who wants none, or where agents are not enabled',
    ),
    ...{ mailbox: FULL_MAILBOX, maxMessages: FULL_MAILBOX },
    maxBytes: letters('a mailbox takes so many bytes and no more'),
  },
  audit: {
    isKept: audit('where it is switched off, nothing is written'),
    ...{ file: SHARED_LOG, maxBytes: SHARED_LOG, keep: SHARED_LOG },
    keepsArguments: audit('with audit.arguments the arguments stand in it as they came, and move no cursor'),
    onFailure: audit('with audit.onFailure "refuse" a full disk has calls refused until there is room'),
  },
};
/** What they are called in a config file. */
const SPELLED: Readonly<Record<string, string>> = {
  isEnabled: 'enabled',
  isKept: 'enabled',
  keepsArguments: 'arguments',
};
const SETTINGS: Readonly<Record<string, object>> = {
  ...{ limits: DEFAULT_LIMITS, liveness: DEFAULT_LIVENESS, daemon: DEFAULT_DAEMON, audit: DEFAULT_AUDIT },
  agents: { ...DEFAULT_MESSAGING, ...DEFAULT_MESSAGING.mailbox },
};

describe.each(Object.entries(SETTINGS))('of %s', (section, defaults) => {
  const elsewhere = ELSEWHERE[section] ?? {};
  test('there is no setting without a test', () => {
    const tried = [...(section === 'limits' ? Object.keys(CORE) : []), ...Object.keys(elsewhere)];
    expect(tried.sort()).toEqual(Object.keys(defaults).sort());
  });
  test.each(Object.entries(elsewhere))('%s is tried by %j', (key, [file, title]) => {
    expect(testTitled(title, file)).toMatch(new RegExp(`\\b${SPELLED[key] ?? key}\\b`));
  });
});

/** What a test that is run says, with what is said before the tests of its group; throws if there is none of that title. */
function testTitled(title: string, file: string): string {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const quoted = ["'", '"', '`'].map((mark) => `${mark}${title}${mark},`);
  for (const group of source.split(/^(?=(?:describe|test)\b)/m)) {
    const parts = group.split(/^(?= +(?:describe|test)\b)/m);
    const own = parts.find(
      (part) => /^ *test(?!\.(?:skip|todo|fails))\b/.test(part) && quoted.some((text) => part.includes(text)),
    );
    if (own !== undefined) return own === parts[0] ? own : `${parts[0]}${own}`;
  }
  throw new Error(`no test in ${file} has the title ${title}`);
}

const docs = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
const lineOf = (name: string): string =>
  docs.split('\n').find((line) => line.startsWith('| `') && line.includes(`\`${name}\``)) ?? '';

test.each(Object.keys(DEFAULT_LIMITS))('%s has a line in the documentation, with its counter', (key) => {
  const line = lineOf(key);
  expect(line).not.toBe('');
  const counter = CORE[key as keyof Limits]?.counter;
  if (counter !== undefined) expect(line).toContain(`\`${counter}\``);
});

test.each([true, false])('progressExtendsTimeout: %s', async (progressExtendsTimeout) => {
  const core = new CoreInMemory({ limits: { progressExtendsTimeout, callTimeoutMs: 3 * TICK } });
  await CORE.maxCallMs?.take(core, 5 * TICK);
  expect(core.counters.timeouts).toBe(progressExtendsTimeout ? 0 : 1);
});

describe.each(['maxLocalStarts', 'maxRemoteStarts'] as const)('%s', (key) => {
  test('lets that many start, and counts those that wait for a turn', () => {
    const events = new Events(() => undefined);
    const counters = new Counters(events);
    const gate = new StartGate(DEFAULT_LIMITS[key], { clock: new FakeClock(), events });
    const leaves: (() => void)[] = [];
    for (let n = 0; n < DEFAULT_LIMITS[key]; n++)
      gate.enter({ server: 's', askers: () => [] }, (leave) => void leaves.push(leave));
    expect([leaves.length, counters.startsQueued]).toEqual([DEFAULT_LIMITS[key], 0]);
    gate.enter({ server: 's', askers: () => [] }, (leave) => void leaves.push(leave));
    expect([leaves.length, counters.startsQueued]).toEqual([DEFAULT_LIMITS[key], 1]);
    leaves[0]?.();
    expect([leaves.length, counters.startsQueued]).toEqual([DEFAULT_LIMITS[key] + 1, 1]);
  });
});

test.each([
  [4 * TICK, 1],
  [5 * TICK, 0],
])('drainTimeoutMs: after %i ms %i calls are still waited for', async (ms, waited) => {
  const core = new CoreInMemory({ limits: { drainTimeoutMs: 5 * TICK } });
  await calls(core, await core.ready(), 1);
  let waits = 1;
  void core.manager.drain().then(() => waits--);
  for (let passed = 0; passed < ms; passed += 20) {
    core.clock.advance(20);
    await core.settle();
  }
  expect(waits).toBe(waited);
});

describe('a client is', () => {
  const silent = async (settings: object, ms: number): Promise<[number, number]> => {
    const core = new CoreInMemory({ liveness: { pingPeriodMs: 5 * TICK, maxMissedPings: 2, ...settings } });
    const client = await core.ready();
    await core.pass(TICK);
    await core.pass(ms);
    return [client.received.filter(({ method }) => method === 'ping').length, core.counters.clientsUnresponsive];
  };
  test('pinged after pingPeriodMs and not before', async () => {
    expect([await silent({}, 4 * TICK), await silent({}, 5 * TICK)]).toEqual([
      [0, 0],
      [1, 0],
    ]);
  });
  test('cut off for one more than maxMissedPings, if cutOffSilentClients says so', async () => {
    expect(await silent({ cutOffSilentClients: true }, 14 * TICK)).toEqual([2, 0]);
    expect(await silent({ cutOffSilentClients: true }, 15 * TICK)).toEqual([2, 1]);
    expect(await silent({ cutOffSilentClients: false }, 60 * TICK)).toEqual([2, 0]);
  });
});

test('calls that were given up count for their server until it has done with them', async () => {
  const core = new CoreInMemory({ limits: { maxInFlightPerServer: 2 } });
  const client = await core.ready(ASKABLE);
  await calls(core, client, 2);
  for (const id of [1, 2]) client.cancel(id);
  client.call(3);
  await core.settle();
  const sent = (method: string): Message[] => core.server().requests.filter((request) => request.method === method);
  expect([sent('tools/call').length, core.counters.waitedForServer]).toEqual([2, 1]);
  for (const { id } of sent('ping')) core.server().say({ jsonrpc: '2.0', id, result: {} });
  await core.settle();
  expect(sent('tools/call')).toHaveLength(3);
});

test('a subscription that was taken back leaves room for another', async () => {
  const core = new CoreInMemory({ limits: { maxSubscribedBytesPerClient: 300 } });
  const client = await core.ready();
  for (const [id, method, uri] of [
    [1, 'subscribe', 'x:1'],
    [2, 'subscribe', 'x:2'],
    [3, 'unsubscribe', 'x:1'],
    [4, 'subscribe', 'x:2'],
  ])
    client.say({ jsonrpc: '2.0', id, method: `resources/${method}`, params: { uri } });
  await core.settle();
  expect(client.received.map(({ id, error }) => [id, error?.data?.code])).toEqual([[2, 'REQUEST_REFUSED']]);
  expect(core.server().requests.map(({ params }) => params?.uri)).toEqual(['x:1', 'x:1', 'x:2']);
});
