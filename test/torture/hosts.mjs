// Other hosts that lie, flood, forge and fall silent: they are refused within bounds, and everybody else is served.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { callOf, entryOf, hostsOf, Stranger, startHost, startNats, TENANT, untilUsed } from './hosts-place.mjs';
import { textOf } from './peer.mjs';
import { until, watchMemory } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const MOST_P99_MS = 50;
/** Of calls over the same bus. */
const MOST_REMOTE_P99_MS = 500;
const MOST_RISE_MIB = 96;

/** An owner, a home, and a client of each that goes on meanwhile. */
async function meet(place, { isShort, audit } = {}) {
  const nats = await startNats(place);
  const owner = await startHost(place, nats.url, 'builder', {
    mcpServers: { fixture: place.fixture(), neighbour: place.fixture() },
    offer: ['fixture'],
    ...(audit !== undefined && { audit: { enabled: true, file: audit } }),
  });
  const home = await startHost(place, nats.url, 'laptop', { mcpServers: { neighbour: place.fixture() } });
  await untilUsed(home, 'fixture@builder');
  const stranger = await Stranger.meet(nats.url);
  const pulses = [
    await place.pulse(owner, 'server:neighbour'),
    await place.pulse(home, 'server:neighbour'),
    await place.pulse(home, 'server:fixture@builder'),
  ];
  const memory = [owner, home].map((daemon) => watchMemory(daemon.pid));
  /** What it was like for the others. */
  const looked = async () => {
    const looks = [];
    for (const pulse of pulses) looks.push(await pulse.look());
    const [remote, ...local] = looks.map((look) => look.p99).reverse();
    const p99 = Math.max(...local);
    assert(isShort || p99 < MOST_P99_MS, `another's p99 was ${local.map((ms) => ms.toFixed(1)).join(', ')} ms`);
    assert(isShort || remote < MOST_REMOTE_P99_MS, `the p99 of remote calls was ${remote.toFixed(1)} ms`);
    const rise = Math.max(...memory.map((stop) => stop()));
    assert(rise < MOST_RISE_MIB, `memory rose by ${rise} MiB`);
    await stranger.leave();
    return `local p99 ${p99.toFixed(1)} ms, remote ${remote.toFixed(1)} ms, memory +${rise.toFixed(0)} MiB`;
  };
  return { nats, owner, home, stranger, looked };
}

const refusedOf = async (daemon) => (await daemon.status()).counters.busRefused;

/** Each changes one thing of a right request; the code that it gets. */
const DISAGREEING = [
  [-32020, ({ headers }) => delete headers['Mcp-Wire']],
  [-32020, ({ headers }) => (headers['Mcp-Wire'] = '2')],
  [-32020, ({ headers }) => (headers['Mcp-Method'] = 'tools/list')],
  [-32020, ({ headers }) => delete headers['Mcp-Method']],
  [-32020, ({ headers }) => (headers['Mcp-Name'] = 'crash')],
  [-32020, ({ headers }) => delete headers['Mcp-Name']],
  [-32020, ({ headers }) => (headers['MCP-Protocol-Version'] = '2025-06-18')],
  [-32020, ({ headers }) => (headers['Mcp-Call'] = 'not a place')],
  [-32020, ({ headers }) => delete headers['Mcp-Call']],
  [-32020, (request) => (request.subject = request.subject.replace('.echo', '.crash'))],
  [-32020, (request) => (request.subject = request.subject.replace('tools.call.echo', 'tools.list._'))],
  [-32020, (request) => (request.body = request.body.replace('"name":"echo"', '"name":"crash"'))],
  [-32020, (request) => (request.body = request.body.replace('tools/call', 'tools/list'))],
  [-32600, (request) => (request.body = `[${request.body}]`)],
  [-32600, (request) => (request.body = `${request.body}\n${request.body}`)],
  [-32600, (request) => (request.body = '{"jsonrpc":')],
  [-32600, (request) => (request.body = request.body.replace('"id":1,', ''))],
  [-32600, (request) => (request.body = request.body.replace('"_meta":{', '"_meta":{"mcp-bridge/cwd":"/etc",'))],
];

/** An owner of the tools below, each of which is a way to answer wrongly. */
function serveWrongly(stranger, host) {
  const pattern = `mcp.v1.req.${TENANT}.*.tool-at-${host}.>`;
  stranger.nc.subscribe(pattern, {
    callback: (_, message) => {
      if (message.reply === undefined || message.reply === '') return;
      const { id, method, params } = JSON.parse(message.string());
      const frame = (seq, kind, body) =>
        stranger.publish(
          message.reply,
          { 'Mcp-Frame': kind, ...(seq !== undefined && { 'Mcp-Seq': `${seq}` }), 'Mcp-Owner': `${host} strange` },
          body,
        );
      const result = (value) => JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...value } });
      const kept = { ttlMs: 0, cacheScope: 'private' };
      if (method === 'server/discover') {
        const info = { 'io.modelcontextprotocol/serverInfo': { name: 'tool', version: '1' } };
        return frame(
          1,
          'end',
          result({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...kept, _meta: info }),
        );
      }
      if (method === 'tools/list') {
        const tools = Object.keys(WRONG).map((name) => ({ name, inputSchema: { type: 'object' } }));
        return frame(1, 'end', result({ tools, ...kept }));
      }
      WRONG[params.name]?.({ frame, id, text: result({ content: [{ type: 'text', text: 'right' }] }) });
    },
  });
}

