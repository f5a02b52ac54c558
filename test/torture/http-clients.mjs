// Clients over HTTP that lie, dawdle, hoard and forget, and what the others notice of it.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { rssMib, until, watchMemory } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const HEAD =
  'POST /mcp/server/fixture HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n';
const KEY = 'io.modelcontextprotocol/';
const META = { [`${KEY}protocolVersion`]: '2026-07-28', [`${KEY}clientCapabilities`]: {} };

/** A request without a handshake, in bytes; `framing` says how long it is. */
function asking(method, params = {}, framing = undefined) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } });
  const name = params.name === undefined ? '' : `Mcp-Name: ${params.name}\r\n`;
  const era = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${name}`;
  return `${HEAD}${era}${framing?.(body) ?? `Content-Length: ${body.length}\r\n`}\r\n${body}`;
}
const call = (name, args = {}) => asking('tools/call', { name, arguments: args });

const INITIALIZE = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'forgetful', version: '1' } },
});
const beginning = `${HEAD}Content-Length: ${INITIALIZE.length}\r\n\r\n${INITIALIZE}`;

/** A daemon with a port that takes clients without a token, and an ordinary client of it. */
async function served(place, config = {}) {
  const http = { listen: '127.0.0.1:0', tokens: false };
  const daemon = await place.daemon({ config: place.config({ ...config, http }) });
  const found = () => /"listening for HTTP".*?"port":(\d+)/.exec(daemon.stderr)?.[1];
  const port = Number(await until('it listens for HTTP', found));
  const places = [{ path: daemon.path }, { host: '127.0.0.1', port }];
  return { daemon, places, other: await place.pulse(daemon) };
}

/** A connection, and what has come on it so far. */
function open(where) {
  const socket = connect(where);
  const one = { socket, came: '', isClosed: false };
  socket.setEncoding('latin1').on('data', (text) => {
    one.came = (one.came + text).slice(-100_000);
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      one.isClosed = true;
    });
  return one;
}

/** What comes back until the bridge hangs up, or has answered `answers` times. */
async function answersTo(where, bytes, answers = 1) {
  const one = open(where);
  one.socket.write(bytes, 'latin1');
  await until(`an answer to ${JSON.stringify(bytes.slice(0, 200))}`, () => {
    const heads = one.came.match(/HTTP\/1\.1 [2-5]\d\d/g) ?? [];
    return one.isClosed || heads.length >= answers;
  });
  one.socket.destroy();
  return one.came;
}

const refusedOf = async (daemon) => (await daemon.status()).counters.httpRefused;

const LENGTHS = {
  'two lengths': (body) => `Content-Length: ${body.length}\r\nContent-Length: ${body.length + 1}\r\n`,
  'the same length twice': (body) => `Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n`,
  'lengths in a list': (body) => `Content-Length: ${body.length}, ${body.length}\r\n`,
  'a length with a sign': (body) => `Content-Length: +${body.length}\r\n`,
  'a length in hexadecimal': (body) => `Content-Length: 0x${body.length.toString(16)}\r\n`,
  'a length that no number can be': () => `Content-Length: ${'9'.repeat(30)}\r\n`,
  'a length beside chunks': (body) => `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`,
  'chunks beside a length': (body) => `Transfer-Encoding: chunked\r\nContent-Length: ${body.length}\r\n`,
  'a coding that is not chunks': (body) => `Transfer-Encoding: xchunked\r\nContent-Length: ${body.length}\r\n`,
  'a space before a colon': (body) => `Transfer-Encoding : chunked\r\nContent-Length: ${body.length}\r\n`,
  'a bare carriage return': (body) => `X-A: b\rHost: evil.example\r\nContent-Length: ${body.length}\r\n`,
  'a null byte': (body) => `X-A: b\0\r\nContent-Length: ${body.length}\r\n`,
  'chunks of no size': () => 'Transfer-Encoding: chunked\r\n\r\nzz\r\n',
  'chunks beyond every size': () => 'Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n',
  'chunks with endless extensions': () => `Transfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(100_000)}\r\n`,
  'two hosts': (body) => `Host: evil.example\r\nContent-Length: ${body.length}\r\n`,
  'two media types': (body) => `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n`,
  'two origins': (body) =>
    `Origin: http://localhost\r\nOrigin: http://evil.example\r\nContent-Length: ${body.length}\r\n`,
  'a method twice': (body) => `Mcp-Method: tools/list\r\nContent-Length: ${body.length}\r\n`,
};

