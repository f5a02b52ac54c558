import { afterEach, expect, test } from 'vitest';
import { hostName, hostOf, hosts, whyUnreachable } from '../../../src/dashboard/hosts.ts';
import type { FederationReport } from '../../../src/model/federation-report.ts';

const hub = {
  ...{ host: 'hub', version: '1', servers: ['a', 'mail@work'], used: ['a'], calls: 0, seenMs: 10 },
  ...{ latencyMs: 2, unreachable: null },
};
const silent = { ...hub, host: 'silent', latencyMs: null, unreachable: 'it has been silent for 20 s' };
const REPORT: FederationReport = {
  ...{ host: 'here', tenant: 't', user: 'ann', nats: { address: 'x', version: '2' }, faults: [], offered: [] },
  ...{ callsOfOthers: 0, listensOfOthers: 0, hosts: [hub, silent], leases: [] },
};

afterEach(() => {
  hosts.value = undefined;
});

test('without other hosts each server is of this one', () => {
  expect(hostOf('a@hub')).toBeUndefined();
});

test('a server is of the host that its name ends with, if that offers it', () => {
  hosts.value = REPORT;
  expect(hostOf('a')).toBeUndefined();
  expect(hostOf('a@hub')).toBe(hub);
  expect(hostOf('mail@work@hub')).toBe(hub);
  expect(hostName(hostOf('a@hub'))).toBe('hub');
});

test('it says why a server of another host cannot be reached', () => {
  hosts.value = REPORT;
  expect(whyUnreachable(hub)).toBe('');
  expect(whyUnreachable(silent)).toBe('silent: it has been silent for 20 s');
  expect(whyUnreachable(hostOf('b@hub') ?? '')).toBe('hub is not there, or does not offer it any more');
  hosts.value = { ...REPORT, nats: null, faults: ['NATS is away: refused'] };
  expect(whyUnreachable(hub)).toBe('NATS is away: refused');
});
