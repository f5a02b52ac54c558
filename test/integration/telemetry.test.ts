// Traces and metrics, from a client through a real daemon to a collector that reads what it gets.

import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer } from '../support/remote-fixture.ts';
import { fixtureServer, ROOT, TestDaemon } from '../support/test-daemon.ts';

const ended: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
  endFixtures();
});

async function collector(): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  ended.push(() => receiver.stop());
  return receiver;
}

/** Sends soon what there is. */
const SOON = { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_METRIC_EXPORT_INTERVAL: '50' };

async function daemonWith(telemetry: object, env: object = {}, config: object = {}): Promise<TestDaemon> {
  const whole = { mcpServers: { fixture: fixtureServer() }, telemetry, ...config };
  const daemon = await TestDaemon.start(whole, { env: { ...SOON, ...env } });
  ended.push(() => daemon.stop());
  return daemon;
}

const full = (): object => ({ command: process.execPath, args: [join(ROOT, 'test/fixtures/servers/full.mjs')] });

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const META = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'rojo=1,congo=2', baggage: 'user=ann' };
/** The requests of one trace alone. */
const ofTrace = (spans: readonly ReceivedSpan[]): ReceivedSpan[] => spans.filter(({ traceId }) => traceId === TRACE);

async function pairOf(receiver: OtlpReceiver): Promise<readonly [ReceivedSpan, ReceivedSpan]> {
  return receiver.until(() => {
    const [server] = ofTrace(receiver.servers);
    const [client] = ofTrace(receiver.clients);
    return server === undefined || client === undefined ? undefined : [server, client];
  });
}

async function request(client: RawClient, id: number, method: string, params: object): Promise<object> {
  client.send({ jsonrpc: '2.0', id, method, params: { _meta: META, ...params } });
  return await client.answerTo(id);
}

describe.each(['http/json', 'http/protobuf'] as const)('over %s', (protocol) => {
  test('a call is two spans of the client’s trace, one below the other, with the attributes of the convention', async () => {
    const receiver = await collector();
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint, protocol }, serviceName: 'desk' });
    const client = await daemon.client();
    const said = JSON.parse(
      textOf((await request(client, 7, 'tools/call', { name: 'raw', arguments: { a: 'CANARY' } })) as never),
    ) as { id: number; params: { _meta: object } };
    const [server, asked] = await pairOf(receiver);

    expect(server).toMatchObject({
      name: 'tools/call raw',
      parentSpanId: SPAN,
      traceState: META.tracestate,
      status: { code: 0, message: '' },
      resource: { 'service.name': 'desk', 'service.version': expect.any(String) },
    });
    expect(server.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'raw',
      'gen_ai.operation.name': 'execute_tool',
      'jsonrpc.request.id': '7',
      'mcp.protocol.version': '2025-06-18',
      'mcp.session.id': expect.stringMatching(/.+/),
      'network.transport': 'unix',
      'mcp_bridge.client': 'raw',
      'mcp_bridge.view': 'server:fixture',
    });
    expect(asked).toMatchObject({ name: 'tools/call raw', parentSpanId: server.spanId, traceState: META.tracestate });
    expect(asked.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'raw',
      'gen_ai.operation.name': 'execute_tool',
      'jsonrpc.request.id': String(said.id),
      'mcp.protocol.version': '2025-11-25',
      'mcp.session.id': expect.stringMatching(/.+/),
      'network.transport': 'pipe',
      'mcp_bridge.server': 'fixture',
    });
    expect(said.params._meta).toEqual({ ...META, traceparent: `00-${TRACE}-${asked.spanId}-01` });
    const times = [server.startNs, asked.startNs, asked.endNs, server.endNs];
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    expect(JSON.stringify(receiver.requests.map(({ body }) => body.toString('latin1')))).not.toContain('CANARY');
  });

  test('the four histograms are counted in seconds, with the bounds and attributes of the convention', async () => {
    const receiver = await collector();
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint, protocol } });
    const client = await daemon.client();
    for (let id = 1; id <= 3; id++) await client.callTool(id, 'echo', { text: 'x' });
    client.destroy();
    await receiver.until(() => receiver.metrics.get('mcp.server.session.duration'));
    await daemon.stop();
    const points = (name: string) => receiver.metrics.get(name)?.points ?? [];
    const calls = {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'echo',
      'gen_ai.operation.name': 'execute_tool',
    };
    const server = { 'mcp.protocol.version': '2025-06-18', 'network.transport': 'unix' };
    const asked = {
      'mcp.protocol.version': '2025-11-25',
      'network.transport': 'pipe',
      'mcp_bridge.server': 'fixture',
    };
    const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
    for (const [name, attributes, count] of [
      ['mcp.server.operation.duration', { ...calls, ...server }, 3],
      ['mcp.client.operation.duration', { ...calls, ...asked }, 3],
      ['mcp.server.session.duration', server, 1],
      ['mcp.client.session.duration', asked, 1],
    ] as const) {
      expect([name, receiver.metrics.get(name)?.unit, receiver.metrics.get(name)?.temporality]).toEqual([name, 's', 2]);
      expect(points(name)).toContainEqual(expect.objectContaining({ attributes, count, bounds }));
    }
    for (const { count, sum, buckets } of points('mcp.server.operation.duration')) {
      expect(buckets.reduce((all, one) => all + one)).toBe(count);
      expect(sum).toBeGreaterThan(0);
    }
  });
});

