// What people read about a server that has no process on this host.

import { expect, test } from 'vitest';
import { failedFindings } from '../../../../src/cli/commands/doctor-findings.ts';
import { noLogOf } from '../../../../src/cli/commands/server-logs.ts';

test('the log of a server of another host is there', () => {
  const { code, message, hint } = noLogOf('everything@build', 'bus');
  expect([code, message]).toEqual([
    'LOG_NOT_FOUND',
    'Server everything@build runs on host build, and its log is there',
  ]);
  expect(hint).toBe('There: mcp-bridge logs everything. How that host is: mcp-bridge hosts');
  expect(noLogOf('memory', 'bus').message).toBe('Server memory runs on another host, and its log is there');
  expect(noLogOf('far', 'http').message).toContain('is at a URL');
});

test('nobody is sent to a log here for a failed server of another host', () => {
  const failed = (server: string) => ({
    ...{ server, pid: null, state: 'failed', protocolVersion: null, sessions: 0, restarts: 0, calls: 0, requests: 0 },
    ...{ inFlight: 0, leftOut: true, lastError: 'It is away', errorCode: 'SERVER_UNREACHABLE' },
  });
  expect(failedFindings([failed('everything@build'), failed('notes')]).map(({ remedy }) => remedy)).toEqual([
    'It runs on another host. How that host is: mcp-bridge hosts',
    expect.stringContaining('See: mcp-bridge logs notes'),
  ]);
});
