import { describe, expect, test } from 'vitest';
import { statusText } from '../../../../src/cli/render/status-view.ts';
import type { TableStyle } from '../../../../src/cli/render/table.ts';
import type { StatusReport } from '../../../../src/client/control-client.ts';
import type { AuditReport } from '../../../../src/control/report.ts';

const RUNS = {
  pid: 7,
  state: 'ready',
  protocolVersion: '2025-11-25',
  sessions: 1,
  restarts: 0,
  calls: 2,
  requests: 3,
  inFlight: 0,
  leftOut: false,
  lastError: null,
  errorCode: null,
};
const DOES_NOT = { ...RUNS, pid: null, sessions: 0, calls: 0, requests: 0 };

function shown(more: Partial<StatusReport>, style: TableStyle = {}): string[] {
  const program = { version: '1.2.3', build: '1.2.3+1', autostarted: false, activated: false };
  const report = {
    ...program,
    parked: 0,
    parkedBytes: 0,
    suspended: 0,
    pid: 1,
    socketPath: '/tmp/b.sock',
    uptimeMs: 61_000,
    clients: 3,
    protocolVersions: { '2025-11-25': 3 },
    counters: {},
    dialledIn: [],
    memory: { residentBytes: 1, heapBytes: 1 },
    latencies: [],
    latencyBoundsMs: [],
    errors: {},
  };
  const nothing = {
    instances: [],
    configFile: '/c.json',
    configNamed: true,
    serversConfig: null,
    configDir: '/',
    configFaults: [],
    definitionFaults: [],
    pendingApprovals: null,
    audit: null,
  };
  return statusText({ ...report, ...nothing, ...more }, style)
    .trimEnd()
    .split('\n');
}

test('a server of another host shows the name that also reaches it, and the state keeps its colour', () => {
  const instances = [
    { ...RUNS, server: 'a' },
    { ...RUNS, server: 'b@hub', alsoAs: 'b' },
  ];
  const paint = { column: 1, with: (cell: string) => `<${cell}>` };
  expect(shown({ instances }, { paint }).slice(-3)).toEqual([
    'SERVER  ALSO AS  STATE  PID  SESSIONS  CALLS  RESTARTS  MCP',
    'a       -        <ready>  7    1         2      0         2025-11-25',
    'b@hub   b        <ready>  7    1         2      0         2025-11-25',
  ]);
});

test('the status shows the daemon and its config', () => {
  expect(shown({ instances: [{ ...RUNS, server: 'a' }] })).toEqual([
    'mcp-bridge 1.2.3 at /tmp/b.sock, pid 1, up 1 min 1 s, clients: 3',
    'config: /c.json',
    '',
    'SERVER  STATE  PID  SESSIONS  CALLS  RESTARTS  MCP',
    'a       ready  7    1         2      0         2025-11-25',
  ]);
});

test('the status shows counters of faults and limits, but not of ordinary work', () => {
  const counters = { requests: 9, serverBusy: 2, timeouts: 0, clientsPaused: 1 };
  expect(shown({ counters }).slice(1, 4)).toEqual(['config: /c.json', 'counters: serverBusy 2, clientsPaused 1', '']);
});

test('the status says with which errors clients were answered', () => {
  const errors = { TOOL_DISABLED: 2, '-32601': 1 };
  expect(shown({ errors }).slice(1, 4)).toEqual(['config: /c.json', 'errors answered: TOOL_DISABLED 2, -32601 1', '']);
});

test('the status says where calls are recorded, and how many', () => {
  const audit = { file: '/a.jsonl', lines: 12, lost: 0, failure: null, refuses: false };
  expect(shown({ audit }).slice(1, 4)).toEqual(['config: /c.json', 'audit: /a.jsonl, lines since the start: 12', '']);
});

