// `mcp-bridge metrics`, read as strictly as the format is written.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { metricsText } from '../../src/control/metrics-text.ts';
import type { StatusReport } from '../../src/control/report.ts';
import { runCommand } from '../support/command.ts';
import { parsePrometheus } from '../support/prometheus-parser.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

test('the metrics have the daemon’s counters, in a form that the strictest reader accepts', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer() },
    discovery: { toolRules: [{ pattern: ['raw'], enabled: false }] },
  });
  const client = await daemon.client({ 'mcp-bridge/view': 'server:fixture' });
  for (let id = 1; id <= 5; id++) await client.callTool(id, 'echo', { text: 'x' });
  const all = await daemon.client({ 'mcp-bridge/view': 'all' });
  for (const id of [1, 2]) expect((await all.callTool(id, 'fixture__raw')).error).toBeDefined();
  const { code, stdout, stderr } = await runCommand(['metrics'], { env: { MCP_BRIDGE_SOCKET: daemon.path } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const metrics = parsePrometheus(stdout);
  const status = (await daemon.status()) as unknown as StatusReport;

  for (const name of metrics.keys()) expect(name).toMatch(/^mcp_bridge_/);
  const labels = new Set([...metrics.values()].flatMap(({ samples }) => samples.flatMap((s) => Object.keys(s.labels))));
  expect([...labels].sort()).toEqual(['code', 'le', 'server', 'tool', 'version']);
  const figureOf = (name: string, labels = {}): number | undefined =>
    metrics.get(name)?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;
  expect(figureOf('mcp_bridge_up')).toBe(1);
  expect(figureOf('mcp_bridge_clients')).toBe(2);
  expect(figureOf('mcp_bridge_errors_total', { code: 'TOOL_DISABLED' })).toBe(2);
  expect(figureOf('mcp_bridge_requests_total')).toBeGreaterThanOrEqual(6);
  for (const key of Object.keys(status.counters)) {
    const words = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    expect(metrics.get(`mcp_bridge_${words}_total`)?.type).toBe('counter');
  }
  expect(figureOf('mcp_bridge_server_instances', { server: 'fixture' })).toBe(1);
  if (process.platform === 'linux')
    expect(figureOf('mcp_bridge_server_resident_memory_bytes', { server: 'fixture' })).toBeGreaterThan(1_000_000);

  const histogram = metrics.get('mcp_bridge_request_duration_seconds');
  const own = histogram?.samples.filter(({ labels }) => labels.server === 'fixture') ?? [];
  expect(own.find(({ name }) => name.endsWith('_count'))?.value).toBe(5);
  expect(own.find(({ name }) => name.endsWith('_sum'))?.value).toBeGreaterThan(0);

  const odd = 'o"d\\d\nname';
  const renamed = status.instances.map((instance) => ({ ...instance, server: odd }));
  const [instances] = [parsePrometheus(metricsText({ ...status, instances: renamed }, new Map()))].map(
    (parsed) => parsed.get('mcp_bridge_server_instances')?.samples,
  );
  expect(instances).toMatchObject([{ labels: { server: odd }, value: 1 }]);
  for (const each of [client, all]) each.destroy();
  await daemon.stop();
});

test('where no daemon runs that is a figure, and none is started', async () => {
  const socket = join(tempDir(), 'b.sock');
  const { code, stdout } = await runCommand(['metrics', '--mcp-bridge-socket', socket]);
  expect([code, [...parsePrometheus(stdout)].map(([name, { samples }]) => [name, samples[0]?.value])]).toEqual([
    0,
    [['mcp_bridge_up', 0]],
  ]);
  expect(parsePrometheus(metricsText(undefined, new Map())).size).toBe(1);
});
