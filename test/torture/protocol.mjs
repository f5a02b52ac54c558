// What a peer may say that is wrong, foreign, or meant for somebody else.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Peer, textOf } from './peer.mjs';
import { until, watchMemory } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const DEEP = 5_000_000;

/** Whoever is there still gets its answers. */
async function serves(daemon, peer) {
  const text = `still ${Math.random()}`;
  assert.equal(textOf(await peer.soon(peer.call('echo', { text }))), text, 'others are served');
  assert.deepEqual(peer.faults, []);
  assert.equal(daemon.child.exitCode, null, `the daemon lives: ${daemon.stderr.slice(-500)}`);
}

/** Characters that a terminal would act upon, or not show; from, to. */
const UNPRINTABLE = [
  [0x00, 0x09],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
  [0xe0000, 0xe007f],
];

function unprintableIn(text) {
  const isUnprintable = (code) => UNPRINTABLE.some(([from, to]) => code >= from && code <= to);
  return [...text].map((character) => character.codePointAt(0)).filter(isUnprintable);
}

/** What `guess` sends for one id. */
const GUESSES = 3;

/** As if one had made that request, or been asked that. */
function guess(foe, id) {
  foe.say({ method: 'notifications/cancelled', params: { requestId: id } });
  foe.say({ method: 'notifications/progress', params: { progressToken: id, progress: 1 } });
  foe.say({ id, result: { guessed: true } });
}

/** Each guess is counted as what it is. */
async function dropped(daemon, count) {
  const { counters } = await daemon.status();
  const stray = [counters.strayCancels, counters.strayProgress, counters.strayResponses];
  assert.deepEqual(stray, [count, count, count]);
}

/** Two clients are asked by their servers, a third answers for them, and each for the other. How many ids were tried. */
async function guessAtQuestions(place) {
  const daemon = await place.daemon();
  const able = { elicitation: {}, sampling: {} };
  const ready = () => Peer.ready(daemon.path, { 'mcp-bridge/view': 'server:fixture' }, able);
  const askers = [await ready(), await ready()];
  const calls = [];
  for (const asker of askers) {
    asker.questions = [];
    for (const method of ['elicitation/create', 'sampling/createMessage'])
      calls.push(asker.call('ask', { method, params: { _meta: { progressToken: 'theirs' }, message: method } }));
    await until('it is asked', () => asker.questions.length === 2);
  }
  const asked = askers.flatMap(({ questions }) => questions.map(({ id }) => id));
  assert.equal(new Set(asked).size, 4);
  // Those that there are, and all that they could have been: the bridge's, the fixture's, anybody's.
  const forms = [(n) => n, String, (n) => `ask-${n}`, (n) => `mcp-bridge/ask-${n}`];
  const ids = [
    ...new Set([...asked, 'theirs', ...times(100, (n) => n - 5).flatMap((n) => forms.map((form) => form(n)))]),
  ];
  const foe = await ready();
  for (const id of ids) guess(foe, id);
  await foe.soon(foe.ask('ping'));
  for (const [i, asker] of askers.entries()) for (const { id } of askers[1 - i].questions) guess(asker, id);
  for (const asker of askers) await asker.soon(asker.ask('ping'));
  await dropped(daemon, ids.length + asked.length);
  for (const [i, asker] of askers.entries()) {
    assert.deepEqual(
      asker.notices.filter(({ method }) => method === 'notifications/cancelled'),
      [],
      'nobody takes its questions back',
    );
    for (const [n, { id, params }] of asker.questions.entries()) {
      asker.say({
        method: 'notifications/progress',
        params: { progressToken: params._meta.progressToken, progress: 1 },
      });
      asker.say({ id, result: { said: `${i}/${n}` } });
    }
    const answers = await Promise.all(calls.slice(2 * i, 2 * i + 2).map((call) => asker.soon(call)));
    assert.deepEqual(
      answers.map((answer) => textOf(answer)),
      [`{"said":"${i}/0"}`, `{"said":"${i}/1"}`],
      'the server is told what its client has said',
    );
    const seen = JSON.parse(textOf(await asker.soon(asker.call('seen'))));
    const progress = seen.methods.filter((method) => method === 'notifications/progress');
    assert.deepEqual([progress.length, seen.cancelled.length], [2, 0], 'and nothing that others have said');
    assert.deepEqual(asker.faults, []);
  }
  return ids.length + asked.length;
}

