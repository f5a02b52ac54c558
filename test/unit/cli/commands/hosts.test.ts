// `mcp-bridge hosts` as people see it: few lines, aligned, and nothing that is not so.

import { expect, test } from 'vitest';
import { hostsText } from '../../../../src/cli/commands/hosts.ts';
import type { FederationReport, HostReport } from '../../../../src/model/federation-report.ts';

const host = (name: string, more: Partial<HostReport> = {}): HostReport => ({
  ...{ host: name, version: '0.1.0', servers: ['compiler'], used: ['compiler'], calls: 0, seenMs: 1000 },
  ...{ latencyMs: 0.8, unreachable: null },
  ...more,
});
const REPORT: FederationReport = {
  ...{ host: 'laptop', tenant: 'default', user: '_', nats: { address: 'hub:4222', version: '2.10.1' }, faults: [] },
  ...{ offered: [], callsOfOthers: 0, listensOfOthers: 0, hosts: [], leases: [] },
};

const linesOf = (more: Partial<FederationReport>, width?: number): string[] =>
  hostsText({ ...REPORT, ...more }, { width })
    .trimEnd()
    .split('\n');

test('a host among others that are well', () => {
  const hosts = [host('lab', { servers: ['gpu', 'x'], used: ['gpu'], latencyMs: 12.5 }), host('build', { calls: 3 })];
  const own = { user: 'ann', tenant: 'acme', offered: ['notes'], callsOfOthers: 1 };
  expect(linesOf({ ...own, hosts, leases: [{ server: 'notes', host: 'laptop' }] })).toEqual([
    'This host  laptop (user ann, tenant acme)',
    'NATS       hub:4222, version 2.10.1',
    'Offers     notes',
    'Works on   1 call of other hosts',
    '',
    'HOST   LATENCY  SEEN     CALLS  VERSION  SERVERS',
    'build  0.8 ms   1 s ago  3      0.1.0    compiler',
    'lab    12.5 ms  1 s ago  0      0.1.0    gpu (not used here: x)',
    '',
    'REMEMBERS  BY ITS NAME ALONE SERVED BY',
    'notes      laptop',
  ]);
});

test('a host alone learns how another one comes; where something is wrong, nobody says that there is none', () => {
  expect(linesOf({})).toEqual([
    'This host  laptop',
    'NATS       hub:4222, version 2.10.1',
    'Offers     nothing',
    '',
    'No other host is there. Give a daemon there a section federation with the same tenant: docs/federation.md',
  ]);
  expect(linesOf({}, 60).slice(-2)).toEqual([
    'No other host is there. Give a daemon there a section',
    'federation with the same tenant: docs/federation.md',
  ]);
  const fault = 'NATS is away: nothing answers at nats://hub:4222 (ECONNREFUSED): check federation.nats.servers';
  expect(linesOf({ nats: null, faults: [fault] }, 60)).toEqual([
    'This host  laptop',
    'NATS       away',
    'Offers     nothing',
    '! NATS is away: nothing answers at nats://hub:4222',
    '  (ECONNREFUSED): check federation.nats.servers',
    '',
    'No other host is known',
  ]);
});

test('many hosts that are away are counted, and no line is wider than the terminal', () => {
  const away = {
    latencyMs: null,
    unreachable: 'it has been silent for 20 s: its daemon, its machine or its network is away',
  };
  const hosts = Array.from({ length: 30 }, (_, i) => host(`h${i}`, i < 9 ? away : {}));
  const lines = linesOf({ hosts, leases: [{ server: 'notes', host: null }] }, 80);
  expect(lines.filter((line) => line.startsWith('! h'))).toHaveLength(5);
  expect(lines).toContain('! the same holds for 4 more: mcp-bridge hosts --json');
  expect(lines).toContain('! notes remembers, and nobody serves it: one of the hosts that offer it takes');
  expect(lines.filter((line) => /^h\d/.test(line))).toHaveLength(30);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test('text of others moves no cursor', () => {
  const [own] = linesOf({ host: 'a\u001b[2J', hosts: [host('b\u202e')] });
  expect(own).toBe('This host  a\\u{1b}[2J');
});
