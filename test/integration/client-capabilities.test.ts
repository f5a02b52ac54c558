// What a client says of itself reaches servers, as it does without the bridge.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type Message, RawClient } from '../support/raw-client.ts';
import { cleanUp, ROOT, TestDaemon } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

const PROGRAM = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const ABLE = {
  ...{ roots: { listChanged: true }, sampling: {}, elicitation: {} },
  tasks: { cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

/** The names of its tools, once the one is there that it registers last. */
async function toolsOf(client: RawClient, last: string): Promise<string[]> {
  for (let id = 0; ; id++) {
    const { result } = await client.request(`list-${id}`, 'tools/list');
    const names = ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name).sort();
    if (names.includes(last)) return names;
  }
}

async function able(client: RawClient): Promise<RawClient> {
  client.answerQuestions(({ method }) => (method === 'roots/list' ? { result: { roots: [] } } : undefined));
  await client.initialize(undefined, 'init', ABLE);
  return client;
}

test('a server offers a client the tools that it offers without the bridge', async () => {
  const last = 'trigger-sampling-request-async';
  const direct = spawn(process.execPath, [PROGRAM, 'stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const expected = await toolsOf(await able(new RawClient(direct.stdout, direct.stdin)), last);
  direct.kill();
  const daemon = await TestDaemon.start({
    mcpServers: { every: { command: process.execPath, args: [PROGRAM, 'stdio'] } },
  });
  const client = await able(await daemon.connect());
  expect(await toolsOf(client, last)).toEqual(expected);
  client.destroy();
  await daemon.stop();
});

const ECHO = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method !== 'initialize') return;
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' }, instructions: JSON.stringify(params.clientInfo) };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });`;

const CODE = { name: 'code', version: '2', title: 'Code' };
const DESK = { name: 'desk', version: '1' };

async function connected(daemon: TestDaemon, server: string, clientInfo: object) {
  const client = await daemon.connect();
  client.clientInfo = clientInfo;
  const { result }: Message = await client.initialize({ 'mcp-bridge/view': `server:${server}` });
  return { client, told: JSON.parse(String(result?.instructions)) as unknown };
}

test('a server is told its client, and goes on as that one’s when others join it', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { s: { command: process.execPath, args: ['-e', ECHO] } } });
  const first = await connected(daemon, 's', CODE);
  const second = await connected(daemon, 's', DESK);
  expect([first.told, second.told]).toEqual([CODE, CODE]);
  for (const { client } of [first, second]) client.destroy();
  await daemon.stop();
});

test('a server with a process per client is told each client, even if another client’s answer was remembered', async () => {
  const own = { command: process.execPath, args: ['-e', ECHO], sharing: 'dedicated' };
  const daemon = await TestDaemon.start({ mcpServers: { own } });
  for (const clientInfo of [CODE, DESK, CODE, { ...CODE, version: '3' }]) {
    const { client, told } = await connected(daemon, 'own', clientInfo);
    expect(told).toEqual(clientInfo);
    client.destroy();
    await client.untilClosed();
  }
  await daemon.stop();
});