export const protocol = {
  async 'nesting to 5,000,000, both ways'(place) {
    const daemon = await place.daemon({ config: place.config({ limits: { maxMessageBytes: 32 << 20 } }) });
    const other = await daemon.peer();
    await serves(daemon, other);
    const risen = watchMemory(daemon.pid);
    const peer = await daemon.peer();
    for (const [open, close] of ['[]', ['{"a":', '}']]) {
      const deep = `${open.repeat(DEEP)}1${close.repeat(DEEP)}`;
      const line = `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"echo","arguments":{"text":${deep}}}}`;
      const answer = await peer.soon(peer.askRaw(line, 'deep'));
      assert.equal(answer.error?.code, -32600, `a request that is too deep is refused: ${JSON.stringify(answer)}`);
    }
    const asking = await daemon.peer();
    const answer = await asking.soon(asking.call('deep', { levels: DEEP }));
    const { code, data } = answer.error ?? {};
    assert.deepEqual([code, data?.code], [-32603, 'SERVER_ANSWER_REFUSED'], 'an answer that is too deep is an error');
    assert.equal((await daemon.status()).instances[0].restarts, 0, 'and no reason to end the server');
    await serves(daemon, other);
    const most = risen();
    // The longest of the three lines has 30 MB.
    assert(most < 128, `memory rose by ${most.toFixed(0)} MiB`);
    return `a client is told -32600, SERVER_ANSWER_REFUSED of a server, memory rose by ${most.toFixed(0)} MiB`;
  },

  async 'keys that are read in two ways'(place) {
    const rules = [{ pattern: ['crash'], enabled: false }];
    const config = place.config({ discovery: { enabled: false, toolRules: rules } });
    const daemon = await place.daemon({ config });
    const peer = await daemon.peer();
    await serves(daemon, peer);
    const call = (params, rest = '') => `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":${params}${rest}}`;
    const smuggled = [
      call('{"name":"echo","name":"crash"}'),
      call('{"name":"crash","name":"echo"}'),
      call('{"n\\u0061me":"crash","name":"echo"}'),
      call('{"name":"echo","\\u006eame":"crash"}'),
      call('{"name":"echo"}', ',"params":{"name":"crash"}'),
      call('{"name":"echo"}', ',"method":"tools/list"'),
      call('{"name":"echo"}', ',"m\\u0065thod":"tools/list"'),
      call('{"name":"echo"}', ',"id":"t"'),
      call('{"name":"cr\\u0061sh"}'),
      call('{"Name":"crash"}'),
      call('{"name":["crash"]}'),
      call('{"name":null}'),
    ];
    let refused = 0;
    for (const line of smuggled) {
      const asked = peer.isClosed ? await daemon.peer() : peer;
      const told = asked.notices.length;
      let came;
      asked.askRaw(line, 's').then((message) => {
        came = message;
      });
      const answer = await until('it is answered', () => came ?? asked.notices.slice(told).find(({ error }) => error));
      if (answer.error !== undefined) refused++;
      else assert.fail(`${line} was answered with ${JSON.stringify(answer)}`);
    }
    assert.equal((await daemon.status()).counters.serverCrashes, 0, 'the server was never made to crash');
    await serves(daemon, await daemon.peer());
    return `${refused} of ${smuggled.length} refused, the disabled tool never ran`;
  },

  async 'the zoo of ids'(place) {
    const daemon = await place.daemon();
    const good = [
      '',
      'a',
      '1',
      ' ',
      '__proto__',
      'constructor',
      '\u2028',
      '\u0000',
      'ü',
      '😀',
      'x'.repeat(250),
      0,
      -1,
      1,
      2 ** 53 - 1,
      -(2 ** 53) + 1,
    ];
    const peer = await daemon.peer();
    const answers = await Promise.all(good.map((id) => peer.soon(peer.call('echo', { text: String(id) }, id))));
    for (const [i, answer] of answers.entries()) {
      assert.equal(textOf(answer), String(good[i]), `the id ${JSON.stringify(good[i])}`);
      assert.deepEqual(answer.id, good[i]);
    }
    const bad = ['null', '1.5', '9007199254740993', '1e400', 'true', '[]', '{}', `"${'x'.repeat(100_000)}"`, '[1]'];
    for (const id of bad) {
      const asking = await daemon.peer();
      asking.send(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}\n`,
      );
      const error = await until(`${id.slice(0, 20)} is refused`, () => asking.notices.find((notice) => notice.error));
      assert.equal(error.error.code, -32600);
      asking.close();
    }
    assert.deepEqual(peer.faults, []);
    return `${good.length} answered as they are, ${bad.length} refused with -32600`;
  },

  async '50 clients with the same ids'(place, { isShort }) {
    const daemon = await place.daemon();
    const peers = await Promise.all(times(50, () => daemon.peer()));
    const rounds = isShort ? 20 : 200;
    for (let id = 1; id <= rounds; id++) {
      const answers = await Promise.all(
        peers.map((peer, i) => peer.soon(peer.call('echo', { text: `${i}:${id}` }, `id-${id}`))),
      );
      for (const [i, answer] of answers.entries()) assert.equal(textOf(answer), `${i}:${id}`);
    }
    for (const peer of peers) assert.deepEqual(peer.faults, []);
    return `${50 * rounds} calls, each its own answer`;
  },

  async 'guessed cancels, progress, answers'(place) {
    const daemon = await place.daemon();
    const victim = await daemon.peer();
    const slow = victim.call('hold', {}, 'mine');
    await until('it is under way', async () => (await daemon.status()).instances[0]?.calls > 0);
    const foe = await daemon.peer();
    const ids = ['mine', ...times(305, (n) => n - 5).flatMap((n) => [n, String(n), `mcp-bridge/ask-${n}`])];
    for (const id of ids) guess(foe, id);
    await foe.soon(foe.ask('ping'));
    const { cancelled } = JSON.parse(textOf(await foe.call('seen')));
    assert.deepEqual(cancelled, [], 'nobody else cancels it');
    await foe.call('release');
    assert.equal(textOf(await victim.soon(slow)), 'released');
    assert.deepEqual(victim.faults, []);
    assert.deepEqual(
      victim.notices.filter(({ method }) => method === 'notifications/progress'),
      [],
    );
    await dropped(daemon, ids.length);
    const tried = await guessAtQuestions(place);
    return `${(ids.length + tried) * GUESSES} guesses, none reached another client, or a server that has asked one`;
  },

  async 'unicode in every name'(place) {
    const names = ['ünï', '工具', '🛠️', '\u202Eevil', 'a\u001b[31mred', 'tag\u{E0041}', 'e\u0301', 'zero\u200Bwidth'];
    const tools = place.path('tools');
    writeFileSync(tools, names.join('\n'));
    const mcpServers = Object.fromEntries(
      ['serveur é', '服务', '🤖'].map((name) => [name, place.fixture({ FIXTURE_TOOLS: tools })]),
    );
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    for (const server of Object.keys(mcpServers)) {
      const peer = await daemon.peer(`server:${server}`);
      const { result } = await peer.ask('tools/list', {});
      for (const name of names)
        assert(
          result.tools.some((tool) => tool.name === name),
          `${name} is listed as it is`,
        );
      assert.equal(textOf(await peer.call('echo', { text: names.join() })), names.join());
      peer.close();
    }
    const all = await daemon.peer('all');
    const { result } = await all.soon(all.ask('tools/list', {}));
    const odd = result.tools.filter(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name));
    assert.deepEqual(odd, [], 'joined names are plain');
    for (const name of names) {
      const odd = await Peer.open(daemon.path);
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name, title: name, version: name },
      };
      const { result: hello } = await odd.soon(
        odd.ask('initialize', { ...params, _meta: { 'mcp-bridge/view': 'all' } }),
      );
      assert(hello, name);
    }
    const said = [];
    for (const command of ['status', 'clients', 'servers', 'tools']) {
      const { stdout, stderr } = await place.run([command, '--mcp-bridge-socket', daemon.path]);
      said.push(stdout, stderr);
    }
    assert.deepEqual(unprintableIn(said.join('')), [], 'nothing reaches a terminal unescaped');
    return `${names.length} tools on ${Object.keys(mcpServers).length} servers, ${result.tools.length} joined names, ${names.length} clients`;
  },

  async 'a clock that jumps a day'(place) {
    const shift = join(import.meta.dirname, 'shifted-clock.cjs');
    const daemon = await place.daemon({ env: { NODE_OPTIONS: `--require ${shift}` } });
    const peer = await daemon.peer();
    const held = peer.call('hold');
    await until('it is under way', async () => (await daemon.status()).instances[0]?.calls > 0);
    for (const signal of ['SIGUSR2', 'SIGUSR2']) {
      daemon.kill(signal);
      await delay(2200);
      const { instances, clients } = await daemon.status();
      assert.equal(instances[0].restarts, 0);
      assert(clients >= 1);
    }
    const other = await daemon.peer();
    await other.call('release');
    assert.equal(textOf(await peer.soon(held)), 'released', 'no timer went by the wall clock');
    assert.deepEqual(peer.faults, []);
    return 'a day on and a day back: calls, clients and servers stay';
  },

  async 'every split point of a conversation'(place, { isShort }) {
    const daemon = await place.daemon();
    const lines = [
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ü","version":"1"},"_meta":{"mcp-bridge/view":"server:fixture"}}}',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"ü\\u00fc😀"}}}',
      '{"jsonrpc":"2.0","id":"3","method":"ping"}',
    ];
    const conversation = Buffer.from(`${lines.join('\n')}\n`);
    const step = isShort ? 7 : 1;
    let points = 0;
    for (let at = 1; at < conversation.length; at += step, points++) {
      const peer = await Peer.open(daemon.path);
      const answers = ['1', '2', '3'].map((id, i) => peer.expect(i === 2 ? id : Number(id)));
      peer.send(conversation.subarray(0, at));
      await delay(0);
      peer.send(conversation.subarray(at));
      const [hello, echoed, pong] = await Promise.all(answers.map((answer) => peer.soon(answer)));
      assert(hello.result?.serverInfo, `cut at ${at}`);
      assert.equal(textOf(echoed), 'üü😀', `cut at ${at}`);
      assert.deepEqual(pong.result, {}, `cut at ${at}`);
      assert.deepEqual(peer.faults, []);
      peer.close();
    }
    return `${points} places`;
  },
};