test('in joined views each side is named as it was asked for', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } }, {}, { mcpServers: { full: full() } });
  const client = await daemon.client({ 'mcp-bridge/view': 'all' });
  await request(client, 1, 'tools/call', { name: 'full__echo', arguments: { text: 'x' } });
  const [server, asked] = await pairOf(receiver);
  expect([server.name, asked.name]).toEqual(['tools/call full__echo', 'tools/call echo']);
  expect([server.attributes['gen_ai.tool.name'], asked.attributes['gen_ai.tool.name']]).toEqual(['full__echo', 'echo']);

  receiver.spans.splice(0);
  const other = await daemon.client({ 'mcp-bridge/view': 'discover' });
  const inner = { server: 'full', tool: 'echo', arguments: { text: 'x' } };
  await request(other, 1, 'tools/call', { name: 'execute_tool', arguments: inner });
  const [outer, called] = await pairOf(receiver);
  expect([outer.name, called.name, called.parentSpanId]).toEqual([
    'tools/call execute_tool',
    'tools/call echo',
    outer.spanId,
  ]);
});

test('prompts and resources have their names and URIs, without passwords, and no other request has a name', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } }, {}, { mcpServers: { full: full() } });
  const client = await daemon.client();
  await request(client, 1, 'prompts/get', { name: 'greeting' });
  await request(client, 2, 'resources/read', { uri: 'db://ann:CANARY@host/table?key=CANARY#CANARY' });
  await request(client, 3, 'made/up', { name: 'x' });
  const spans = await receiver.until(() =>
    ofTrace(receiver.spans).length === 6 ? ofTrace(receiver.spans) : undefined,
  );
  const shown = spans.map(({ name, attributes }) => [
    name,
    attributes['gen_ai.prompt.name'] ?? attributes['mcp.resource.uri'],
    attributes['gen_ai.operation.name'],
  ]);
  const twice = (row: unknown[]): unknown[] => [row, row];
  expect(shown).toEqual(
    expect.arrayContaining([
      ...twice(['prompts/get greeting', 'greeting', undefined]),
      ...twice(['resources/read', 'db://host/table', undefined]),
      ...twice(['made/up', undefined, undefined]),
    ]),
  );
});

