// Clients that speak to each other through a real daemon: the SDK's, bare sockets, and the command.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { messageTo, senderOf } from '../../src/client/client-messages.ts';
import { runCommand } from '../support/command.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { SocketTransport } from '../support/socket-transport.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const Review = z.object({
  method: z.literal('review/start'),
  params: z.object({ branch: z.string(), _meta: z.looseObject({ 'mcp-bridge/from': z.string() }) }),
});
const Verdict = z.looseObject({ verdict: z.string(), askedBy: z.string() });
const Poke = z.object({ method: z.literal('myapp/poke'), params: z.looseObject({}) });

const CONFIG = { mcpServers: { fixture: fixtureServer() }, client: { view: 'server:fixture' } };

/** The SDK has no option for `_meta` of `initialize`: what goes out is given it on the way. */
async function sdkClient(daemon: TestDaemon, clientId: string, accepts: unknown): Promise<Client> {
  const client = new Client({ name: clientId, version: '1' });
  const transport = new SocketTransport(daemon.path);
  const send = transport.send.bind(transport);
  transport.send = (message: unknown) => {
    const request = message as { method?: string; params?: object };
    const _meta = { 'mcp-bridge/clientId': clientId, 'mcp-bridge/accepts': accepts };
    return send(request.method === 'initialize' ? { ...request, params: { ...request.params, _meta } } : message);
  };
  client.setRequestHandler(Review, ({ params }) => ({
    verdict: `${clientId} has read ${params.branch}`,
    askedBy: senderOf(params),
  }));
  await client.connect(transport as unknown as Transport);
  return client;
}

test('two clients of the SDK ask each other, and beside that use the same server', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const one = await sdkClient(daemon, 'one', ['review/start', 'myapp/poke']);
  const two = await sdkClient(daemon, 'two', ['review/*']);
  const ask = (from: Client, to: string, branch: string) =>
    from.request(messageTo(to, 'review/start', { branch }), Verdict);
  const [forth, back, called] = await Promise.all([
    ask(one, 'two', 'main'),
    ask(two, 'one', 'topic'),
    one.callTool({ name: 'echo', arguments: { text: 'x' } }),
  ]);
  expect(forth).toEqual({ verdict: 'two has read main', askedBy: 'one' });
  expect(back).toEqual({ verdict: 'one has read topic', askedBy: 'two' });
  expect(called.content).toEqual([{ type: 'text', text: 'x' }]);

  const poked = new Promise((resolve) => one.setNotificationHandler(Poke, ({ params }) => resolve(params)));
  await two.request(messageTo('one', 'myapp/poke', { softly: true }, { notify: true }), EmptyResultSchema);
  expect(await poked).toMatchObject({ softly: true, _meta: { 'mcp-bridge/from': 'two' } });

  // What nobody handles is answered by the receiver's SDK, and what is not accepted by the bridge.
  const asked = two.request(messageTo('two', 'review/x'), Verdict);
  await expect(asked).rejects.toThrow('A client cannot send a message to itself');
  const other = one.request(messageTo('two', 'review/other'), Verdict);
  await expect(other).rejects.toMatchObject({ code: -32601 });
  await one.close();
  await two.close();
  await daemon.stop();
});

test('two clients of the SDK that hand a message to each other for ever are stopped by the number of hops', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const [one, two] = [await sdkClient(daemon, 'one', ['review/*']), await sdkClient(daemon, 'two', ['review/*'])];
  let handed = 0;
  for (const [client, other] of [
    [one, 'two'],
    [two, 'one'],
  ] as const)
    client.setRequestHandler(Review, ({ params }) => {
      handed++;
      return client.request(messageTo(other, 'review/start', { branch: 'x' }, { causedBy: params }), Verdict);
    });
  const asked = one.request(messageTo('two', 'review/start', { branch: 'x' }), Verdict);
  await expect(asked).rejects.toThrow('passed on 8 times already');
  expect(handed).toBe(8);
  await one.close();
  await two.close();
  await daemon.stop();
});

