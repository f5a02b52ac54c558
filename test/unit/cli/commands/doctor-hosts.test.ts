// What `doctor` makes of a report on other hosts.

import { expect, test } from 'vitest';
import { findingsIn } from '../../../../src/cli/commands/doctor-hosts.ts';
import type { FederationReport, HostReport } from '../../../../src/model/federation-report.ts';

const host = (name: string, unreachable: string | null = null): HostReport => ({
  ...{ host: name, version: '1', servers: [], used: [], calls: 0, seenMs: 1, latencyMs: 1 },
  unreachable,
});
const REPORT: FederationReport = {
  ...{ host: 'desk', tenant: 'acme', user: 'ann', nats: { address: 'hub:4222', version: '2.10.1' }, faults: [] },
  ...{ offered: [], callsOfOthers: 0, listensOfOthers: 0, hosts: [], leases: [] },
};

const linesOf = (more: Partial<FederationReport>): string[] =>
  findingsIn({ ...REPORT, ...more }).map(({ level, check, message }) => `${level} ${check}: ${message}`);

test('all that is well is said in three lines', () => {
  expect(linesOf({ hosts: [host('a'), host('b')], leases: [{ server: 'notes', host: 'a' }] })).toEqual([
    'ok NATS: It answers: hub:4222, version 2.10.1',
    'ok other hosts: NATS keeps the list of hosts, and permits all that is needed',
    'ok hosts: 2 other hosts: a, b',
  ]);
});

test('faults, absent hosts and unserved servers have a line each', () => {
  const lines = linesOf({
    faults: ['the NATS servers have no JetStream'],
    hosts: [host('a', 'it has been silent for 20 s')],
    leases: [{ server: 'notes', host: null }],
  });
  expect(lines).toEqual([
    'ok NATS: It answers: hub:4222, version 2.10.1',
    'wrong other hosts: The NATS servers have no JetStream',
    'note host a: it has been silent for 20 s',
    'note server notes: It remembers, and no host serves it by its name alone',
  ]);
});

test('only a host that knows no other one says that none is there', () => {
  expect(linesOf({})[2]).toBe('note hosts: No other host is there');
  expect(linesOf({ faults: ['the NATS servers have no JetStream'] })[2]).toBe('note hosts: No other host is known');
  expect(linesOf({ hosts: [host('a', 'it has been silent for 20 s')] }).slice(2)).toEqual([
    'note host a: it has been silent for 20 s',
  ]);
});

test('without NATS only that is said', () => {
  const faults = ['NATS is away: nothing answers at hub:4222 (ECONNREFUSED)'];
  expect(linesOf({ nats: null, faults, hosts: [host('a', 'NATS is away')] })).toEqual([
    `wrong other hosts: ${faults[0]}`,
  ]);
});

test('many hosts are counted, and ten of them named', () => {
  const hosts = Array.from({ length: 12 }, (_, i) => host(`h${i}`));
  expect(linesOf({ hosts })[2]).toBe('ok hosts: 12 other hosts: h0, h1, h2, h3, h4, h5, h6, h7, h8, h9 and 2 more');
});