test('a failure has its code, its type and the status of an error', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint, protocol: 'http/json' } });
  const client = await daemon.client();
  await request(client, 1, 'tools/call', { name: 'CANARY-unknown', arguments: {} });
  const [server, asked] = await pairOf(receiver);
  for (const { attributes, status } of [server, asked]) {
    expect(attributes).toMatchObject({ 'error.type': '-32602', 'rpc.response.status_code': '-32602' });
    expect(status).toEqual({ code: 2, message: '' });
  }
  receiver.spans.splice(0);
  await request(client, 2, 'tools/call', { name: 'crash', arguments: {} });
  const [lost, died] = await pairOf(receiver);
  expect(lost.attributes).toMatchObject({
    'error.type': '-32603',
    'rpc.response.status_code': '-32603',
    'mcp_bridge.error.code': 'SERVER_CRASHED',
  });
  expect(died.attributes).toMatchObject({ 'error.type': 'SERVER_CRASHED' });
  expect(lost.status).toEqual({ code: 2, message: expect.stringContaining('fixture') });
  // A name that no server has ever answered with a result makes no series.
  await receiver.until(() =>
    receiver.metrics
      .get('mcp.server.operation.duration')
      ?.points.find(({ attributes }) => attributes['error.type'] === '-32602'),
  );
  expect(JSON.stringify([...receiver.metrics.values()])).not.toContain('CANARY');
});

test('a state of a trace goes on with that trace alone', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } });
  const client = await daemon.client();
  for (const [id, parent] of [{}, { traceparent: 'junk' }].entries()) {
    const _meta = { ...parent, tracestate: 'vendor=of-another', kept: 1 };
    const said = await client.request(id, 'tools/call', { _meta, name: 'raw', arguments: {} });
    const { params } = JSON.parse(textOf(said)) as { params: { _meta: object } };
    expect(params._meta).toEqual({ kept: 1, traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) });
  }
});

test('a name makes one series, however clients spell it', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } });
  const client = await daemon.client();
  const spellings = ['echo', 'e\\u0063ho', '\\u0065cho', 'ech\\u006f', 'ech\\u006F'];
  for (const [id, name] of spellings.entries())
    client.send(
      `{"jsonrpc":"2.0","id":${id + 10},"method":"tools/call","params":{"name":"${name}","arguments":{"text":"x"}}}`,
    );
  for (const id of spellings.keys()) await client.answerTo(id + 10);
  for (const name of ['mcp.server.operation.duration', 'mcp.client.operation.duration']) {
    const points = await receiver.until(() => {
      const ofEcho = receiver.metrics
        .get(name)
        ?.points.filter(({ attributes }) => attributes['gen_ai.tool.name'] === 'echo');
      return ofEcho?.reduce((sum, { count }) => sum + Number(count), 0) === spellings.length ? ofEcho : undefined;
    });
    expect(points).toHaveLength(1);
  }
});

test('arguments and results are in spans where the config says so', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint }, arguments: true, results: true });
  const client = await daemon.client();
  await request(client, 1, 'tools/call', { name: 'echo', arguments: { text: 'shown' } });
  for (const { attributes } of await pairOf(receiver)) {
    expect(attributes['gen_ai.tool.call.arguments']).toBe('{"text":"shown"}');
    expect(attributes['gen_ai.tool.call.result']).toBe('{"content":[{"type":"text","text":"shown"}]}');
  }
});

test('a server at a URL is named by its host and port, and nothing else of the URL is told', async () => {
  const receiver = await collector();
  const url = await httpServer('http');
  const daemon = await daemonWith(
    { otlp: { endpoint: receiver.endpoint } },
    {},
    { mcpServers: { remote: { type: 'http', url: `${url}?key=CANARY` } } },
  );
  const client = await daemon.client();
  await request(client, 1, 'tools/call', { name: 'echo', arguments: { text: 'x' } });
  const [, asked] = await pairOf(receiver);
  expect(asked.attributes).toMatchObject({
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'network.protocol.version': '1.1',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(url).port),
  });
  expect(JSON.stringify(receiver.requests.map(({ body }) => body.toString('latin1')))).not.toContain('CANARY');
});

