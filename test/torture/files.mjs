// Disks that are full, files that are torn, homes that cannot be written, and too few descriptors.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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

/** Has the catalog know something. */
async function learn(place, config) {
  const daemon = await place.daemon({ config });
  const peer = await daemon.peer('all');
  assert((await peer.ask('tools/list', {})).result.tools.length > 0);
  assert.equal(textOf(await peer.call('fixture__echo', { text: 'x' })), 'x');
  peer.close();
  await daemon.stop();
}

/** What a client can expect of any daemon, whatever its files are like. */
async function serves(daemon) {
  const peer = await daemon.peer('all');
  assert((await peer.soon(peer.ask('tools/list', {}))).result.tools.length > 0);
  assert.equal(textOf(await peer.soon(peer.call('fixture__echo', { text: 'x' }))), 'x');
  assert.deepEqual(peer.faults, []);
  peer.close();
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
    const config = place.config();
    await learn(place, config);
    const kept = filesBelow(place.path('home')).filter((file) => file.endsWith('.json'));
    assert(kept.length > 0, 'there is something to tear');
    let torn = 0;
    for (const file of kept) {
      const whole = readFileSync(file);
      const lengths = isShort
        ? [0, 1, whole.length >> 1, whole.length - 1]
        : times(40, (i) => Math.floor((i * whole.length) / 40));
      for (const length of lengths) {
        writeFileSync(file, whole.subarray(0, length));
        const daemon = await place.daemon({ config });
        await serves(daemon);
        await daemon.stop();
        torn++;
      }
      for (const other of ['null', '[]', '{}', '{"version":99}', '\u0000\u0000', '{"__proto__":{"a":1}}']) {
        writeFileSync(file, other);
        const daemon = await place.daemon({ config });
        await serves(daemon);
        await daemon.stop();
        torn++;
      }
    }
    return `${torn} damages to ${kept.length} files, served each time`;
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
    const bound = 10 << 20;
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
    assert(most > bound * 0.9 && most < bound + 4 * 65_536, `${most} bytes`);
    for (const [i, where] of daemons.entries()) {
      assert.equal(textOf(await peers[i].call('echo', { text: 'x' })), 'x');
      assert.deepEqual(peers[i].faults, []);
      peers[i].close();
      assert.equal((await place.run(['stop', ...where])).code, 0);
    }
    const said = parts.flatMap((part) => readFileSync(part, 'utf8').trimEnd().split('\n'));
    for (const each of said) assert(each.startsWith('mcp-bridge: ') || JSON.parse(each), 'each line is whole');
    assert.equal(statSync(parts[1]).mode & 0o777, 0o600);
    return `${rounds * 2000} lines of two daemons, at most ${(most / (1 << 20)).toFixed(2)} MiB in a file`;
  },

  async 'no descriptors left'(place, { isShort }) {
    const daemon = await place.daemon({ shell: 'ulimit -n 100' });
    const count = isShort ? 150 : 300;
    const first = await daemon.peer();
    assert.equal(textOf(await first.call('echo', { text: 'x' })), 'x');
    const opened = await Promise.all(times(count, () => Peer.open(daemon.path).catch(() => undefined)));
    const came = opened.filter((peer) => peer !== undefined);
    await delay(300);
    const told = came.filter((peer) => peer.notices.some((notice) => notice.error));
    const room = came.filter((peer) => !told.includes(peer));
    const answers = await Promise.all(room.map((peer) => peer.soon(peer.begin(), 15_000)));
    const served = answers.filter((answer) => answer.result !== undefined).length;
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
