import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBridgeSocket } from '../../../src/client/bridge-socket.ts';
import { ToolClient } from '../../../src/client/tool-client.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

interface Sent {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
  readonly result?: unknown;
}

type Says = (line: string) => void;

/** A client of a daemon that welcomes it, and then does with each message what the test says. */
async function clientOf(hears: (message: Sent, say: Says, socket: Socket) => void): Promise<ToolClient> {
  const path = join(temporaryDir(), 's');
  const server = createServer((socket) => {
    const say: Says = (line) => socket.write(`${line}\n`);
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line) as Sent;
      if (message.method === 'initialize') say(`{"jsonrpc":"2.0","id":${message.id},"result":{}}`);
      else if (message.method !== 'notifications/initialized') hears(message, say, socket);
    });
  }).listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  const client = await ToolClient.open(await openBridgeSocket(path), { version: '0', cwd: '/' });
  onTestFinished(async () => {
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  });
  return client;
}

describe('a call', () => {
  test('gives back the bytes of its result', async () => {
    const result = '{"n" : 12345678901234567890,"m":1.10}';
    const client = await clientOf(({ id }, say) => say(`{"result":${result},"jsonrpc":"2.0","id":${id}}`));
    const answer = await client.callTool('t', '{}');
    expect(answer.text()).toBe(result);
    expect(answer.result).toEqual({ n: 12345678901234567000, m: 1.1 });
  });

  test('gets its own progress and no other', async () => {
    const client = await clientOf(({ id, params }, say) => {
      const { progressToken } = (params?._meta ?? {}) as { progressToken: number };
      for (const token of [progressToken, progressToken + 1, '"x"', null])
        say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":"?"}}`);
      say(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    });
    const heard: unknown[] = [];
    await client.callTool('t', '{}', { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual([{ progress: undefined, total: undefined, message: '' }]);
  });

  test('answers a ping, and refuses every other question', async () => {
    const answers: Sent[] = [];
    const client = await clientOf((message, say) => {
      if (message.method === undefined) answers.push(message);
      else
        for (const [id, method] of ['ping', 'roots/list', 'sampling/createMessage'].entries())
          say(JSON.stringify({ jsonrpc: '2.0', id: `q${id}`, method }));
      if (answers.length === 3) say('{"jsonrpc":"2.0","id":2,"result":{}}');
    });
    await client.callTool('t', '{}');
    expect(answers).toMatchObject([
      { id: 'q0', result: {} },
      ...['q1', 'q2'].map((id) => ({ id, error: { code: -32601 } })),
    ]);
  });

  test('that was given up is cancelled, and its late answer is dropped', async () => {
    const cancelled = new AbortController();
    const client = await clientOf(({ id, method, params }, say) => {
      if (method === 'notifications/cancelled') say(`{"jsonrpc":"2.0","id":${params?.requestId},"result":{}}`);
      else if (params?.name === 'slow') cancelled.abort('enough');
      else say(`{"jsonrpc":"2.0","id":${id},"result":{"is":"mine"}}`);
    });
    await expect(client.callTool('slow', '{}', { signal: cancelled.signal })).rejects.toBe('enough');
    await expect(client.callTool('slow', '{}', { signal: cancelled.signal })).rejects.toBe('enough');
    expect((await client.callTool('quick', '{}')).result).toEqual({ is: 'mine' });
  });

  test.each([
    ['an error with a hint', '{"code":1,"message":"No","data":{"hint":"Do"}}', { message: 'No', hint: 'Do' }],
    ['an error with a strange hint', '{"code":1,"message":"No","data":{"hint":1}}', { message: 'No', hint: undefined }],
    ['an error of nothing', '7', { message: 'It failed, and nothing was said of why' }],
  ])('fails with %s', async (_, error, expected) => {
    const client = await clientOf(({ id }, say) => say(`{"jsonrpc":"2.0","id":${id},"error":${error}}`));
    await expect(client.callTool('t', '{}')).rejects.toMatchObject({ code: 'REQUEST_REFUSED', ...expected });
  });

  test.each([
    ['an answer that is no JSON', 'x'],
    ['an error that belongs to no request', '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"Too long"}}'],
  ])('fails with %s', async (_, line) => {
    const client = await clientOf((_, say) => say(line));
    await expect(client.callTool('t', '{}')).rejects.toMatchObject({ name: 'BridgeError' });
  });

  test('fails when the connection ends, and so do those after it', async () => {
    const client = await clientOf((_, __, socket) => socket.destroy());
    const lost = { code: 'DAEMON_NOT_RUNNING' };
    await expect(client.callTool('t', '{}')).rejects.toMatchObject(lost);
    await expect(client.callTool('t', '{}')).rejects.toMatchObject(lost);
  });
});