describe('the variables of OpenTelemetry', () => {
  test('set the destination, headers and name, and override the config', async () => {
    const [ofConfig, ofEnv] = [await collector(), await collector()];
    const daemon = await daemonWith(
      { otlp: { endpoint: ofConfig.endpoint, headers: { 'x-token': 'CANARY' } } },
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: ofEnv.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-team=a',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SERVICE_NAME: 'named',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      },
    );
    const client = await daemon.client();
    await client.callTool(1, 'echo', { text: 'x' });
    const { resource } = await ofEnv.span('client', 'tools/call echo');
    expect(resource).toMatchObject({ 'service.name': 'named', 'deployment.environment.name': 'test' });
    const { headers, path } = ofEnv.requests.find((one) => one.path === '/v1/traces') ?? {};
    expect([path, headers?.['x-team'], headers?.authorization, headers?.['x-token']]).toEqual([
      '/v1/traces',
      'a',
      'Bearer abc',
      undefined,
    ]);
    expect(headers?.['content-encoding']).toBe('gzip');
    expect(ofConfig.requests).toEqual([]);
    expect(daemon.log).not.toMatch(/CANARY|Bearer/);
  });

  test('switch it off: nothing is sent, and the client’s context passes as it is', async () => {
    const receiver = await collector();
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } }, { OTEL_SDK_DISABLED: 'true' });
    const client = await daemon.client();
    const said = textOf((await request(client, 1, 'tools/call', { name: 'raw', arguments: {} })) as never);
    expect(said).toContain(JSON.stringify(META));
    await daemon.stop();
    expect(receiver.requests).toEqual([]);
  });

  test('sample: servers learn that a trace is not sent, and only its times are counted', async () => {
    const receiver = await collector();
    const daemon = await daemonWith(
      { otlp: { endpoint: receiver.endpoint } },
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    );
    const client = await daemon.client();
    const { params } = JSON.parse(textOf(await client.callTool(1, 'raw'))) as {
      params: { _meta: { traceparent: string } };
    };
    expect(params._meta.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    await request(client, 2, 'tools/call', { name: 'echo', arguments: { text: 'x' } });
    await pairOf(receiver); // the client of this one sends it
    expect(receiver.spans.every(({ traceId }) => traceId === TRACE)).toBe(true);
    await receiver.until(() =>
      receiver.metrics
        .get('mcp.client.operation.duration')
        ?.points.find(({ attributes }) => attributes['gen_ai.tool.name'] === 'raw'),
    );
  });
});

/** A port that takes connections and says nothing. */
async function silentPort(): Promise<string> {
  const server: Server = createServer((socket) => void socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<{ destroy: () => void }>();
  server.on('connection', (socket) => sockets.add(socket));
  ended.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as { port: number };
  return `http://127.0.0.1:${port}`;
}

describe('a collector that does not do its part costs calls nothing', () => {
  test('one that refuses: calls are answered, and the log says once that spans are lost', async () => {
    const receiver = await collector();
    receiver.answer = (_, response) => response.writeHead(400).end('CANARY');
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint, headers: { 'x-token': 'CANARY' } } });
    const client = await daemon.client();
    for (let id = 1; id <= 20; id++) expect(textOf(await client.callTool(id, 'echo', { text: 'x' }))).toBe('x');
    await daemon.untilLogged('does not take traces');
    await receiver.until(({ requests }) => (requests.length > 4 ? true : undefined));
    expect(daemon.log.match(/does not take traces/g)).toHaveLength(1);
    expect(daemon.log).toContain('status 400');
    expect(daemon.log).not.toContain('CANARY');
  });

  test('one that is not there', async () => {
    const daemon = await daemonWith({ otlp: { endpoint: 'http://127.0.0.1:1', timeoutMs: 200 } });
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'echo', { text: 'x' }))).toBe('x');
    await daemon.untilLogged('does not take traces');
    expect((await daemon.status()).counters.internalErrors).toBe(0);
  });

  test('a hanging collector: calls are answered, and the daemon ends', async () => {
    const daemon = await daemonWith({ otlp: { endpoint: await silentPort(), timeoutMs: 3_600_000 } });
    const client = await daemon.client();
    for (let id = 1; id <= 20; id++) expect(textOf(await client.callTool(id, 'echo', { text: 'x' }))).toBe('x');
    daemon.kill('SIGTERM');
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
  });

  test('a collector that comes back gets new spans, and the log says so', async () => {
    const receiver = await collector();
    receiver.answer = (_, response) => response.writeHead(404).end();
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } });
    const client = await daemon.client();
    await client.callTool(1, 'echo', { text: 'x' });
    await daemon.untilLogged('does not take traces');
    receiver.answer = undefined;
    await client.callTool(2, 'echo', { text: 'x' });
    await receiver.span('server', 'tools/call echo');
    await daemon.untilLogged('takes traces again');
  });
});

