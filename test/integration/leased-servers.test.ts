// Servers that remember, offered by several hosts, by their name alone: one host serves each at a time.

import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, afterEach, expect } from 'vitest';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, ROOT, tempDir } from '../support/test-daemon.ts';
import { endHosts, hostsOf, startHost, until, untilAnswered, untilKnown } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const kept = (host: string): object => ({ ...fixtureServer({ AT: host }), sharing: 'dedicated' });
const at = (env: string): unknown => (JSON.parse(env) as { AT?: string }).AT;

/** A server that the host `one` serves alone, and a client of it on the laptop. */
async function servedByOne() {
  const nats = await NatsServer.start();
  const one = await startHost(nats, 'one', { servers: { fixture: kept('one') } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@one');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
  return { nats, one, laptop, client };
}

natsTest('a server that remembers is served by one host, and moves to the next when that one leaves', async () => {
  const { nats, one, laptop, client } = await servedByOne();
  await startHost(nats, 'two', { servers: { fixture: kept('two') } });
  await untilKnown(laptop, 'fixture@two');
  const mine = textOf(await client.callTool(1, 'seen'));
  const others = await Promise.all([1, 2, 3].map(() => laptop.client({ 'mcp-bridge/view': 'server:fixture' })));
  for (const other of others) expect(at(await untilAnswered(other, 'env'))).toBe('one');
  // The copy that the first client has is the one that it had before the other host came.
  expect(textOf(await client.callTool(2, 'seen')).length).toBeGreaterThan(mine.length);
  await one.stop();
  for (const each of [client, ...others]) expect(at(await untilAnswered(each, 'env'))).toBe('two');
});

natsTest('a server that remembers ends on all hosts with the client that used it by its name alone', async () => {
  const nats = await NatsServer.start();
  const one = await startHost(nats, 'one', { servers: { fixture: kept('one') } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@one');
  const client = await laptop.client({ 'mcp-bridge/view': 'discover' });
  const call = { server: 'fixture', tool: 'echo', arguments: { text: 'x' } };
  const { result } = await client.callTool('call', 'execute_tool', call);
  expect(result).toMatchObject({ content: [{ text: 'x' }] });
  const users = (instances: readonly { sessions: number }[]): number => instances.reduce((n, i) => n + i.sessions, 0);
  for (const host of [laptop, one]) expect(users((await host.status()).instances)).toBe(1);
  client.destroy();
  for (const host of [laptop, one]) await until(async () => users((await host.status()).instances) === 0);
});

natsTest('a host that stands still loses its server; what waited for it is never begun there', async () => {
  const nats = await NatsServer.start();
  const dir = tempDir();
  const notebook = (): object => ({
    command: process.execPath,
    args: [join(ROOT, 'test/fixtures/servers/notebook.mjs')],
    sharing: 'dedicated',
  });
  const file = (host: string): string => join(dir, host);
  const linesOf = (host: string): string[] =>
    existsSync(file(host)) ? readFileSync(file(host), 'utf8').trim().split('\n') : [];
  const servers = (host: string): object => ({ fixture: kept(host), notebook: notebook() });
  const one = await startHost(nats, 'one', { servers: { ...servers('one') } as Record<string, object> });
  const laptop = await startHost(nats, 'laptop');
  const desk = await startHost(nats, 'desk');
  for (const host of [laptop, desk]) await untilKnown(host, 'fixture@one', 'notebook@one');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
  const writer = await desk.client({ 'mcp-bridge/view': 'server:notebook' });
  await untilAnswered(writer, 'append', { file: file('first'), text: 'warm' });
  await startHost(nats, 'two', { servers: { ...servers('two') } as Record<string, object> });
  for (const host of [laptop, desk]) await untilKnown(host, 'fixture@two', 'notebook@two');

  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold', arguments: {} } });
  await until(async () => (await one.status()).instances.some(({ inFlight }) => inFlight > 0));
  process.kill(one.pid, 'SIGSTOP');
  // It is in the buffers of the host that stands still, under a lease that it loses meanwhile.
  writer.send({
    ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
    params: { name: 'append', arguments: { file: file('first'), text: 'late' } },
  });
  const { error } = await client.answerTo(1);
  expect(error?.message).toMatch(/outcome (of the call )?is unknown/);
  expect((await writer.answerTo(2)).error).toBeDefined();
  expect(at(await untilAnswered(client, 'env'))).toBe('two');
  await untilAnswered(writer, 'append', { file: file('second'), text: 'on two' });

  process.kill(one.pid, 'SIGCONT');
  await untilKnown(laptop, 'fixture@one');
  const direct = await desk.client();
  await untilAnswered(direct, 'notebook_one__append', { file: file('first'), text: 'by its host' });
  expect(linesOf('first')).toEqual(['warm', 'by its host']);
  expect(linesOf('second')).toEqual(['on two']);
  expect(at(await untilAnswered(client, 'env'))).toBe('two');
  expect(client.lines.filter((line) => /"id":1[,}]/.test(line))).toHaveLength(1);
});

natsTest('a server that remembers is served again after NATS has lost all that it kept', async () => {
  const nats = await NatsServer.start();
  await startHost(nats, 'one', { servers: { fixture: kept('one') } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@one');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
  await nats.stop();
  rmSync(join(nats.dir, 'store'), { recursive: true });
  await NatsServer.start({ like: nats });
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
  await startHost(nats, 'two', { servers: { fixture: kept('two') } });
  await untilKnown(laptop, 'fixture@two');
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
});

natsTest('a host that only says that a server remembers takes its name from nobody, and is told of', async () => {
  const nats = await NatsServer.start();
  const shared = (host: string): object => fixtureServer({ AT: host });
  await startHost(nats, 'one', { servers: { fixture: shared('one') } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@one');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(at(await untilAnswered(client, 'env'))).toBe('one');
  const odd = await connect({ servers: nats.url });
  const servers = [{ name: 'fixture', description: '', mark: 'm', sharing: 'dedicated' }];
  const entry = { v: 1, host: 'odd', run: 'r', version: '1', era: '2026-07-28', servers };
  const isToldOf = async (): Promise<boolean> => {
    odd.publish('$KV.bridge_alive.acme.odd', '');
    return (await hostsOf(laptop)).faults.join().includes('fixture is offered as one that remembers by odd');
  };
  odd.publish('$KV.bridge_hosts.acme.odd', JSON.stringify(entry));
  await until(isToldOf);
  const later = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  for (const each of [client, later]) expect(at(textOf(await each.callTool('env', 'env')))).toBe('one');
  await until(isToldOf);
  await odd.close();
});

natsTest('headers that a writer puts on a lease give it no other number, and remove nothing', async () => {
  const { nats, one, client } = await servedByOne();
  const odd = await connect({ servers: nats.url });
  const heard: string[] = [];
  odd.subscribe('mcp.v1.lease.acme.fixture', {
    callback: (_, message) => void heard.push(`${message.headers?.get('Odd')}${message.string()}`),
  });
  await odd.flush();
  const forged = { 'Nats-Sequence': '900000000000000', 'Nats-Last-Sequence': '7', 'KV-Operation': 'PUT' };
  const lease = JSON.stringify({ v: 1, host: 'one', run: 'earlier', fence: 7 });
  for (const [round, text] of ['rubbish', lease, 'rubbish'].entries()) {
    const more = headers();
    for (const [name, value] of Object.entries({ ...forged, Odd: `${round}` })) more.append(name, value);
    odd.publish('$KV.bridge_leases.acme.fixture', text, { headers: more });
    // Its holder writes it again, over the number that NATS has given it.
    await until(() =>
      Promise.resolve(heard.at(-1)?.startsWith('{') === true && heard.some((h) => h[0] === `${round}`)),
    );
    expect(JSON.parse(heard.at(-1) ?? '')).toMatchObject({ host: 'one', fence: round === 0 ? 1 : 8 });
    expect(at(await untilAnswered(client, 'env'))).toBe('one');
  }
  expect((await hostsOf(one)).faults).toEqual([]);
  await odd.close();
});

natsTest('a key on which somebody has put the status of an error hides no other', async () => {
  const nats = await NatsServer.start();
  await startHost(nats, 'one', { servers: { other: kept('one') } });
  const early = await startHost(nats, 'early');
  await untilKnown(early, 'other@one');
  const raw = connectTo(nats.port, '127.0.0.1').resume();
  const put = (key: string, head: string, data: string): void => {
    const size = `${head.length} ${head.length + data.length}`;
    raw.write(`HPUB $KV.${key} ${size}\r\n${head}${data}\r\n`);
  };
  raw.write('CONNECT {"verbose":false,"headers":true}\r\n');
  put('bridge_hosts.acme.odd', 'NATS/1.0 500 bad\r\n\r\n', 'x');
  put('bridge_hosts.acme.silent', 'NATS/1.0 503\r\n\r\n', '');
  put('bridge_leases.acme.fixture', 'NATS/1.0 500 bad\r\n\r\n', 'x');
  put('bridge_leases.acme.silent', 'NATS/1.0 503\r\n\r\n', '');
  raw.end('PING\r\n');
  await once(raw, 'close');
  await startHost(nats, 'two', { servers: { fixture: kept('two'), silent: kept('two') } });
  const late = await startHost(nats, 'late');
  await untilKnown(late, 'other@one', 'fixture@two');
  for (const name of ['other', 'fixture', 'silent']) {
    const client = await late.client({ 'mcp-bridge/view': `server:${name}` });
    expect(at(await untilAnswered(client, 'env'))).toBe(name === 'other' ? 'one' : 'two');
  }
  expect((await hostsOf(late)).faults).toEqual([]);
});
