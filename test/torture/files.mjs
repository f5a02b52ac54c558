// Disks that are full, files that are torn, homes that cannot be written, and too few descriptors.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Peer, textOf } from './peer.mjs';
import { descriptorsOf, entriesBelow, NotRun, until } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

const filesBelow = (dir) => entriesBelow(dir).filter((path) => lstatSync(path).isFile());

function mountSmallDisk(dir) {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0700', 'tmpfs', dir], { stdio: 'pipe' });
  } catch (error) {
    // It is another thing if whoever may mount cannot.
    if (!mayMount()) throw new NotRun("no right to mount a small disk; the limit of a file's size stands for it");
    throw error;
  }
}

/** CAP_SYS_ADMIN among the effective ones. */
function mayMount() {
  const [, mask] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
  return mask !== undefined && (BigInt(`0x${mask}`) & (1n << 21n)) !== 0n;
}

/** What a client can expect of any daemon, whatever its files are like. */
async function serves(daemon) {
  const peer = await daemon.peer('all');
  assert((await peer.soon(peer.ask('tools/list', {}))).result.tools.length > 0);
  assert.equal(textOf(await peer.soon(peer.call('fixture__echo', { text: 'x' }))), 'x');
  assert.deepEqual(peer.faults, []);
  peer.close();
}

/** Of a daemon's log: it is put aside from 10 MiB on. */
const MOST_LOG_BYTES = 10.5 * (1 << 20);

const hashOf = (text, length) => createHash('sha256').update(text).digest('hex').slice(0, length);
const stateOf = (home) => join(home, '.local/state/mcp-bridge');
const OTHERS = ['null', '[]', '{}', '{"version":99}', '\u0000\u0000', '{"__proto__":{"a":1}}'];

/** What may become of a file: each length that is less than all of it, and other contents. */
function damagesOf(whole, isShort) {
  const { length } = whole.trimEnd();
  const lengths = isShort ? [0, 1, length >> 1, length - 1] : times(length, Number);
  return [...lengths.map((at) => whole.slice(0, at)), ...OTHERS];
}

