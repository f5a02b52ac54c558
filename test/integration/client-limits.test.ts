// Messages over the daemon's limit, by the library and through `connect`: each has its one error, and nothing else ends.

import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { BridgeTransport } from '../../src/client/index.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon } from '../support/test-daemon.ts';

const MOST = 64 * 1024;
const CONFIG = { mcpServers: { fixture: fixtureServer() }, limits: { maxMessageBytes: MOST } };
const INFO = { name: 'library', version: '1' };

/** A call of `echo` that has so many bytes as a line, without its newline. */
function echoOf(id: number | string, bytes: number): object {
  const call = (text: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text } },
  });
  return call('x'.repeat(bytes - JSON.stringify(call('')).length));
}

test('a call over the limit gets its one error, and the connection and the calls under way live on', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const events: string[] = [];
  for (const event of ['lost', 'resumed', 'closed'] as const) transport.on(event, () => events.push(event));
  const client = new Client(INFO);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  const held = client.callTool({ name: 'hold' });
  const long = client.callTool({ name: 'echo', arguments: { text: 'x'.repeat(MOST) } });
  await expect(long).rejects.toMatchObject({
    code: -32600,
    message: expect.stringMatching(/The message has \d+ bytes, and the bridge takes at most 65536; it was not sent/),
    data: { code: 'MESSAGE_TOO_LARGE', hint: expect.stringContaining('limits.maxMessageBytes') },
  });
  expect(await client.callTool({ name: 'echo', arguments: { text: 'small' } })).toMatchObject({
    content: [{ text: 'small' }],
  });
  await client.callTool({ name: 'release' });
  expect(await held).toMatchObject({ content: [{ text: 'released' }] });
  expect([events, errors]).toEqual([[], []]);
  expect((await daemon.status()).counters).toMatchObject({ oversizedFrames: 0, clientsCutOff: 0, sessionsResumed: 0 });
  await client.close();
  await daemon.stop();
});

test('a notification over the limit is told to whoever hears of errors, and nothing ends', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const client = new Client(INFO);
  const told = new Promise<Error>((resolve) => {
    client.onerror = resolve;
  });
  await client.connect(transport);
  const params = { progressToken: 1, progress: 1, message: 'x'.repeat(MOST) };
  await client.notification({ method: 'notifications/progress', params });
  expect((await told).message).toContain('MESSAGE_TOO_LARGE');
  expect(await client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ content: [{ text: 'x' }] });
  expect((await daemon.status()).counters).toMatchObject({ oversizedFrames: 0, clientsCutOff: 0 });
  await client.close();
  await daemon.stop();
});

test('an answer over the limit becomes an error for the server that has asked', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const transport = new BridgeTransport({ socketPath: daemon.path, autostart: false });
  const client = new Client(INFO, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { text: 'x'.repeat(MOST) } }));
  await client.connect(transport);
  const { content } = (await client.request(
    {
      method: 'tools/call',
      params: {
        name: 'ask',
        arguments: { params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } },
      },
    },
    ResultSchema,
  )) as { content: { text: string }[] };
  expect(JSON.parse(content[0]?.text ?? '')).toMatchObject({ code: -32600, data: { code: 'MESSAGE_TOO_LARGE' } });
  expect(await client.callTool({ name: 'echo', arguments: { text: 'x' } })).toMatchObject({ content: [{ text: 'x' }] });
  expect((await daemon.status()).counters).toMatchObject({ oversizedFrames: 0, clientsCutOff: 0 });
  await client.close();
  await daemon.stop();
});

test('connect: the longest message that the daemon takes passes, and one byte more is refused', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const child = spawn(process.execPath, [PROGRAM, 'connect', '--no-autostart', '--mcp-bridge-socket', daemon.path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const client = new RawClient(child.stdout, child.stdin);
  await client.initialize();
  client.send(echoOf('fits', MOST));
  expect(textOf(await client.answerTo('fits'))).toMatch(/^x{65000}/);
  client.send(echoOf('over', MOST + 1));
  expect((await client.answerTo('over')).error).toMatchObject({
    message: 'The message has 65537 bytes, and the bridge takes at most 65536; it was not sent',
    data: { code: 'MESSAGE_TOO_LARGE' },
  });
  // Not even JSON, so nobody can say whose error it is; as the daemon itself answers it.
  client.send(`{"id":1,${'x'.repeat(MOST)}`);
  expect(await client.next()).toMatchObject({ id: null, error: { code: -32600, data: { code: 'MESSAGE_TOO_LARGE' } } });
  expect(textOf(await client.callTool(2, 'echo', { text: 'x' }))).toBe('x');
  expect((await daemon.status()).counters).toMatchObject({ oversizedFrames: 0, clientsCutOff: 0, sessionsResumed: 0 });
  client.end();
  expect(await exited).toBe(0);
  await daemon.stop();
});

test('connect: a request sent before the limit is known gets exactly one answer, and the client goes on', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const child = spawn(process.execPath, [PROGRAM, 'connect', '--no-autostart', '--mcp-bridge-socket', daemon.path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const client = new RawClient(child.stdout, child.stdin);
  client.send({
    jsonrpc: '2.0',
    id: 'init',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO },
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  client.send(echoOf('over', MOST + 1));
  client.send(echoOf('behind', 200));
  const codes = new Map<unknown, unknown>();
  while (!codes.has('over') || !codes.has('behind')) {
    const { id, error } = await client.next();
    if (id === 'over' || id === 'behind') codes.set(id, error?.data?.code);
  }
  // The daemon has ended the session for the first, and what it had read by then it alone knows.
  expect(Object.fromEntries(codes)).toEqual({ over: 'OUTCOME_UNKNOWN', behind: 'OUTCOME_UNKNOWN' });
  client.send(echoOf('again', MOST + 1));
  expect((await client.answerTo('again')).error?.data).toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  expect(textOf(await client.callTool(2, 'echo', { text: 'x' }))).toBe('x');
  expect(client.lines.filter((line) => /"(?:over|behind)"/.test(line))).toHaveLength(2);
  client.end();
  expect(await exited).toBe(0);
  await daemon.stop();
});