test('a daemon that is stopped sends its remaining data first', async () => {
  const receiver = await collector();
  const daemon = await daemonWith(
    { otlp: { endpoint: receiver.endpoint } },
    { OTEL_BSP_SCHEDULE_DELAY: '3600000', OTEL_METRIC_EXPORT_INTERVAL: '3600000' },
  );
  const client = await daemon.client();
  await client.callTool(1, 'echo', { text: 'x' });
  expect(receiver.requests).toEqual([]);
  await daemon.stop();
  expect(receiver.spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['initialize', 'tools/call echo', 'tools/call echo']),
  );
  expect([...receiver.metrics.keys()].sort()).toEqual([
    'mcp.client.operation.duration',
    'mcp.client.session.duration',
    'mcp.server.operation.duration',
    'mcp.server.session.duration',
  ]);
});

describe('status says where telemetry goes', () => {
  test('by the config, without secrets', async () => {
    const receiver = await collector();
    receiver.answer = (_, response) => response.writeHead(200).end();
    const endpoint = `${receiver.endpoint}/tenant/?token=CANARY`.replace('http://', 'http://ann:CANARY@');
    const daemon = await daemonWith({ otlp: { endpoint, headers: { 'x-token': 'CANARY' } }, sampling: 0.25 });
    const { telemetry } = await daemon.status();
    const base = `${receiver.endpoint}/tenant/v1`;
    expect(telemetry).toEqual({
      traces: { url: `${base}/traces`, failure: null },
      metrics: { url: `${base}/metrics`, failure: null },
      sampling: { share: 0.25, followsClients: true },
      faults: [],
    });
    expect(await runCommand(['status', '--mcp-bridge-socket', daemon.path])).toMatchObject({
      stdout: expect.stringContaining(
        `\ntelemetry: traces to ${base}/traces (25 %, or as the client says), metrics to ${base}/metrics\n`,
      ),
    });
  });

  test('also failures, until data arrives again', async () => {
    const receiver = await collector();
    receiver.answer = (_, response) => response.writeHead(404).end();
    const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint }, metrics: false });
    const client = await daemon.client();
    await client.callTool(1, 'echo', { text: 'x' });
    await daemon.untilLogged('does not take traces');
    expect((await daemon.status()).telemetry).toMatchObject({
      traces: { failure: 'it answered with status 404' },
      metrics: null,
    });
    receiver.answer = undefined;
    await client.callTool(2, 'echo', { text: 'x' });
    await daemon.untilLogged('takes traces again');
    expect((await daemon.status()).telemetry).toMatchObject({ traces: { failure: null } });
  });

  test('or that it is off', async () => {
    const daemon = await daemonWith({ otlp: { endpoint: 'http://127.0.0.1:1' } }, { OTEL_SDK_DISABLED: 'true' });
    expect((await daemon.status()).telemetry).toBeNull();
  });
});

test('commands that look at the daemon are no traces', async () => {
  const receiver = await collector();
  const daemon = await daemonWith({ otlp: { endpoint: receiver.endpoint } });
  await daemon.status();
  const client = await daemon.client();
  await client.callTool(1, 'echo', { text: 'x' });
  await receiver.span('server', 'tools/call echo');
  expect(receiver.servers.map(({ name }) => name)).toEqual(['initialize', 'tools/call echo']);
});