function isJson(text) {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

function writeState(dir, name, text) {
  mkdirSync(dirname(join(dir, name)), { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, name), text, { mode: 0o600 });
}

/** What a person has decided, and what runs: read again by a daemon that looks anew. */
async function tornWhileItRuns(place, isShort) {
  const dir = place.newDir();
  const state = stateOf(dir);
  const decision = {
    hash: 'h',
    decision: 'approved',
    at: 't',
    client: 'c',
    name: 'n',
    scope: 's',
    file: 'f',
    pointer: '',
  };
  const wholes = {
    'approvals.json': { version: 1, decisions: [{ ...decision, launch: { salt: '', parts: [] } }] },
    'dial-ins.json': { version: 1, decisions: { torture: 'approved' } },
    'mcp_servers.json': { version: '1.0', servers: { x: { name: 'x', socket_path: '/x', pid: 1 } } },
  };
  for (const [name, whole] of Object.entries(wholes)) writeState(state, name, JSON.stringify(whole));
  const config = place.config({ discovery: { enabled: true } });
  const daemon = await place.daemon({ config, env: { HOME: dir } });
  const dialledIn = await Peer.open(daemon.path);
  assert((await dialledIn.begin({ 'mcp-bridge/role': 'server' })).result);
  const peer = await daemon.peer('all');
  const control = await Peer.ready(daemon.path, { 'mcp-bridge/role': 'control' });
  const reload = async () => {
    daemon.stderr = '';
    const { result } = await control.soon(control.ask('bridge/reload'));
    assert.equal(textOf(await peer.soon(peer.call('fixture__echo', { text: 'x' }))), 'x');
    return result.faults.join('\n');
  };
  assert.equal(await reload(), '', 'whole files are without fault');
  assert(!daemon.stderr.includes('decisions about'), daemon.stderr);
  const tally = {};
  for (const [name, whole] of Object.entries(wholes)) {
    const damages = damagesOf(JSON.stringify(whole), isShort);
    for (const damage of damages) {
      let faults;
      do {
        writeState(state, name, damage);
        faults = await reload();
        // The daemon puts its own entry back into a registry that it can read, which may be the text before this one.
      } while (name === 'mcp_servers.json' && readFileSync(join(state, name), 'utf8') !== damage);
      const isEmptyRegistry = damage === '' && name === 'mcp_servers.json'; // as good as none
      if (isJson(damage) || isEmptyRegistry) continue;
      if (name !== 'dial-ins.json') assert(faults.includes(name), `${name} with ${damage}: ${faults}`);
      else await until('it is said', () => daemon.stderr.includes(name));
    }
    tally[name] = damages.length;
    writeState(state, name, JSON.stringify(whole));
    assert.equal(await reload(), '', `${name} is whole again`);
  }
  assert.deepEqual(peer.faults, []);
  assert.equal((await daemon.stop()).code, 0);
  return tally;
}

/** Of each server that one has signed in to, one file: each damage is another server's. */
async function tornTokens(place, isShort) {
  const home = place.newDir();
  const whole = JSON.stringify({ client: { client_id: 'c' }, tokens: { access_token: 'a', token_type: 'Bearer' } });
  const damages = [...damagesOf(whole, isShort), whole];
  const servers = damages.map((damage, i) => ({ name: `r${i}`, url: `http://127.0.0.1:9999/${i}`, damage }));
  for (const { name, url, damage } of servers)
    writeState(stateOf(home), `auth/${hashOf(`${name}\n${url}`, 32)}.json`, damage);
  const remote = servers.map(({ name, url }) => [name, { type: 'http', url }]);
  const mcpServers = { fixture: place.fixture(), ...Object.fromEntries(remote) };
  const daemon = await place.daemon({ config: place.config({ mcpServers }), env: { HOME: home } });
  const other = await daemon.peer();
  for (const { name, damage } of servers) {
    const peer = await Peer.open(daemon.path);
    const { error } = await peer.soon(peer.begin({ 'mcp-bridge/view': `server:${name}` }));
    assert(error, 'there is no such server');
    assert.equal(
      error.data?.code,
      isJson(damage) ? 'SERVER_START_FAILED' : 'FILE_UNUSABLE',
      `${damage}: ${error.message}`,
    );
    peer.close();
    assert.equal(textOf(await other.soon(other.call('echo', { text: 'x' }))), 'x');
  }
  assert.equal((await daemon.stop()).code, 0);
  return { tokens: damages.length - 1 };
}

/** A server that starts at once: one tool, nothing beside it. */
const SMALL_SERVER = `while IFS= read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"x"}]}' ;;
    *) result='{}' ;;
  esac
  case $line in *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result" ;; esac
done`;

/** What is known of servers, and what their tools were: a file for each server, so each damage is another server's. */
async function tornKnowledge(place, isShort) {
  const home = place.newDir();
  const kinds = { catalog: join(home, '.cache/mcp-bridge/catalog'), 'seen-tools': join(stateOf(home), 'seen-tools') };
  const { env } = place.fixture();
  // A file and its name depend on the name of its server: all of them have as many characters.
  const names = times(isShort ? 12 : 720, (i) => `s${String(i).padStart(3, '0')}`);
  const mcpServers = Object.fromEntries(
    names.map((name) => [name, { command: '/bin/sh', args: ['-c', SMALL_SERVER, name], env }]),
  );
  const config = place.config({ mcpServers, limits: { idleMs: 1000 } });
  const visitAll = async (daemon) => {
    const left = [...names];
    const work = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        const peer = await daemon.peer(`server:${name}`);
        const { result } = await peer.soon(peer.ask('tools/list', {}));
        assert.deepEqual(
          result?.tools.map((tool) => tool.name),
          ['t'],
        );
        assert.equal(textOf(await peer.soon(peer.call('t'))), 'x');
        peer.close();
      }
    };
    await Promise.all(times(8, work));
  };
  const first = await place.daemon({ config, env: { HOME: home } });
  await visitAll(first);
  await first.stop();
  const tally = {};
  for (const [kind, dir] of Object.entries(kinds)) {
    const kept = filesBelow(dir).filter((file) => file.endsWith('.json'));
    assert.equal(kept.length, names.length);
    const most = damagesOf(readFileSync(kept[0], 'utf8'), isShort).length;
    assert(most <= kept.length, `${most} damages to ${kept.length} files`);
    let broken = 0;
    for (const [i, file] of kept.entries()) {
      const damage = damagesOf(readFileSync(file, 'utf8'), isShort)[i];
      if (damage === undefined) continue;
      writeFileSync(file, damage);
      if (!isJson(damage)) broken++;
    }
    const daemon = await place.daemon({ config, env: { HOME: home } });
    let told = 0;
    daemon.child.stderr.on('data', (text) => {
      told +=
        text.split(kind === 'catalog' ? 'a file of the catalog is of no use' : 'the file of seen tools cannot be read')
          .length - 1;
    });
    await visitAll(daemon);
    await until(`each is told of: ${told} of ${broken}`, () => told >= broken);
    assert.equal((await daemon.stop()).code, 0);
    tally[kind] = most;
  }
  return tally;
}