describe('where telemetry goes', () => {
  const traces = { url: 'http://c:4318/v1/traces', failure: null };
  const metrics = { url: 'http://c:4318/v1/metrics', failure: 'ECONNREFUSED' };
  const sampling = { share: 0.015, followsClients: true };

  test('is off, and an older daemon says nothing of it', () => {
    expect(shown({ telemetry: null })[2]).toBe('telemetry: off');
    expect(shown({}).join('\n')).not.toContain('telemetry');
  });

  test('is a line with each address and the share of traces', () => {
    expect(shown({ telemetry: { traces, metrics: null, sampling, faults: [] } })[2]).toBe(
      'telemetry: traces to http://c:4318/v1/traces (1.5 %, or as the client says)',
    );
    const all = { share: 1, followsClients: false };
    expect(shown({ telemetry: { traces, metrics, sampling: all, faults: [] } })[2]).toBe(
      'telemetry: traces to http://c:4318/v1/traces (all), metrics to http://c:4318/v1/metrics',
    );
  });

  test('is off, with the reasons, if no setting can be used', () => {
    const lines = shown({ telemetry: { traces: null, metrics: null, sampling, faults: ['OTEL_X must be a URL'] } });
    expect([lines[2], lines.at(-1)]).toEqual(['telemetry: off', '! OTEL_X must be a URL']);
  });

  test('has a note if the collector does not take it', () => {
    expect(shown({ telemetry: { traces, metrics, sampling, faults: [] } }).at(-1)).toBe(
      '! the collector does not take metrics: ECONNREFUSED',
    );
  });
});

test('the status says how many clients are away', () => {
  expect(shown({ suspended: 2 })[0]).toMatch(/clients: 3, calls that wait for their clients' answers: 2$/);
  expect(shown({ parked: 2 })[0]).toMatch(/clients: 3 \(2 of them away\)$/);
});

describe('a server that fails', () => {
  test.each(['failed', 'idle', 'waiting', 'broken'])('has failed, also while it is %s', (state) => {
    const [, , , , row, note, ...rest] = shown({
      instances: [{ ...DOES_NOT, server: 'a', state, leftOut: true, lastError: 'Server a exited with code 1: no key' }],
    });
    expect(row).toMatch(/^a +failed +- /);
    expect(note).toMatch(/^! Server a exited with code 1: no key/);
    expect(note?.includes('it is broken')).toBe(state === 'broken');
    expect(rest).toEqual([]);
  });

  test('has one line, however many of it there are', () => {
    const failed = { ...DOES_NOT, server: 'a', state: 'idle', lastError: 'Server a exited with code 1' };
    expect(shown({ instances: [failed, { ...failed, leftOut: true }] }).filter((line) => line[0] === '!')).toEqual([
      '! Server a exited with code 1',
    ]);
  });

  test('is said to start while it is started once more', () => {
    const instances = [{ ...DOES_NOT, server: 'a', state: 'starting', lastError: 'Server a exited with code 1' }];
    expect(shown({ instances })[4]).toMatch(/^a +starting /);
  });
});

test('a server that is only idle has not failed', () => {
  expect(shown({ instances: [{ ...DOES_NOT, server: 'a', state: 'idle' }] })[4]).toMatch(/^a +idle /);
});

test('a fault in the config names the file, once', () => {
  const configFaults = ['mcpServers.a needs a command', '/c.json:3:1: a comma is missing'];
  expect(shown({ configFaults, definitionFaults: ['/d.json is empty'] }).slice(4)).toEqual([
    '! /c.json: mcpServers.a needs a command',
    '! /c.json:3:1: a comma is missing',
    '! /d.json is empty',
  ]);
});

test('a fault of the audit log is shown, with the number of missing lines', () => {
  const audit: AuditReport = { file: '/s/audit.jsonl', lines: 9, lost: 0, failure: null, refuses: false };
  const notes = (more: Partial<AuditReport>): string[] =>
    shown({ audit: { ...audit, ...more } }).filter((line) => line[0] === '!');
  expect(notes({})).toEqual([]);
  expect(notes({ failure: 'the disk is full', lost: 2 })).toEqual([
    '! calls cannot be recorded: the disk is full',
    '! the audit log /s/audit.jsonl lacks 2 calls',
  ]);
  expect(notes({ failure: 'the disk is full', refuses: true })).toEqual([
    '! calls are refused: they cannot be recorded: the disk is full',
  ]);
});

test.each([
  [null, []],
  [0, []],
  [1, ['! 1 definition waits here for: mcp-bridge approve']],
  [3, ['! 3 definitions wait here for: mcp-bridge approve']],
])('with %j definitions that wait for approval, it says %j', (pendingApprovals, notes) => {
  expect(shown({ pendingApprovals }).filter((line) => line.startsWith('!'))).toEqual(notes);
});

test('notes break between words at the width of the terminal', () => {
  const lastError = 'Server broken could not be started: there is no program no-such-program';
  const lines = shown({ instances: [{ ...DOES_NOT, state: 'failed', server: 'a', lastError }] }, { width: 60 });
  expect(lines.slice(-2)).toEqual(['! Server broken could not be started: there is no program', '  no-such-program']);
});
