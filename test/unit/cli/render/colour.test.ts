// One rule for colours, which every command asks.

import { expect, test } from 'vitest';
import { coloursOf } from '../../../../src/cli/render/colour.ts';
import { momentLines } from '../../../../src/cli/render/watch-view.ts';
import { fakeHost } from '../../../support/cli-host.ts';

const TERMINAL = { columns: 80 };

test.each<[string, boolean, Record<string, string>, boolean, boolean]>([
  ['a terminal has colours', true, {}, false, true],
  ['a pipe has none', false, {}, false, false],
  ['NO_COLOR takes them away', true, { NO_COLOR: '1' }, false, false],
  ['an empty NO_COLOR does not', true, { NO_COLOR: '' }, false, true],
  ['a terminal that cannot show them has none', true, { TERM: 'dumb' }, false, false],
  ['FORCE_COLOR gives them to a pipe', false, { FORCE_COLOR: '1' }, false, true],
  ['FORCE_COLOR is stronger than NO_COLOR', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
  ['FORCE_COLOR=0 takes them away', true, { FORCE_COLOR: '0' }, false, false],
  ['--no-color is stronger than all', true, { FORCE_COLOR: '1' }, true, false],
])('%s', (_, isTerminal, environment, isColourless, expected) => {
  const host = fakeHost('/h', '/h', isTerminal ? TERMINAL : undefined, environment);
  expect(coloursOf({ ...host, isColourless }) !== undefined).toBe(expected);
});

const colours = coloursOf(fakeHost('/h', '/h', TERMINAL));

test('a state has the same colour wherever it is shown', () => {
  const codes = ['ready', 'failed', 'broken', 'starting', 'idle'].map((state) => colours?.state(state).slice(2, 4));
  expect(codes).toEqual(['32', '31', '31', '33', '90']);
});

test('the busiest server and the busiest client come first', () => {
  const instance = (server: string, calls: number, inFlight = 0) => ({
    ...{
      server,
      calls,
      inFlight,
      pid: 1,
      state: 'ready',
      protocolVersion: null,
      sessions: 1,
      restarts: 0,
      requests: calls,
    },
    ...{ leftOut: false, lastError: null, errorCode: null },
  });
  const latency = (server: string, count: number) => ({
    ...{ server, buckets: [count, 0], sumMs: count, maxMs: 1, errors: 0, unanswered: 0 },
  });
  const client = (clientId: string, inFlight: number) => ({
    ...{
      clientId,
      inFlight,
      name: clientId,
      version: '',
      view: 'all',
      state: 'ready',
      connectedAt: '',
      uid: 1000,
      pid: null,
    },
    ...{ cwd: null, servers: [], accepts: false, mailbox: false, protocolVersion: null, listening: 0 },
  });
  const moment = (atMs: number, counts: readonly number[]) => ({
    atMs,
    memory: new Map(),
    clients: [client('a', 0), client('b', 3)],
    status: {
      ...{ pid: 1, version: '1', build: '1', autostarted: false, activated: false, socketPath: '/s', uptimeMs: 1 },
      ...{
        clients: 2,
        protocolVersions: {},
        parked: 0,
        parkedBytes: 0,
        suspended: 0,
        memory: { residentBytes: 1, heapBytes: 1 },
        dialledIn: [],
      },
      ...{
        counters: {},
        errors: {},
        configFile: null,
        configNamed: false,
        configDir: '/',
        serversConfig: null,
        configFaults: [],
      },
      ...{ definitionFaults: [], pendingApprovals: null, audit: null, latencyBoundsMs: [1] },
      instances: [instance('calm', 900), instance('much', 5), instance('open', 1, 2), instance('idle', 0)],
      latencies: [latency('calm', 900), latency('much', counts[0] ?? 0), latency('open', 1)],
    },
  });
  const lines = momentLines(moment(2000, [50]), { last: moment(1000, [5]), first: undefined });
  const names = lines.map((line) => line.split(' ')[0]);
  expect(names.filter((name) => ['calm', 'much', 'open', 'idle'].includes(name ?? ''))).toEqual([
    ...['much', 'open', 'calm', 'idle'],
  ]);
  expect(names.filter((name) => ['a', 'b'].includes(name ?? ''))).toEqual(['b', 'a']);
});