export const files = {
  async 'a full disk'(place) {
    const disk = place.path('disk');
    mkdirSync(disk);
    mountSmallDisk(disk);
    try {
      const env = { HOME: disk, XDG_CACHE_HOME: disk, XDG_STATE_HOME: disk };
      const daemon = await place.daemon({ env });
      writeFileSync(join(disk, 'filler'), Buffer.alloc(200 * 1024));
      assert.throws(() => writeFileSync(join(disk, 'more'), Buffer.alloc(200 * 1024)), /ENOSPC/);
      await serves(daemon);
      await daemon.stop();
      const where = ['--mcp-bridge-socket', place.newPath('sock'), '--config', place.config()];
      const started = await place.run(['start', '--log-level', 'debug', ...where], { env });
      // Its log may need a block that there is not.
      if (started.code !== 0) assert.match(started.stderr, /^mcp-bridge: .*daemon\.log: ENOSPC/);
      else {
        const peer = await Peer.ready(where[1], { 'mcp-bridge/view': 'server:fixture' });
        for (let i = 0; i < 10; i++) assert.equal(textOf(await peer.call('print', { line: 'noise' })), 'ok');
        peer.close();
        assert.equal((await place.run(['stop', ...where], { env })).code, 0);
      }
      return 'the disk is full, and all is served';
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  },

  async 'files that may not grow'(place) {
    const daemon = await place.daemon({ shell: 'ulimit -f 0', args: ['--log-level', 'debug'] });
    await serves(daemon);
    await serves(daemon);
    assert.equal((await daemon.stop()).code, 0);
    for (const file of filesBelow(place.path('home')))
      assert(statSync(file).size === 0 || JSON.parse(readFileSync(file)), file);
    return 'no file can be written, and all is served';
  },

  async 'state files torn at every length'(place, { isShort }) {
    const tallies = [
      await tornWhileItRuns(place, isShort),
      await tornTokens(place, isShort),
      await tornKnowledge(place, isShort),
    ];
    const damages = Object.entries(Object.assign({}, ...tallies));
    const total = damages.reduce((sum, [, count]) => sum + count, 0);
    return `${total} damages, served each time: ${damages.map(([kind, count]) => `${kind} ${count}`).join(', ')}`;
  },

  async 'a home that cannot be written'(place) {
    const daemon = await place.daemon({ env: { HOME: '/proc/self' } });
    await serves(daemon);
    assert.equal((await daemon.stop()).code, 0);
    return 'served without a file';
  },

  async 'an audit log that is put aside under load'(place, { isShort }) {
    const count = isShort ? 2000 : 30_000;
    const file = place.path('audit.jsonl');
    const config = place.config({ audit: { file, maxBytes: 65_536, keep: 1000 } });
    const daemons = await Promise.all([place.daemon({ config }), place.daemon({ config })]);
    const peers = await Promise.all(times(20, (i) => daemons[i % 2].peer()));
    for (let n = 0; n < count / 20; n++) await Promise.all(peers.map((peer) => peer.call('echo', { text: `${n}` })));
    for (const daemon of daemons) assert.equal((await daemon.status()).audit.lost, 0);
    for (const daemon of daemons) await daemon.stop();
    const parts = readdirSync(place.dir).filter((name) => /^audit\.jsonl(?:\.\d+)?$/.test(name));
    assert(parts.length > 2, 'it was put aside');
    const lines = parts.flatMap((name) => {
      // What is gathered is written whole: each daemon may go beyond by what it has gathered.
      assert(
        statSync(place.path(name)).size <= 65_536 + 2 * 262_144,
        `${name} has ${statSync(place.path(name)).size} bytes`,
      );
      return readFileSync(place.path(name), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    });
    assert.equal(lines.filter(({ outcome, tool }) => outcome === 'ok' && tool === 'echo').length, count);
    return `${count} calls of two daemons, each one line, in ${parts.length} files`;
  },

  async 'a log that is put aside under load'(place, { isShort }) {
    const dir = place.path('home/.local/state/mcp-bridge');
    const parts = ['daemon.log', 'daemon.log.1'].map((name) => join(dir, name));
    const bound = 10 << 20; // beyond which it is put aside, but what is written meanwhile is still written to it
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    // Nearly full, as after months.
    const line = `${JSON.stringify({ message: 'x'.repeat(1000) })}\n`;
    writeFileSync(parts[0], line.repeat(Math.floor((bound - 500_000) / line.length)), { mode: 0o600 });
    const config = place.config();
    const daemons = times(2, () => ['--mcp-bridge-socket', place.newPath('sock'), '--config', config]);
    for (const where of daemons) assert.equal((await place.run(['start', '--log-level', 'debug', ...where])).code, 0);
    const peers = await Promise.all(
      daemons.map((where) => Peer.ready(where[1], { 'mcp-bridge/view': 'server:fixture' })),
    );
    const noise = times(1000, (i) => `noise ${i}`).join('\n'); // each of them is logged
    let most = 0;
    const rounds = isShort ? 10 : 150;
    for (let round = 0; round < rounds; round++) {
      await Promise.all(peers.map((peer) => peer.soon(peer.call('print', { line: noise }))));
      most = Math.max(most, ...parts.filter((part) => existsSync(part)).map((part) => statSync(part).size));
    }
    assert(most > bound * 0.9 && most < MOST_LOG_BYTES, `${most} bytes`);
    for (const [i, where] of daemons.entries()) {
      assert.equal(textOf(await peers[i].call('echo', { text: 'x' })), 'x');
      assert.deepEqual(peers[i].faults, []);
      peers[i].close();
      assert.equal((await place.run(['stop', ...where])).code, 0);
    }
    const said = parts.flatMap((part) => readFileSync(part, 'utf8').trimEnd().split('\n'));
    for (const each of said) assert(each.startsWith('mcp-bridge: ') || JSON.parse(each), 'each line is whole');
    assert.equal(statSync(parts[1]).mode & 0o777, 0o600);
    const logs = readdirSync(dir).filter((name) => name.startsWith('daemon.log'));
    assert.deepEqual(
      logs.sort(),
      ['daemon.log', 'daemon.log.1', 'daemon.log.lock'],
      'one old file, and nothing half made',
    );
    return `${rounds * 2000} lines of two daemons, at most ${(most / (1 << 20)).toFixed(2)} MiB in a file`;
  },

  async 'no descriptors left'(place, { isShort }) {
    const daemon = await place.daemon({ shell: 'ulimit -n 100' });
    const count = isShort ? 150 : 300;
    const first = await daemon.peer();
    assert.equal(textOf(await first.call('echo', { text: 'x' })), 'x');
    const opened = await Promise.all(times(count, () => Peer.open(daemon.path).catch(() => undefined)));
    const came = opened.filter((peer) => peer !== undefined);
    assert.equal(came.length, count, 'each can come and be told');
    // Of 100 descriptors half are for clients, and one has come before.
    const toldIn = () => came.filter((peer) => peer.notices.some((notice) => notice.error));
    await until('all but those are told', () => toldIn().length >= count - 49);
    const told = toldIn();
    const room = came.filter((peer) => !told.includes(peer));
    assert.equal(room.length, 49);
    const answers = await Promise.all(room.map((peer) => peer.soon(peer.begin(), 15_000)));
    const served = answers.filter((answer) => answer.result !== undefined).length;
    for (const peer of came) assert.deepEqual(peer.faults, []);
    assert.equal(served, room.length, `of ${came.length} ${served} are served and ${told.length} told`);
    assert.equal(textOf(await first.soon(first.call('echo', { text: 'still' }))), 'still');
    for (const peer of came) peer.close();
    await until('they have gone', async () => (await daemon.status().catch(() => ({ clients: 99 }))).clients <= 1);
    const late = await daemon.peer();
    assert.equal(textOf(await late.soon(late.call('echo', { text: 'late' }))), 'late');
    assert(descriptorsOf(daemon.pid) < 60);
    return `of ${came.length} clients ${served} served, ${told.length} told that there is no room; served again when those had gone`;
  },
};