test('500 requests between 20 clients get their own answers', async () => {
  const daemon = await TestDaemon.start({ ...CONFIG, agents: { maxPerSecond: 10_000 } });
  const clients = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      daemon.client({ 'mcp-bridge/clientId': `c${n}`, 'mcp-bridge/accepts': ['sum'] }),
    ),
  );
  for (const client of clients)
    client.answerQuestions(({ method, params }) =>
      method === 'sum' ? { result: { sum: Number(params?.a) + Number(params?.b) } } : undefined,
    );
  await Promise.all(
    clients.map(async (client, n) => {
      for (let k = 0; k < 25; k++) {
        const to = `c${(n + 1 + (k % 19)) % 20}`;
        const answer = await client.request(k, 'bridge/send', { to, method: 'sum', params: { a: n, b: k } });
        expect(answer.result).toEqual({ sum: n + k });
      }
    }),
  );
  expect((await daemon.status()).counters).toMatchObject({ messages: 500, messagesRefused: 0, strayResponses: 0 });
  for (const client of clients) client.destroy();
  await daemon.stop();
});

test('a client that is killed while it is asked, and one whose message is too long, disturb no other client', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const [a, b, bystander] = await Promise.all(
    ['a', 'b', 'bystander'].map((clientId) =>
      daemon.client({ 'mcp-bridge/clientId': clientId, 'mcp-bridge/accepts': true }),
    ),
  );
  const [sender, receiver, other] = [a, b, bystander] as [RawClient, RawClient, RawClient];
  const pending = sender.request(1, 'bridge/send', { to: 'b', method: 'x/y' });
  await receiver.next();
  receiver.destroy();
  expect((await pending).error?.data).toMatchObject({ code: 'CLIENT_GONE' });

  const large = { to: 'bystander', method: 'x/y', params: { text: 'x'.repeat(2 * 1024 * 1024) } };
  expect((await sender.request(2, 'bridge/send', large)).error?.data).toMatchObject({ code: 'MESSAGE_TOO_LARGE' });

  // Ten megabytes are more than any message may have: nobody can say whose answer is owed then.
  sender.send({
    jsonrpc: '2.0',
    id: 3,
    method: 'bridge/send',
    params: { to: 'bystander', method: 'x/y', params: { text: 'x'.repeat(10 * 1024 * 1024) } },
  });
  const refused = await sender.next();
  expect(refused).toMatchObject({ id: null, error: { message: 'A message may have at most 8388608 bytes' } });
  await sender.untilClosed();
  expect(textOf(await other.callTool(1, 'echo', { text: 'still here' }))).toBe('still here');
  expect(other.lines.filter((line) => line.includes('x/y'))).toEqual([]);
  other.destroy();
  await daemon.stop();
});