/** Requests that are whole, but for another host, version, path or method. */
const WHOLE = {
  'a host of others': call('echo').replace('localhost', 'evil.example'),
  'a host behind a name': call('echo').replace('localhost', 'localhost@evil.example'),
  'a target with a host': call('echo').replace('/mcp', 'http://evil.example/mcp'),
  'a version of HTTP that there is not': call('echo').replace('HTTP/1.1', 'HTTP/1.2'),
  'lines that end in newlines alone': call('echo').replaceAll('\r\n', '\n'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
};

/** What lies about the end of a message, or says two things, is refused on the socket and on the port. */
async function lies(place, { isShort }) {
  const { daemon, places, other } = await served(place);
  const cases = [
    ...Object.entries(LENGTHS).map(([name, framing]) => [name, asking('tools/call', { name: 'echo' }, framing)]),
    ...Object.entries(WHOLE),
  ];
  const rounds = isShort ? 1 : 20;
  let refused = 0;
  for (let round = 0; round < rounds; round++)
    for (const where of places)
      for (const [name, bytes] of cases) {
        const came = await answersTo(where, bytes);
        assert.match(came, /^HTTP\/1\.1 4\d\d /, name);
        assert(!came.includes('"result"'), `${name}: it was done`);
        refused++;
      }
  assert.equal(await refusedOf(daemon), refused, 'each is counted');
  // What stands behind one request is another one, or it is refused; nothing is done with half of it.
  const behind = await answersTo(places[1], `${call('echo', { text: 'one' })}\0\0\0\r\n\r\n`);
  assert.equal(behind.match(/"result"/g)?.length ?? 0, behind.includes(' 200 ') ? 1 : 0);
  const { p99 } = await other.look();
  return `${refused} requests refused, in ${cases.length} ways, and counted; another's p99 ${p99.toFixed(2)} ms`;
}

/** Requests that begin and never end. */
async function dawdling(place, { isShort }) {
  const { daemon, places, other } = await served(place);
  const memory = watchMemory(daemon.pid);
  const count = isShort ? 20 : 500;
  const slow = places.flatMap((where) => times(count, () => open(where)));
  for (const { socket } of slow) socket.write(HEAD);
  const drip = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write('X-A: b\r\n');
  }, 500);
  const without = {
    headers: `${HEAD}${'X-A: b\r\n'.repeat(20_000)}`,
    header: `${HEAD}X-A: ${'b'.repeat(100_000)}\r\n\r\n`,
    body: `${HEAD}Transfer-Encoding: chunked\r\n\r\n${`10000\r\n${' '.repeat(65_536)}\r\n`.repeat(200)}`,
  };
  for (const where of places)
    for (const [name, bytes] of Object.entries(without))
      assert.match(await answersTo(where, bytes), /^HTTP\/1\.1 4(?:31|13) /, `${name} without end`);
  await until('they are cut off', () => slow.every(({ isClosed }) => isClosed));
  clearInterval(drip);
  for (const { came } of slow) assert.match(came, /^HTTP\/1\.1 408 /);
  assert((await refusedOf(daemon)) >= slow.length + 6);
  const rise = memory();
  assert(rise < 64, `memory rose by ${rise} MiB`);
  const { p99 } = await other.look();
  return `${slow.length} that send a header every half second got 408; endless headers and bodies 431 and 413; memory rose by ${rise.toFixed(0)} MiB, another's p99 ${p99.toFixed(2)} ms`;
}

