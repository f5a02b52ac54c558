// The transport of a server that dials in: its options, and it with daemons that take it, refuse it for now, or refuse it for good.

import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BridgeServerTransport } from '../../../src/client/server-transport.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { keepUncaughtErrors } from '../../support/uncaught-errors.ts';

const TAKEN = { result: { _meta: { 'mcp-bridge/serverState': 'offered' } } };
const WRONG = { error: { code: -32602, message: 'That is no name' } };
const FOR_NOW = [
  { error: { code: -32603, message: 'The bridge is shutting down', data: { code: 'SHUTTING_DOWN' } } },
  { error: { code: -32603, message: 'A server ide is connected already', data: { code: 'SERVER_EXISTS' } } },
  { id: null, error: { code: -32603, message: 'The bridge has 9 clients already (limits.maxClients)' } },
];

let daemon: Server;
let path: string;
let answers: (object | string)[];
const connected: Socket[] = [];

beforeEach(async () => {
  path = join(temporaryDir(), 's');
  daemon = createServer((socket) => {
    connected.push(socket);
    createInterface(socket).once('line', (line) => {
      const { id } = JSON.parse(line) as { id: string };
      const answer = answers.shift() ?? WRONG;
      socket.write(typeof answer === 'string' ? answer : `${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
    });
  });
  await new Promise<void>((resolve) => daemon.listen(path, resolve));
});

afterEach(async () => {
  for (const socket of connected.splice(0)) socket.destroy();
  await new Promise((resolve) => daemon.close(resolve));
});

test('it comes back through refusals that are over in a moment, and gives up at one for good', async () => {
  answers = [TAKEN, ...FOR_NOW, TAKEN];
  const states: string[] = [];
  const errors: Error[] = [];
  let came: () => void = () => undefined;
  const transport = new BridgeServerTransport({
    ...{ name: 'ide', socketPath: path, reconnect: { initialDelayMs: 1, maxDelayMs: 1 } },
    onState: (state) => {
      states.push(state);
      if (states.length === 3) came();
    },
  });
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  transport.onerror = (error) => errors.push(error);
  const isBack = new Promise<void>((resolve) => {
    came = resolve;
  });
  await transport.start();
  connected[0]?.destroy();
  await Promise.race([isBack, closed]);
  expect(states).toEqual(['offered', 'lost', 'offered']);
  expect(errors).toEqual([]);
  connected.at(-1)?.destroy();
  await closed;
  expect(errors).toMatchObject([{ code: 'REQUEST_REFUSED', message: 'That is no name' }]);
});

test('a peer that is no bridge is refused, and no connection stays open', async () => {
  answers = ['SSH-2.0-OpenSSH\n'];
  const closed = new Promise((resolve) =>
    daemon.once('connection', (socket: Socket) => void socket.once('close', resolve)),
  );
  const transport = new BridgeServerTransport({ name: 'ide', socketPath: path });
  await expect(transport.start()).rejects.toMatchObject({
    code: 'SOCKET_UNUSABLE',
    message: `What answers at ${path} is no mcp-bridge`,
  });
  await closed;
});

test('an invalid message is dropped, and does not harm the next one', async () => {
  answers = [TAKEN];
  const transport = new BridgeServerTransport({ name: 'ide', socketPath: path });
  const message = new Promise((resolve) => {
    transport.onmessage = resolve;
  });
  await transport.start();
  connected[0]?.write('no message\n{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n');
  expect(await message).toEqual({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  await transport.close();
});

test('listeners that throw change nothing: it comes back, and their errors are uncaught ones', async () => {
  const uncaught = keepUncaughtErrors();
  answers = [TAKEN, TAKEN];
  const told: string[] = [];
  let came: () => void = () => undefined;
  const fail = (what: string): never => {
    told.push(what);
    came();
    throw new Error(what);
  };
  const until = (what: string): Promise<void> =>
    new Promise((resolve) => {
      came = () => told.at(-1) === what && resolve();
    });
  const transport = new BridgeServerTransport({
    ...{ name: 'ide', socketPath: path, reconnect: { initialDelayMs: 1, maxDelayMs: 1 } },
    onState: fail,
  });
  transport.onmessage = () => fail('message');
  transport.onerror = () => fail('error');
  transport.onclose = () => fail('closed');
  await transport.start();
  const hasFailed = until('error');
  connected[0]?.write('{"jsonrpc":"2.0","method":"notifications/x"}\n');
  await hasFailed;
  const isBack = until('offered');
  connected[0]?.destroy();
  await isBack;
  const isClosed = until('closed');
  connected.at(-1)?.destroy();
  await isClosed;
  await new Promise(setImmediate);
  expect(told).toEqual(['offered', 'message', 'error', 'lost', 'offered', 'lost', 'error', 'closed']);
  // What a message has failed with is told to onerror, and is caught with that.
  expect(uncaught).toEqual(told.filter((what) => what !== 'message'));
});

test.each<[unknown, string]>([
  [undefined, 'BridgeServerTransport must be given an object, not undefined'],
  ['ide', 'BridgeServerTransport must be given an object, not string'],
  [{}, 'BridgeServerTransport needs the option name'],
  [{ name: 5 }, 'The option name must be a string, not number'],
  [{ name: 'ide', view: 'all' }, 'BridgeServerTransport has no option view'],
  [{ name: 'ide', socketPath: 5 }, 'The option socketPath must be a string, not number'],
  [{ name: 'ide', onState: 'told' }, 'The option onState must be a function, not string'],
  [{ name: 'ide', reconnect: null }, 'reconnect must be an object'],
  [{ name: 'ide', reconnect: { attempts: 3 } }, 'reconnect has no option attempts'],
  [
    { name: 'ide', reconnect: { maxAttempts: 0 } },
    'reconnect.maxAttempts must be a whole number from 1 to 10000, and is 0',
  ],
])('options %j', (options, message) => {
  expect(() => new BridgeServerTransport(options as { name: string })).toThrow(
    expect.objectContaining({ code: 'USAGE', message }),
  );
});
