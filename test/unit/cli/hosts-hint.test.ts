// The hint for a server of another host that is not there.

import { expect, test } from 'vitest';
import { elsewhereHint } from '../../../src/cli/hosts-hint.ts';
import type { HostReport } from '../../../src/model/federation-report.ts';

const build: HostReport = {
  ...{ host: 'build', version: '1', servers: ['everything'], used: [], calls: 0, seenMs: 12_000, latencyMs: null },
  unreachable: 'it has been silent for 12 s: its daemon, its machine or its network is away',
};
const SEE = 'See: mcp-bridge hosts';

test('a server of a silent host is not there because its host is silent', () => {
  expect(elsewhereHint('everything@build', { hosts: [build] })).toEqual({
    hint: `Host build cannot be reached: ${build.unreachable}. ${SEE}`,
    isAway: true,
  });
});

test('for a name with a host that nobody knows, or that has no such server, the list of hosts says more', () => {
  const other = { hint: SEE, isAway: false };
  expect(elsewhereHint('everything@lab', { hosts: [build] })).toEqual(other);
  expect(elsewhereHint('nothing@build', { hosts: [build] })).toEqual(other);
  expect(elsewhereHint('everything@build', { hosts: [{ ...build, unreachable: null }] })).toEqual(other);
});

test('a name without a host, or a daemon that meets no others, has no such hint', () => {
  expect(elsewhereHint('everything', { hosts: [build] })).toBeUndefined();
  expect(elsewhereHint('@build', { hosts: [build] })).toBeUndefined();
  expect(elsewhereHint('everything@build', null)).toBeUndefined();
});
