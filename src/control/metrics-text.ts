// The daemon's counters in the text format of Prometheus, for `mcp-bridge metrics` and for /metrics over HTTP. It
// formats a report, and asks nobody.

import { answersIn, type ServerLatency } from '../model/server-latency.ts';
import type { ToolAnswers } from '../model/tool-answers.ts';
import type { StatusReport } from './report.ts';

type InstanceReport = StatusReport['instances'][number];

/** `memory` has the memory of servers by the pid of their instances. */
export function metricsText(report: StatusReport | undefined, memory: ReadonlyMap<number, number>): string {
  const up = gauge('mcp_bridge_up', 'Whether a daemon answers.', report === undefined ? 0 : 1);
  if (report === undefined) return exposition([up]);
  return exposition([
    up,
    gauge('mcp_bridge_uptime_seconds', 'Since the daemon has started.', report.uptimeMs / 1000),
    gauge('mcp_bridge_clients', 'Clients that have a session.', report.clients),
    ...versionMetrics(report.protocolVersions),
    gauge('mcp_bridge_clients_parked', 'Those of them that are away.', report.parked),
    ...suspendedMetrics(report.suspended),
    gauge('mcp_bridge_resident_memory_bytes', 'Memory of the daemon.', report.memory.residentBytes),
    gauge('mcp_bridge_heap_bytes', 'The part of it that objects take.', report.memory.heapBytes),
    ...Object.entries(report.counters).map(counterOf),
    ...errorMetrics(report.errors),
    ...auditMetrics(report.audit),
    ...serverMetrics(report.instances, memory),
    ...latencyMetrics(report.latencies, report.latencyBoundsMs),
    ...answerMetrics(report.answers),
  ]);
}

/** The versions in use; an older daemon does not report them. */
function versionMetrics(versions: StatusReport['protocolVersions'] | undefined): Metric[] {
  const samples = Object.entries(versions ?? {}).map(([version, value]) => ({ labels: { version }, value }));
  const help = 'Clients by the version of the protocol that they speak.';
  return samples.length === 0 ? [] : [{ name: 'mcp_bridge_clients_by_protocol', help, type: 'gauge', samples }];
}

/** The suspended calls; an older daemon does not report them. */
function suspendedMetrics(suspended: number | undefined): Metric[] {
  const help = 'Calls that wait for the answers of their clients.';
  return suspended === undefined ? [] : [gauge('mcp_bridge_calls_suspended', help, suspended)];
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: 'gauge', samples: [{ value }] };
}

/** Uses the names of `status --json`. */
function counterOf([key, value]: readonly [string, number]): Metric {
  const words = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const help = `${key} of mcp-bridge status --json, since the daemon has started.`;
  return { name: `mcp_bridge_${words}_total`, help, type: 'counter', samples: [{ value }] };
}

/** The errors by code; an older daemon does not report them. */
function errorMetrics(errors: StatusReport['errors'] | undefined): Metric[] {
  const samples = Object.entries(errors ?? {}).map(([code, value]) => ({ labels: { code }, value }));
  const help = 'Errors that clients got from the bridge itself.';
  return samples.length === 0 ? [] : [{ name: 'mcp_bridge_errors_total', help, type: 'counter', samples }];
}

function auditMetrics(audit: StatusReport['audit']): Metric[] {
  if (audit === null) return [];
  const counter = (name: string, help: string, value: number): Metric => ({
    ...{ name, help },
    type: 'counter',
    samples: [{ value }],
  });
  return [
    counter('mcp_bridge_audit_lines_total', 'Calls that were recorded.', audit.lines),
    counter('mcp_bridge_audit_lost_total', 'Calls that could not be recorded.', audit.lost),
    gauge('mcp_bridge_audit_failing', 'Whether calls cannot be recorded at present.', audit.failure === null ? 0 : 1),
  ];
}

