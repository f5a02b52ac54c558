// Traces and metrics, from a client through a real daemon to a collector that reads what it gets.

import { afterEach, describe, expect, test } from 'vitest';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const receivers: OtlpReceiver[] = [];
const daemons: TestDaemon[] = [];

afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

async function collector(): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  receivers.push(receiver);
  return receiver;
}

/** Sends at once what there is. */
const SOON = { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_METRIC_EXPORT_INTERVAL: '50' };

async function daemonFor(config: object, env: object = {}): Promise<TestDaemon> {
  const daemon = await TestDaemon.start(
    { mcpServers: { fixture: fixtureServer() }, ...config },
    { env: { ...SOON, ...env } },
  );
  daemons.push(daemon);
  return daemon;
}

test('try', async () => {
  const receiver = await collector();
  const daemon = await daemonFor({ telemetry: { otlp: { endpoint: receiver.endpoint, protocol: 'http/json' } } });
  const client = await daemon.client();
  client.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'raw', arguments: {} } });
  console.log(textOf(await client.answerTo(7)));
  await receiver.span('server', 'tools/call raw');
  await receiver.span('client', 'tools/call raw');
  await receiver.until(() => receiver.metrics.get('mcp.client.operation.duration'));
  console.dir(receiver.spans, { depth: 9 });
  console.dir(receiver.metrics, { depth: 9 });
  console.log(daemon.log);
});
