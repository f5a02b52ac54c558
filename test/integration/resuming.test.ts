// Real sockets that break while calls are under way: whoever comes back has lost nothing.

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { ResumingClient, wireOverSocket } from '../support/resuming-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

let daemon: TestDaemon;
const LIMITS = { maxResumeBytesPerClient: 4 << 20 };

beforeEach(async () => {
  daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() }, limits: LIMITS });
});
afterEach(async () => {
  await daemon.stop();
});

const ready = async (): Promise<ResumingClient> => ResumingClient.ready(await wireOverSocket(daemon.path));
const comeBack = async (client: ResumingClient): Promise<unknown> => {
  const { error } = await client.resume(await wireOverSocket(daemon.path));
  return error?.data?.code;
};
const untilParked = (count: number) => daemon.until(({ parked }) => parked === count);
const notify = (method: string, params: object): object => ({ method, params });

describe('a connection that drops', () => {
  test('loses neither results, nor progress, nor updates, nor log messages, and brings each once and in order', async () => {
    const [client, other] = [await ready(), await daemon.client()];
    client.say({ jsonrpc: '2.0', id: 's', method: 'resources/subscribe', params: { uri: 'x://1' } });
    client.say({ jsonrpc: '2.0', id: 'l', method: 'logging/setLevel', params: { level: 'info' } });
    await client.answerTo('s');
    client.call(1, 'hold', { steps: 3 }, { progressToken: 'p' });
    client.call(2, 'hold');
    await client.until(() => client.notices('notifications/progress').length === 3);
    client.drop();
    await untilParked(1);
    const control = await daemon.client({ 'mcp-bridge/role': 'control' });
    const { result } = await control.request(1, 'bridge/connections');
    expect(result).toContainEqual(expect.objectContaining({ name: 'resuming', state: 'parked', inFlight: 2 }));
    control.destroy();
    for (let n = 1; n <= 3; n++) {
      await other.callTool(n, 'notify', notify('notifications/resources/updated', { uri: 'x://1', n }));
      await other.callTool(n, 'notify', notify('notifications/message', { level: 'info', data: n }));
    }
    await other.callTool('r', 'release');
    client.call(3, 'echo', { text: 'said while away' });
    expect(await comeBack(client)).toBeUndefined();
    expect(textOf(await client.answerTo(3))).toBe('said while away');
    const seen = client.messages.map(({ id, method, params }) =>
      method === undefined
        ? id
        : `${method.split('/').at(-1)} ${String(params?.progress ?? params?.n ?? params?.data)}`,
    );
    expect(seen).toEqual([
      ...['s', 'l', 'progress 1', 'progress 2', 'progress 3'],
      ...['updated 1', 'message 1', 'updated 2', 'message 2', 'updated 3', 'message 3', 1, 2, 3],
    ]);
    const { counters, parked } = await daemon.status();
    expect(counters).toMatchObject({ sessionsResumed: 1, cancelled: 0, strayResponses: 0, strayProgress: 0 });
    expect(parked).toBe(0);
    client.drop();
    other.destroy();
  });

  test('in the middle of an answer of 1 MiB has it sent again, whole', async () => {
    const client = await ready();
    const wire = await wireOverSocket(daemon.path);
    await client.resume(wire);
    wire.client.stopReading();
    client.call(1, 'blob', { mib: 1 });
    const other = await daemon.client();
    await other.callTool(1, 'echo', { text: 'behind it' }); // so the answer is on its way, and stuck
    client.drop();
    await untilParked(1);
    expect(await comeBack(client)).toBeUndefined();
    expect(textOf(await client.answerTo(1))).toBe('x'.repeat(1 << 20));
    expect(client.answersTo(1)).toHaveLength(1);
    other.destroy();
    client.drop();
  });

  test('unnoticed by the bridge gives its session to the next one', async () => {
    const client = await ready();
    const { wire: first } = client;
    client.call(1, 'hold');
    client.call(2, 'echo', { text: 'x' });
    await client.answerTo(2);
    expect(await comeBack(client)).toBeUndefined();
    while (!(first as Awaited<ReturnType<typeof wireOverSocket>>).client.isClosed) await client.wire.settle();
    client.call(3, 'release');
    await client.answerTo(3);
    expect(client.messages.map(({ id }) => id)).toEqual([2, 1, 3]);
    expect((await daemon.status()).clients).toBe(1);
    client.drop();
  });

  test('ends the session if more comes than is kept: its calls are cancelled, and the daemon stays small', async () => {
    const client = await ready();
    const other = await daemon.client();
    client.call(1, 'hold');
    client.call(2, 'echo', { text: 'x' });
    await client.answerTo(2);
    client.drop();
    await untilParked(1);
    const data = 'x'.repeat(1 << 20);
    for (let n = 0; n < 10; n++)
      await other.callTool(n, 'notify', notify('notifications/message', { level: 'error', data }));
    const { parked, counters } = await daemon.status();
    expect([parked, counters.sessionsNotKept, counters.cancelled]).toEqual([0, 1, 1]);
    expect(await comeBack(client)).toBe('RESUME_REFUSED');
    await client.shakeHands();
    client.call(1, 'echo', { text: 'anew' });
    await client.until(() => client.answersTo(1).length > 0);
    client.drop();
    other.destroy();
  });

  test('costs little: a thousand waiting sessions with 20 KiB each stay within the limit', async () => {
    const SESSIONS = 1000;
    const clients = await Promise.all(Array.from({ length: SESSIONS }, ready));
    const other = await daemon.client();
    await other.callTool('w', 'echo', { text: 'warm' });
    const before = memoryOf(daemon.pid);
    for (const client of clients) client.drop();
    await untilParked(SESSIONS);
    const data = 'x'.repeat(1000);
    for (let n = 0; n < 20; n++)
      await other.callTool(n, 'notify', notify('notifications/message', { level: 'error', data }));
    const { clients: count, parkedBytes } = await untilParked(SESSIONS);
    expect(count).toBe(SESSIONS + 1);
    expect(parkedBytes).toBeGreaterThan(SESSIONS * 20_000);
    expect(parkedBytes).toBeLessThan(SESSIONS * 24_000);
    const grown = memoryOf(daemon.pid) - before;
    process.stdout.write(`a thousand parked sessions with 20 KiB each: ${Math.round(grown / 1024)} KiB more\n`);
    expect(grown).toBeLessThan(64 << 20); // limits.maxParkedBytes
    await Promise.all(clients.map(comeBack));
    for (const client of clients) await client.until(() => client.notices('notifications/message').length === 20);
    expect((await daemon.status()).counters).toMatchObject({ sessionsResumed: SESSIONS, sessionsNotKept: 0 });
    for (const client of clients) client.wire.drop();
    other.destroy();
  });
});

function memoryOf(pid: number): number {
  const kib = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}