/** Answers that nobody reads, and requests that nobody waits for the answers of. */
async function hoarding(place, { isShort }) {
  const limits = isShort ? { stallTimeoutMs: 2000 } : {};
  const { daemon, places, other } = await served(place, { limits });
  for (let i = 0; i < 6; i++) await answersTo(places[0], call('blob', { mib: 0.01 })); // known not to ask
  const memory = watchMemory(daemon.pid);
  const deaf = times(isShort ? 20 : 60, (i) => open(places[i % 2]));
  for (const { socket } of deaf) {
    socket.pause();
    socket.write(call('blob', { mib: 7 }));
  }
  // Beside what the kernel takes, they may have 128 MiB together, and none of it for long.
  await until('they are cut off', async () => (await refusedOf(daemon)) >= deaf.length, 120_000);
  const rise = memory();
  assert(rise < 128 + 128, `memory rose by ${rise} MiB`);
  for (const { socket } of deaf) socket.destroy();
  const hasty = open(places[1]);
  hasty.socket.write(times(2000, () => call('hold')).join(''));
  await until('it is cut off', () => hasty.isClosed);
  const { p99 } = await other.look();
  return `${deaf.length} that read nothing were cut off, memory rose by ${rise.toFixed(0)} MiB; one that sends 2,000 requests at once was cut off; another's p99 ${p99.toFixed(2)} ms`;
}

/** Sessions that are begun and never ended. */
async function forgetting(place, { isShort }) {
  const limits = isShort ? { maxClients: 100 } : {};
  const { daemon, places, other } = await served(place, { limits });
  const most = isShort ? 50 : 5000;
  const wanted = most + (isShort ? 25 : 1500);
  const tally = { 200: 0, 503: 0 };
  for (let i = 0; i < wanted; i += 25) {
    const came = await answersTo(places[1], beginning.repeat(25), 25);
    for (const [, status] of came.matchAll(/HTTP\/1\.1 (\d+)/g)) tally[status]++;
  }
  assert.equal(tally[200] + tally[503], wanted, JSON.stringify(tally));
  assert(tally[200] >= most, 'each one that there is room for begins');
  const late = await daemon.peer(); // a client on the socket has a place
  late.close();
  await delay(isShort ? 0 : 10_000);
  const { clients } = await daemon.status();
  assert(clients <= most + 5, `${clients} clients`);
  // A session that nobody has used for ten seconds gives way.
  if (!isShort) assert.match(await answersTo(places[1], beginning), /^HTTP\/1\.1 200 /);
  const { p99 } = await other.look();
  return `${wanted} sessions begun and forgotten: ${clients} are kept, and others are let in; ${rssMib(daemon.pid).toFixed(0)} MiB; another's p99 ${p99.toFixed(2)} ms`;
}

/** Streams on which nothing happens. */
async function idling(place, { isShort }) {
  const { daemon, places, other } = await served(place);
  const count = isShort ? 100 : 7000;
  const listen = asking('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const before = rssMib(daemon.pid);
  const streams = [];
  while (streams.length < count) {
    const some = times(50, (i) => open(places[i % 2 && streams.length < 4000 ? 1 : 0]));
    for (const { socket } of some) socket.write(listen);
    await until('they listen', () => some.every(({ came }) => came.includes('subscriptions/acknowledged')));
    streams.push(...some);
  }
  const each = ((rssMib(daemon.pid) - before) / streams.length) * 1024;
  const notice = asking('tools/call', {
    ...{ name: 'notify', arguments: { method: 'notifications/tools/list_changed' } },
  });
  await answersTo(places[0], notice);
  await until('all hear of it', () => streams.every(({ came }) => came.includes('notifications/tools/list_changed')));
  for (const { socket } of streams) socket.destroy();
  // The links on which they listened go when nobody has used them for half a minute.
  if (!isShort) await until('they are gone', async () => (await daemon.status()).clients < 50, 60_000);
  const { p99 } = await other.look();
  return `${streams.length} streams of one user, ${each.toFixed(0)} KiB each, heard of a change; another's p99 ${p99.toFixed(2)} ms`;
}

export const httpClients = {
  'clients over HTTP that lie about where a message ends': lies,
  'clients over HTTP that send slowly, or without end': dawdling,
  'clients over HTTP that read nothing': hoarding,
  'clients over HTTP that begin sessions and forget them': forgetting,
  'thousands of idle streams over HTTP': idling,
};
