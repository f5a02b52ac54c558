// Neighbours that behave badly: servers that half-die, clients that do not read, a log that nobody takes. The daemon
// goes on, in bounded memory, and everyone else is served.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const ONE = { mcpServers: { fixture: fixtureServer() } };

function mostMiB(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe('a server', () => {
  test('for which there are no descriptors left fails its start, and nothing else', async () => {
    const dir = tempDir();
    const mcpServers = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`s${n}`, fixtureServer({ N: `${n}` })]),
    );
    const limited = await TestDaemon.start({ mcpServers }, { dir, descriptors: 64 });
    const clients = await Promise.all(Array.from({ length: 26 }, () => limited.connect()));
    const answers = [];
    for (const [n, client] of clients.entries()) {
      const answer = await client.initialize({ 'mcp-bridge/view': `server:s${n}` });
      answers.push(answer.result === undefined ? answer.error?.data?.code : 'served');
    }
    expect(new Set(answers)).toEqual(new Set(['served', 'SERVER_START_FAILED']));
    const served = clients[answers.indexOf('served')] as RawClient;
    expect(textOf(await served.callTool(1, 'echo', { text: 'still here' }))).toBe('still here');
    for (const client of clients) client.destroy();
    await limited.stop();
  });

  test('that answers after its time is not taken for the one that was started in its place', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer({ FIXTURE_SLOW_START: '700' }) },
      limits: { startTimeoutMs: 500 },
    });
    const client = await daemon.connect();
    expect((await client.initialize()).error?.data?.code).toBe('SERVER_START_FAILED');
    // The second start is under way when the first process answers; it fails in its own time as well.
    expect((await client.initialize()).error?.data?.code).toBe('SERVER_START_FAILED');
    expect((await daemon.status()).instances).toMatchObject([
      { state: 'failed', pid: null, errorCode: 'SERVER_START_FAILED' },
    ]);
    client.destroy();
    await daemon.stop();
  });

  test('that closes its input and lives on counts as gone: its calls end, the next one starts it again', async () => {
    const daemon = await TestDaemon.start(ONE);
    const client = await daemon.client();
    const { pid } = (await daemon.status()).instances[0] ?? {};
    expect(textOf(await client.callTool(1, 'closeInput'))).toBe('closed');
    client.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    const { error, result } = await client.callTool(2, 'echo', { text: 'again' });
    expect(error?.data?.code ?? result?.content).toBeDefined();
    expect(textOf(await client.callTool(3, 'echo', { text: 'again' }))).toBe('again');
    const [instance] = (await daemon.until(({ instances }) => instances[0]?.state === 'ready')).instances;
    expect(instance?.pid).not.toBe(pid);
    client.destroy();
    await daemon.stop();
  });

  test('that reads nothing any more does not make the daemon’s memory grow', async () => {
    const daemon = await TestDaemon.start(ONE);
    const client = await daemon.client();
    await client.callTool(1, 'stopReading');
    const notice = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: { a: 'x'.repeat(1 << 20) } })}\n`;
    const flood = client.write(Buffer.from(notice.repeat(100)));
    const other = await daemon.connect();
    expect((await other.request(1, 'ping')).result).toEqual({});
    await daemon.until(({ counters }) => (counters.requests ?? 0) > 2);
    expect(mostMiB(daemon.pid)).toBeLessThan(128);
    client.destroy();
    other.destroy();
    await flood;
    await daemon.stop();
  });

  test('that dies again and again is left alone for a while, and its clients get the reason', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer({ FIXTURE_EXIT: '9', FIXTURE_STDERR: 'no' }), good: fixtureServer() },
    });
    const client = await daemon.connect();
    const codes = [];
    for (let n = 0; n < 7; n++)
      codes.push((await client.initialize({ 'mcp-bridge/view': 'server:fixture' })).error?.data?.code);
    expect(codes).toEqual([...Array(5).fill('SERVER_START_FAILED'), 'SERVER_BROKEN', 'SERVER_BROKEN']);
    expect((await daemon.status()).instances).toMatchObject([{ state: 'broken' }, { state: 'idle' }]);
    expect((await client.initialize({ 'mcp-bridge/view': 'server:good' })).result).toBeDefined();
    client.destroy();
    await daemon.stop();
  });

  test('that nobody uses any more is stopped, and started again for the next client', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: { ...fixtureServer(), idleMs: 100 } } });
    const client = await daemon.client();
    const before = (await daemon.status()).instances[0]?.pid ?? 0;
    await client.callTool(1, 'slow', { ms: 300 });
    expect((await daemon.status()).instances).toMatchObject([{ state: 'ready', pid: before }]);
    client.destroy();
    await daemon.until(({ instances }) => instances[0]?.state === 'idle');
    await untilGone(before);
    const next = await daemon.client();
    expect(textOf(await next.callTool(1, 'echo', { text: 'back' }))).toBe('back');
    expect((await daemon.status()).counters).toMatchObject({ serverCrashes: 0, serverStarts: 2 });
    next.destroy();
    await daemon.stop();
  });

  test('that does not answer gets a cancellation, and only that call fails', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: { ...fixtureServer(), timeoutMs: 1500 } } });
    const client = await daemon.client();
    expect((await client.callTool(1, 'hold')).error).toMatchObject({ code: -32603, data: { code: 'CALL_TIMED_OUT' } });
    expect(JSON.parse(textOf(await client.callTool(2, 'seen')))).toMatchObject({ cancelled: [expect.any(Number)] });
    client.destroy();
    await daemon.stop();
  });

  test('that answers in an array is understood if it has settled on the revision of batches, and refused if not', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer(), old: fixtureServer({ FIXTURE_VERSION: '2025-03-26' }) },
    });
    const client = await daemon.client({ 'mcp-bridge/view': 'server:fixture' });
    const ofOld = await daemon.client({ 'mcp-bridge/view': 'server:old' });
    expect(textOf(await ofOld.callTool(1, 'batch'))).toBe('in a batch');
    expect((await client.callTool(1, 'batch')).error?.data).toMatchObject({ code: 'SERVER_ANSWER_REFUSED' });
    for (const one of [client, ofOld]) one.destroy();
    await daemon.stop();
  });

  test('that refuses to initialize is quoted, without the values that it was given', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer({ KEY: 'hunter2secret', FIXTURE_REFUSES: 'bad key hunter2secret' }) },
    });
    const client = await daemon.connect();
    const { error } = await client.initialize();
    expect(error?.message).toMatch(/refused to initialize: /);
    expect(JSON.stringify([error, await daemon.status(), daemon.log])).not.toContain('hunter2secret');
    client.destroy();
    await daemon.stop();
  });
});

describe('a client that does not read', () => {
  test.each([
    ['its pings', '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'],
    ['the errors that it gets', 'x\n'],
  ])('%s are not answered without end', async (_, line) => {
    const daemon = await TestDaemon.start({ ...ONE, limits: { maxQueuedBytesPerClient: 1 << 20 } });
    const client = await daemon.client();
    client.stopReading();
    const flood = client.write(Buffer.from(line.repeat(3_000_000)));
    const other = await daemon.client();
    expect(textOf(await other.callTool(1, 'echo', { text: 'fine' }))).toBe('fine');
    await new Promise((resolve) => setImmediate(resolve));
    await daemon.until(({ counters }) => (counters.responses ?? 0) + (counters.errorsAnswered ?? 0) > 10_000);
    expect(mostMiB(daemon.pid)).toBeLessThan(160);
    client.destroy();
    other.destroy();
    await flood;
    await daemon.stop();
  });

  test('that goes while it is not read is still noticed', async () => {
    const daemon = await TestDaemon.start({
      ...ONE,
      limits: { maxInFlightPerClient: 2, maxWaitingBytesPerClient: 1000 },
    });
    const client = await daemon.client();
    for (let id = 0; id < 10; id++) {
      const params = { name: 'hold', arguments: { text: 'x'.repeat(500) } };
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
    }
    await daemon.until(({ instances }) => instances[0]?.calls === 2);
    client.destroy();
    await daemon.until(({ clients, instances }) => clients === 0 && instances[0]?.sessions === 0);
    await daemon.stop();
  });

  test('may have only a limited number of frames held behind an unanswered initialize', async () => {
    const mcpServers = { fixture: fixtureServer({ FIXTURE_SILENT: '1' }) };
    const daemon = await TestDaemon.start({ mcpServers, limits: { drainTimeoutMs: 100 } });
    const client = await daemon.connect();
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    client.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const big = `${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'x', params: { a: 'x'.repeat(7 << 20) } })}\n`;
    const flood = client.write(Buffer.from(big.repeat(20)));
    const other = await daemon.connect();
    expect((await other.request(1, 'ping')).result).toEqual({});
    expect(mostMiB(daemon.pid)).toBeLessThan(160);
    client.destroy();
    other.destroy();
    await flood;
    await daemon.stop();
  });
});

describe('the daemon', () => {
  test('goes on when the reader of its log has gone', async () => {
    const daemon = await TestDaemon.start(ONE);
    daemon.closeLog();
    for (let n = 0; n < 3; n++) {
      const client = await daemon.client();
      expect((await client.callTool(1, 'crash')).error?.data?.code).toBe('SERVER_CRASHED'); // which is logged
      client.destroy();
    }
    await daemon.stop();
  });

  test('that drains takes no new calls, answers the old ones, and lets the next one wait its turn', async () => {
    const daemon = await TestDaemon.start(ONE);
    const client = await daemon.client();
    client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: { ms: 1500 } } });
    await daemon.until(({ instances }) => instances[0]?.calls === 1);
    daemon.kill('SIGTERM');
    await daemon.untilLogged('stopping');
    // Until all who had connected are in, it answers as before.
    let { error } = await client.callTool(2, 'echo', { text: 'x' });
    for (let id = 3; error === undefined; id++) ({ error } = await client.callTool(id, 'echo', { text: 'x' }));
    expect(error).toMatchObject({ code: -32603, data: { code: 'SHUTTING_DOWN' } });
    const env = { XDG_STATE_HOME: daemon.dir };
    const config = join(daemon.dir, 'config.json');
    const next = runCommand(['start', '--mcp-bridge-socket', daemon.path, '--config', config], { env });
    expect(textOf(await client.answerTo(1))).toBe('done');
    expect(await next).toMatchObject({ code: 0, stderr: '' });
    expect((await runCommand(['stop', '--mcp-bridge-socket', daemon.path], { env })).stdout).toContain('has stopped');
    await daemon.stop();
  });

  test('comes back to its path when its socket was removed', async () => {
    const daemon = await TestDaemon.start(ONE);
    const before = await daemon.client();
    rmSync(daemon.path);
    await daemon.untilLogged('it is back');
    expect(existsSync(daemon.path)).toBe(true);
    const after = await daemon.client();
    for (const client of [before, after]) expect(textOf(await client.callTool(1, 'echo', { text: 'x' }))).toBe('x');
    before.destroy();
    after.destroy();
    await daemon.stop();
  });

  test('ends at once at a second signal, whichever it is', async () => {
    const daemon = await TestDaemon.start(ONE);
    const client = await daemon.client();
    client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
    await daemon.until(({ instances }) => instances[0]?.calls === 1);
    daemon.kill('SIGTERM');
    await daemon.untilLogged('stopping');
    daemon.kill('SIGINT');
    expect(await daemon.exited).toEqual({ code: null, signal: 'SIGINT' });
    client.destroy();
    await daemon.stop();
  });
});

test('a slow reader gets the output of a command to its last byte', async () => {
  const daemon = await TestDaemon.start(ONE);
  const clients = await Promise.all(Array.from({ length: 700 }, () => daemon.client()));
  const script = `"${process.execPath}" "${PROGRAM}" clients --json --mcp-bridge-socket "${daemon.path}" | (sleep 0.3; cat)`;
  const shell = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await new Promise((resolve) => shell.once('close', resolve));
  expect(JSON.parse(output)).toHaveLength(700);
  for (const client of clients) client.destroy();
  await daemon.stop();
});