/** Adds up all instances of a server, and servers with the same name in different directories. */
function serverMetrics(instances: readonly InstanceReport[], memory: ReadonlyMap<number, number>): Metric[] {
  const servers = new Map<string, InstanceReport[]>();
  for (const instance of instances) servers.set(instance.server, [...(servers.get(instance.server) ?? []), instance]);
  const of = (name: string, help: string, value: (instance: InstanceReport) => number | undefined): Metric => ({
    ...{ name, help },
    type: 'gauge',
    samples: [...servers].flatMap(([server, own]) => {
      const values = own.flatMap((instance) => value(instance) ?? []);
      return values.length === 0 ? [] : [{ labels: { server }, value: values.reduce((sum, one) => sum + one, 0) }];
    }),
  });
  return [
    of('mcp_bridge_server_instances', 'Instances that are ready.', ({ state }) => (state === 'ready' ? 1 : 0)),
    of('mcp_bridge_server_failed', 'Instances that failed when they were needed last.', (instance) =>
      instance.lastError !== null && instance.state !== 'ready' ? 1 : 0,
    ),
    of('mcp_bridge_server_sessions', 'Clients that use the server.', ({ sessions }) => sessions),
    of('mcp_bridge_server_requests_in_flight', 'Requests that are not answered yet.', ({ inFlight }) => inFlight),
    of('mcp_bridge_server_resident_memory_bytes', 'Memory of its processes.', ({ pid }) => memory.get(pid ?? -1)),
  ].filter(({ samples }) => samples.length > 0);
}

/** The tools with the most expensive answers; an older daemon does not report them. */
function answerMetrics(answers: StatusReport['answers'] = []): Metric[] {
  if (answers.length === 0) return [];
  const counter = (name: string, help: string, value: (tool: ToolAnswers) => number): Metric => ({
    ...{ name, help },
    type: 'counter',
    samples: answers.map((one) => ({ labels: { server: one.server, tool: one.tool }, value: value(one) })),
  });
  return [
    counter('mcp_bridge_tool_answers_total', 'Results of a tool.', (one) => one.answers),
    counter('mcp_bridge_tool_answer_bytes_total', 'Bytes of results that its server gave.', (one) => one.bytes),
    counter(
      'mcp_bridge_tool_answer_passed_bytes_total',
      'Bytes of results that clients got.',
      (one) => one.passedBytes,
    ),
    counter('mcp_bridge_tool_answer_tokens_total', 'An estimate of the tokens in these.', (one) => one.tokens),
    counter('mcp_bridge_tool_answers_cut_total', 'Results of which something was cut.', (one) => one.cut),
  ];
}

function latencyMetrics(latencies: readonly ServerLatency[], boundsMs: readonly number[]): Metric[] {
  if (latencies.length === 0) return [];
  const counter = (name: string, help: string, value: (latency: ServerLatency) => number): Metric => ({
    ...{ name, help },
    type: 'counter',
    samples: latencies.map((latency) => ({ labels: { server: latency.server }, value: value(latency) })),
  });
  return [
    {
      name: 'mcp_bridge_request_duration_seconds',
      help: 'How long servers took for their answers, from when they were sent the request.',
      type: 'histogram',
      samples: latencies.flatMap((latency) => histogramSamples(latency, boundsMs)),
    },
    counter('mcp_bridge_server_errors_total', 'Answers that were errors.', ({ errors }) => errors),
    counter(
      'mcp_bridge_server_unanswered_total',
      'Requests that were given up, or that the server has died over.',
      ({ unanswered }) => unanswered,
    ),
  ];
}

function histogramSamples(latency: ServerLatency, boundsMs: readonly number[]): Sample[] {
  const { server, buckets, sumMs } = latency;
  let sum = 0;
  const cumulative = buckets.map((count) => (sum += count));
  return [
    ...cumulative.map((value, i) => {
      const bound = boundsMs[i];
      return { suffix: '_bucket', labels: { server, le: bound === undefined ? '+Inf' : `${bound / 1000}` }, value };
    }),
    { suffix: '_sum', labels: { server }, value: sumMs / 1000 },
    { suffix: '_count', labels: { server }, value: answersIn(latency) },
  ];
}

interface Sample {
  /** The suffix of a part of a histogram. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly Sample[];
}

function exposition(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join('');
}

function metricText({ name, help, type, samples }: Metric): string {
  const lines = samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${value}\n`);
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Escapes a label value, because a name may contain anything. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