const PART = new Uint8Array(256 * 1024).fill(0x78);
const WRONG = {
  'another-id': ({ frame, text, id }) => frame(1, 'end', text.replace(`"id":${JSON.stringify(id)}`, '"id":"another"')),
  'no-json': ({ frame }) => frame(1, 'end', 'not JSON'),
  'no-utf8': ({ frame }) => frame(1, 'end', new Uint8Array([0xff, 0xfe])),
  'no-number': ({ frame, text }) => frame(undefined, 'end', text),
  'request-as-news': ({ frame }) => frame(1, 'msg', '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'),
  'out-of-order': ({ frame }) => {
    for (let seq = 5000; seq > 1; seq--) frame(seq, 'msg', '{}');
  },
  'parts-without-end': ({ frame }) => {
    for (let seq = 1; seq <= 64; seq++) frame(seq, 'part', PART);
  },
  'too-long-a-part': ({ frame }) => frame(1, 'part', new Uint8Array(300 * 1024)),
};

export const hosts = {
  async 'a host whose subject, headers and body disagree'(place, { isShort }) {
    const audit = place.path('audit.jsonl');
    const { owner, stranger, looked } = await meet(place, { isShort, audit });
    const before = await refusedOf(owner);
    const rounds = isShort ? 2 : 50;
    let sent = 0;
    for (const [code, change] of times(rounds, () => DISAGREEING).flat()) {
      const request = callOf('fixture-at-builder', { stream: 's', number: sent + 1 });
      change(request);
      const frames = await stranger.request(request);
      assert.deepEqual(
        frames.map(({ kind }) => kind),
        ['err'],
        `${change}: ${JSON.stringify(frames)}`,
      );
      assert.equal(JSON.parse(frames[0].text).error.code, code, `${change}: ${frames[0].text}`);
      sent++;
    }
    assert.equal((await refusedOf(owner)) - before, sent, 'each is counted');
    const right = await stranger.request(callOf('fixture-at-builder', { stream: 'right', args: { text: 'right' } }));
    assert.equal(textOf(JSON.parse(right.at(-1).text)), 'right');
    const lines = () =>
      readFileSync(audit, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"host":"stranger"') && line.includes('"outcome"'));
    await until('the right one is in the audit log', () => lines().length > 0);
    assert.equal(lines().length, 1, 'nothing else was run');
    const counted = () =>
      readFileSync(audit, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"refused":"request"') || line.includes('"refused":"many"'))
        .reduce((sum, line) => sum + JSON.parse(line).count, 0);
    if (!isShort) await until('each that was refused is in the audit log', () => counted() === sent);
    return `${sent} requests refused, nothing run; ${await looked()}`;
  },

  async 'a host that lies about its name and what it offers'(place, { isShort }) {
    const { owner, home, stranger, looked } = await meet(place, { isShort });
    const board = await stranger.board();
    const key = (host) => `${TENANT}.${host}`;
    const before = await refusedOf(home);
    await board.put(key('liar'), entryOf('builder', ['fixture', 'secret']));
    await board.put(key('liar2'), 'not JSON');
    await board.put(key('liar3'), entryOf('liar3', [], { v: 2 }));
    await board.put(key('liar4'), entryOf('liar4', [], { run: 'a run.with dots' }));
    await until('each is refused', async () => (await refusedOf(home)) - before >= 4);
    // It also hears requests for another's server, and answers them by its own name.
    stranger.nc.subscribe(`mcp.v1.req.${TENANT}.*.fixture-at-builder.>`, {
      callback: (_, message) => {
        if (message.reply === undefined || message.reply === '') return;
        const { id } = JSON.parse(message.string());
        const forged = JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: { resultType: 'complete', content: [{ type: 'text', text: 'forged' }] },
        });
        stranger.publish(message.reply, { 'Mcp-Frame': 'end', 'Mcp-Seq': '1', 'Mcp-Owner': 'liar strange' }, forged);
      },
    });
    await stranger.nc.flush();
    const client = await home.peer('server:fixture@builder');
    for (let i = 0; i < (isShort ? 20 : 500); i++)
      assert.equal(textOf(await client.soon(client.call('echo', { text: `${i}` }))), `${i}`);
    assert.deepEqual(client.faults, []);
    client.close();
    const many = isShort ? 300 : 5000;
    for (let i = 0; i < many; i += 50)
      await Promise.all(times(50, (k) => board.put(key(`h${i + k}`), entryOf(`h${i + k}`, ['tool']))));
    const { hosts: known } = await hostsOf(home);
    const builder = known.find(({ host }) => host === 'builder');
    assert.deepEqual(builder?.servers, ['fixture']);
    assert(known.length <= 4096, `${known.length} hosts are known`);
    assert.equal(
      known.some(({ host }) => host.startsWith('liar')),
      false,
    );
    assert.equal((await refusedOf(owner)) > 0, true);
    return `${many} invented hosts, forged answers to ${isShort ? 20 : 500} calls not taken; ${await looked()}`;
  },

  async 'an owner on another host that answers wrongly'(place, { isShort }) {
    const { home, stranger, looked } = await meet(place, { isShort });
    serveWrongly(stranger, 'evil');
    await stranger.nc.flush();
    await stranger.announce('evil', ['tool']);
    await untilUsed(home, 'tool@evil');
    const client = await home.peer('server:tool@evil');
    const rounds = isShort ? 1 : 10;
    let refused = 0;
    for (let round = 0; round < rounds; round++)
      for (const tool of Object.keys(WRONG)) {
        const answer = await client.soon(client.call(tool));
        assert.equal(answer.error?.data?.code, 'SERVER_ANSWER_REFUSED', `${tool}: ${JSON.stringify(answer)}`);
        refused++;
      }
    assert.deepEqual(client.faults, []);
    client.close();
    assert((await refusedOf(home)) >= refused, 'each is counted');
    return `${refused} wrong answers, each call with one error; ${await looked()}`;
  },

  async 'an owner on another host that begins and falls silent'(place, { isShort }) {
    const { home, stranger, looked } = await meet(place, { isShort });
    const begun = new Set();
    WRONG.silent = ({ frame, id }) => {
      if (!begun.has(id)) frame(undefined, 'ack', '');
      begun.add(id);
    };
    serveWrongly(stranger, 'evil');
    await stranger.nc.flush();
    await stranger.announce('evil', ['tool']);
    await untilUsed(home, 'tool@evil');
    const clients = await Promise.all(times(isShort ? 2 : 20, () => home.peer('server:tool@evil')));
    const answers = await Promise.all(clients.map((client) => client.soon(client.call('silent'))));
    for (const { error } of answers) assert.match(error?.message ?? '', /outcome is unknown/);
    for (const client of clients) {
      assert.deepEqual(client.faults, []);
      client.close();
    }
    delete WRONG.silent;
    return `${answers.length} calls, each ends as outcome unknown; ${await looked()}`;
  },

  async 'a host that floods an owner'(place, { isShort }) {
    const { owner, stranger, looked } = await meet(place, { isShort });
    const count = isShort ? 1000 : 20_000;
    // A call that takes its time gets several frames.
    const answered = new Set();
    let refused = 0;
    stranger.nc.subscribe('_INBOX.flood.*', {
      callback: (_, message) => {
        answered.add(message.subject);
        if (message.headers?.get('Mcp-Frame') === 'err') refused++;
      },
    });
    // Streams without end, of which each has one call under way: an idle one would give way to the next.
    const flood = async () => {
      for (let i = 0; i < count; i++) {
        if (answered.has(`_INBOX.flood.${i}`)) continue;
        const { subject, headers, body } = callOf('fixture-at-builder', { stream: `f${i}`, tool: 'hold', args: {} });
        stranger.publish(subject, headers, body, `_INBOX.flood.${i}`);
        if (i % 500 === 499) await stranger.nc.flush();
      }
    };
    await flood();
    // Of those for which there is no room only some are told so: like any caller that hears nothing, it asks again.
    for (let more = 0; more < 60 && answered.size < count; more++) {
      await delay(1000);
      await flood();
    }
    await until('each is answered or refused', () => answered.size >= count, 60_000);
    assert(refused >= count - 256, `only ${refused} were refused`);
    // Calls without end of one stream, and requests in parts that never come.
    const before = await refusedOf(owner);
    const held = callOf('fixture-at-builder', { host: 'flood2', tool: 'hold', args: {} });
    for (let i = 1; i <= 2000; i++) {
      const body = held.body.replace('"id":1,', `"id":${i},`);
      stranger.publish(held.subject, { ...held.headers, 'Mcp-Call': `one ${i} 1` }, body, `_INBOX.flood2.${i}`);
    }
    for (let i = 0; i < 200; i++) {
      const { subject, headers } = callOf('fixture-at-builder', { host: 'flood3', stream: `p${i}` });
      const first = { ...headers, 'Mcp-Length': `${8 << 20}`, 'Mcp-Frame': 'part', 'Mcp-Seq': '1' };
      stranger.publish(subject, first, PART, `_INBOX.flood3.${i}`);
      if (i % 20 === 0) await stranger.nc.flush();
    }
    // Where too many bytes of a host wait, what is refused counts as one in a second.
    await until('most are refused', async () => (await refusedOf(owner)) - before >= 900 + 20);
    return `${count} streams, 2,000 calls of one stream, 200 requests in parts: ${(await refusedOf(owner)).toLocaleString('en')} refused; ${await looked()}`;
  },
};