describe('mcp-bridge send', () => {
  test('asks a client, tells it something, and leaves it a letter', async () => {
    const daemon = await TestDaemon.start({ ...CONFIG, agents: { enabled: true } });
    const client = await daemon.client({
      'mcp-bridge/clientId': 'worker',
      'mcp-bridge/accepts': ['work/*'],
      'mcp-bridge/view': 'discover',
    });
    client.answerQuestions(({ method, params }) =>
      method === 'work/do' ? { result: { did: params?.what, times: params?.times, n: 1 } } : undefined,
    );
    const run = (...args: string[]) => runCommand(['send', '--mcp-bridge-socket', daemon.path, ...args]);

    expect(await run('worker', 'work/do', 'what=sweep', 'times=2')).toEqual({
      code: 0,
      stdout: '{"did":"sweep","times":2,"n":1}\n',
      stderr: '',
    });
    const params = '{"what":"x","times":12345678901234567890}';
    expect((await run('worker', 'work/do', '--params', params)).stdout).toBe(
      '{"did":"x","times":12345678901234567000,"n":1}\n',
    );
    expect((await run('worker', 'work/note', 'k=v', '--notify')).stdout).toBe('It is on its way\n');
    expect(await client.next()).toMatchObject({
      method: 'work/note',
      params: { k: 'v', _meta: { 'mcp-bridge/from': 'mcp-bridge-cli' } },
    });
    expect((await run('worker', '--message', 'Good morning')).stdout).toBe('It is in the mailbox, as m-1\n');
    const read = await client.callTool(9, 'read_messages');
    expect(JSON.parse(textOf(read))).toMatchObject({ messages: [{ id: 'm-1', text: 'Good morning' }] });

    const clients = await runCommand(['clients', '--mcp-bridge-socket', daemon.path]);
    expect(clients.stdout).toMatch(/worker +raw 1 +discover +ready .* work\/\*, messages/);
    client.destroy();
    await daemon.stop();
  });

  test('says that letters need a setting, and that one which was set since waits for a restart', async () => {
    const daemon = await TestDaemon.start(CONFIG);
    const client = await daemon.client({ 'mcp-bridge/clientId': 'worker' });
    const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path]);
    const refused = 'mcp-bridge: The client worker has no mailbox. ';
    expect((await run('send', 'worker', '--message', 'x')).stderr).toBe(
      `${refused}Mailboxes need agents.enabled in the config file. Then: mcp-bridge restart\n`,
    );
    writeFileSync(join(daemon.dir, 'config.json'), JSON.stringify({ ...CONFIG, agents: { enabled: true } }));
    await run('reload');
    expect((await run('send', 'worker', '--message', 'x')).stderr).toBe(
      `${refused}agents.enabled is set, but the daemon runs without it until it is restarted. mcp-bridge restart\n`,
    );
    client.destroy();
    await daemon.stop();
  });

  test('says what is wrong', async () => {
    const daemon = await TestDaemon.start(CONFIG);
    const client = await daemon.client({ 'mcp-bridge/clientId': 'worker', 'mcp-bridge/accepts': ['work/*'] });
    const run = (...args: string[]) => runCommand(['send', '--mcp-bridge-socket', daemon.path, ...args]);
    const failures: [string[], number, string][] = [
      [['workr', 'work/do'], 1, 'There is no client "workr". Did you mean worker?'],
      [['nobody', 'x/y'], 1, 'There is no client "nobody". To see who is connected: mcp-bridge clients\n'],
      [['nobody', '--message', 'x'], 1, 'To see who is connected: mcp-bridge clients\n'],
      [['mcp-bridge-cli', 'x/y'], 1, 'a message to itself. That is the name of this command. To see who is connected:'],
      [['worker', 'tools/call'], 1, 'is a method of MCP or of the bridge'],
      [['worker', 'play'], 1, 'does not accept "play". To see what each client accepts: mcp-bridge clients\n'],
      [['worker', '--message', 'x'], 1, 'has no mailbox. Mailboxes need agents.enabled in the config file. Then: mcp-'],
      [['worker', 'work/do', '--timeout', '50'], 1, 'There was no answer within 50 ms'],
      [['worker', 'work/do', '--timeout', '0.05s'], 1, 'There was no answer within 50 ms'],
      [['worker', 'work/do', '--timeout', 'soon'], 2, '--timeout is "soon"; it is a time such as 500ms, 2s or 5m'],
      [['worker', 'work/do', 'what'], 2, '"what" is no argument. Arguments are KEY=VALUE, or KEY:=JSON.'],
      [['worker', 'work/do', 'a=1', 'a=2'], 2, 'a is given more than once. See: mcp-bridge send --help'],
      [['worker', 'work/do', 'a:={'], 2, 'a:= must be followed by JSON: Expected'],
      [['worker', 'work/do', '--params', '{bad'], 2, '--params must be a JSON object: Expected'],
      [['worker', 'work/do', '--params', '{bad'], 2, 'See: mcp-bridge send --help'],
      [['worker'], 2, 'Name a method, or give a text with --message'],
      [['worker', 'work/do', '--message', 'x'], 2, '--message goes into a mailbox'],
      [['worker', 'work/do', '--params', '[1]'], 2, '--params must be a JSON object'],
      [[], 2, 'Name a client: mcp-bridge send CLIENT METHOD'],
    ];
    client.answerQuestions(({ method }) =>
      method === 'work/fail'
        ? { error: { code: -1, message: 'I failed.', data: { code: 'TOO_TIRED', hint: 'Tomorrow.' } } }
        : undefined,
    );
    expect(await run('worker', 'work/fail')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'mcp-bridge: Client worker answered with an error: I failed. Tomorrow.\n',
    });
    for (const [args, code, text] of failures) {
      const result = await run(...args);
      expect([result.code, result.stdout]).toEqual([code, '']);
      expect(result.stderr).toContain(text);
    }
    client.destroy();
    await daemon.stop();
    expect(await run('worker', 'work/do')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No mcp-bridge runs') as string,
    });
  });

  test('says that the outcome is unknown when the daemon dies', async () => {
    const daemon = await TestDaemon.start(CONFIG);
    const client = await daemon.client({ 'mcp-bridge/clientId': 'worker', 'mcp-bridge/accepts': true });
    const sent = runCommand(['send', '--mcp-bridge-socket', daemon.path, 'worker', 'work/do']);
    expect(await client.next()).toMatchObject({ method: 'work/do' });
    daemon.kill('SIGKILL');
    expect(await sent).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'mcp-bridge: The daemon went away while this call was under way; whether it was done is not known. ' +
        'Look at what it was to change before it is called again. What has become of the daemon: mcp-bridge status\n',
    });
    await daemon.exited;
    client.destroy();
  });
});
