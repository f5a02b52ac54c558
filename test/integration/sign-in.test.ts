// Signing in to a server: a real authorization server, the real command, and a browser that is a `fetch`.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, startFixture } from '../support/remote-fixture.ts';
import { PROGRAM, TestDaemon, tempDir } from '../support/test-daemon.ts';

afterEach(endFixtures);

interface Counts {
  registrations: number;
  exchanges: number;
  refreshes: number;
  refused: number;
}

/** A server to sign in to, a daemon for it, and what they and the command have in common. */
class Guarded {
  readonly dir = tempDir();
  readonly base: string;
  readonly server: object;
  readonly env: Record<string, string>;
  /** All that anyone has been told. */
  told = '';

  private constructor(port: number, fields: object) {
    this.base = `http://127.0.0.1:${port}`;
    this.server = { url: `${this.base}/mcp`, ...fields };
    this.env = { XDG_STATE_HOME: join(this.dir, 'state') };
    writeFileSync(join(this.dir, 'config.json'), JSON.stringify({ mcpServers: { guarded: this.server } }));
  }

  static async start(kind: 'http' | 'sse' = 'http', fields: object = {}): Promise<Guarded> {
    return new Guarded(await startFixture('oauth-server.mjs', kind), fields);
  }

  daemon(dir = this.dir): Promise<TestDaemon> {
    return TestDaemon.start({ mcpServers: { guarded: this.server } }, { dir, env: this.env });
  }

  async post(path: string, body?: object): Promise<void> {
    await fetch(`${this.base}${path}`, { method: 'POST', body: body === undefined ? null : JSON.stringify(body) });
  }

  /** The scope of each authorization that was asked for. */
  async scopes(): Promise<readonly string[]> {
    return (await (await fetch(`${this.base}/scopes`)).json()) as string[];
  }

  async counts(): Promise<Counts> {
    return (await (await fetch(`${this.base}/counts`)).json()) as Counts;
  }

  async run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const result = await runCommand(['auth', 'guarded', '--config', join(this.dir, 'config.json'), ...args], {
      env: this.env,
    });
    this.told += JSON.stringify(result);
    return result;
  }

  /** The command, once it has printed the page to sign in at. */
  async begin(args: string[] = ['--no-browser'], env: object = {}): Promise<SignIn> {
    const child = spawn(
      process.execPath,
      [PROGRAM, 'auth', 'guarded', '--config', join(this.dir, 'config.json'), ...args],
      { env: { ...process.env, ...this.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const run = new SignIn(child);
    await run.untilShown();
    return run;
  }

  async signIn(): Promise<void> {
    const run = await this.begin();
    await fetch(run.page);
    expect(await run.exit).toBe(0);
    this.told += run.printed;
  }

  get files(): string[] {
    return readdirSync(join(this.dir, 'state/mcp-bridge/auth')).filter((name) => name.endsWith('.json'));
  }

  get file(): string {
    return join(this.dir, 'state/mcp-bridge/auth', this.files[0] ?? 'none');
  }
}

class SignIn {
  printed = '';
  readonly exit: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.exit = once(child, 'close').then(([code]) => code as number | null);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.printed += chunk;
      });
  }

  get page(): string {
    return /^http.*$/m.exec(this.printed)?.[0] ?? '';
  }

  async untilShown(): Promise<void> {
    while (!/^http.*\n/m.test(this.printed) && this.#child.exitCode === null) {
      await Promise.race([once(this.#child.stdout as NodeJS.ReadableStream, 'data'), this.exit]);
    }
  }
}

/** One whose server has got all that comes before a call, too. */
async function readyClient(daemon: TestDaemon): Promise<RawClient> {
  const client = await daemon.client();
  await client.callTool('first', 'echo');
  return client;
}

const SIGN_IN = {
  code: -32603,
  message: 'Server guarded wants you to sign in',
  data: { code: 'SERVER_AUTH_REQUIRED', server: 'guarded', hint: 'Run: mcp-bridge auth guarded' },
};

describe.each(['http', 'sse'] as const)('a server over %s that wants one to sign in', (kind) => {
  test('says so, takes the sign-in without a restart, and has its tokens refreshed once for all', async () => {
    const guarded = await Guarded.start(kind);
    const daemon = await guarded.daemon();
    for (let i = 0; i < 6; i++) {
      // Often enough that a server which dies would be called broken.
      const refused = await (await daemon.connect()).initialize();
      expect(refused.error).toEqual(SIGN_IN);
      guarded.told += JSON.stringify(refused);
    }
    await guarded.signIn();
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'echo', { text: 'a' }))).toBe('a');

    await guarded.post('/expire');
    const ids = Array.from({ length: 20 }, (_, i) => 100 + i);
    for (const id of ids)
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'e', arguments: { text: `${id}` } } });
    const answers: string[] = [];
    for (const _ of ids) answers.push(textOf(await client.next()));
    expect(answers.sort()).toEqual(ids.map(String));
    expect(await guarded.counts()).toMatchObject({ registrations: 1, exchanges: 1, refreshes: 1, refused: 0 });

    guarded.told += JSON.stringify([await daemon.status(), daemon.log]);
    await daemon.stop();
    expect(guarded.told).not.toContain('s3cret');
  });
});

test('a sign-in is kept in a separate file that no other user can read', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  expect(guarded.files).toHaveLength(1);
  expect(statSync(join(guarded.file, '..')).mode & 0o777).toBe(0o700);
  expect(statSync(guarded.file).mode & 0o777).toBe(0o600);
  const { tokens } = JSON.parse(readFileSync(guarded.file, 'utf8')) as { tokens: Record<string, string> };
  expect(tokens.access_token).toMatch(/^s3cret-access/);
  expect(readdirSync(join(guarded.file, '..')).sort()).toEqual([...guarded.files, `${guarded.files[0]}.lock`]);
});

test('two daemons that refresh at once do not lose the refresh token', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const daemons = [await guarded.daemon(tempDir()), await guarded.daemon(tempDir())];
  const clients = await Promise.all(daemons.map((daemon) => daemon.client()));
  for (let round = 1; round <= 3; round++) {
    await guarded.post('/expire');
    const answers = await Promise.all(clients.map((client) => client.callTool(round, 'echo', { text: 'a' })));
    expect(answers.map(textOf)).toEqual(['a', 'a']);
    expect(await guarded.counts()).toMatchObject({ refreshes: round, refused: 0 });
  }
  for (const daemon of daemons) await daemon.stop();
});

test('after a revoked sign-in, calls ask for a new one, from the first that notices', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  await guarded.post('/revoke');
  for (const id of [1, 2]) {
    const answer = await client.callTool(id, 'echo', { text: 'a' });
    expect(answer.error).toEqual(SIGN_IN);
    guarded.told += JSON.stringify(answer);
  }
  await guarded.signIn();
  expect(textOf(await client.callTool(3, 'echo', { text: 'b' }))).toBe('b');
  guarded.told += JSON.stringify([await daemon.status(), daemon.log]);
  await daemon.stop();
  expect(guarded.told).not.toContain('s3cret');
});

test('a sign-in that cannot be renewed for a moment is kept', async () => {
  const guarded = await Guarded.start('sse', { type: 'sse' }); // whose only GET is over by then
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  await guarded.post('/expire');
  await guarded.post('/fail');
  const answer = await client.callTool(1, 'echo', { text: 'a' });
  expect(answer.error).toMatchObject({
    message: 'The sign-in to server guarded could not be renewed now',
    data: {
      ...{ code: 'SERVER_UNREACHABLE', server: 'guarded' },
      hint: expect.stringMatching(/ does not answer as it should \(\w+\)\. The next call tries it again\.$/),
    },
  });
  expect(textOf(await client.callTool(2, 'echo', { text: 'b' }))).toBe('b');
  expect(await guarded.counts()).toMatchObject({ exchanges: 1, refreshes: 1 });
  expect(JSON.stringify([answer, await daemon.status(), daemon.log])).not.toContain('s3cret');
  await daemon.stop();
});

const STEP_UP = {
  ...SIGN_IN,
  message: 'Server guarded wants you to sign in again, for more rights',
};

test('a call that needs more rights asks for a sign-in that keeps the granted ones, and disturbs nobody', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const [one, other] = [await readyClient(daemon), await readyClient(daemon)];
  for (const id of [1, 2]) expect((await one.callTool(id, 'write', { text: 'a' })).error).toEqual(STEP_UP);
  expect(textOf(await other.callTool(1, 'echo', { text: 'b' }))).toBe('b');

  const run = await guarded.begin();
  expect(run.printed).toMatch(/^To sign in to guarded with more rights \(write\), open this page:\n/);
  await fetch(run.page);
  expect(await run.exit).toBe(0);
  expect(textOf(await one.callTool(3, 'write', { text: 'c' }))).toBe('c');
  expect(textOf(await other.callTool(2, 'write', { text: 'd' }))).toBe('d');
  expect(await guarded.scopes()).toEqual(['mcp', 'mcp write']);
  const status = await daemon.status();
  expect(status.counters).toMatchObject({ serverStarts: 1 });
  expect(JSON.stringify([status, daemon.log, run.printed])).not.toContain('s3cret');
  await daemon.stop();
});

test('rights are asked for that earlier sign-ins had, also when they were revoked since', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  await client.callTool(1, 'write');
  await guarded.signIn();
  await guarded.post('/revoke');
  expect((await client.callTool(2, 'echo')).error).toEqual(SIGN_IN);
  await guarded.signIn();
  expect(textOf(await client.callTool(3, 'write', { text: 'a' }))).toBe('a');
  expect(await guarded.scopes()).toEqual(['mcp', 'mcp write', 'mcp write']);
  await daemon.stop();
});

test('rights that a sign-in has asked for in vain are not asked for again', async () => {
  const guarded = await Guarded.start();
  await guarded.post('/narrow');
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  expect((await client.callTool(1, 'write')).error).toEqual(STEP_UP);
  await guarded.signIn();
  expect(await guarded.scopes()).toEqual(['mcp', 'mcp write']);
  for (const id of [2, 3])
    expect((await client.callTool(id, 'write')).error).toEqual({
      code: -32603,
      message: 'Server guarded denies access (HTTP 403)',
      data: {
        ...{ code: 'SERVER_UNREACHABLE', server: 'guarded' },
        hint: `Check its url, at ${guarded.base}, and whether whoever has signed in may do this there.`,
      },
    });
  expect(textOf(await client.callTool(4, 'echo', { text: 'a' }))).toBe('a');
  await daemon.stop();
});

test('a server that asks for a sign-in at one tool goes on for all others', async () => {
  const guarded = await Guarded.start();
  await guarded.post('/open');
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  for (const id of [1, 2]) expect((await client.callTool(id, 'write')).error).toEqual(SIGN_IN);
  expect(textOf(await client.callTool(3, 'echo', { text: 'a' }))).toBe('a');
  expect((await daemon.status()).counters).toMatchObject({ serverStarts: 1 });
  await guarded.signIn();
  expect(await guarded.scopes()).toEqual(['write']);
  expect(textOf(await client.callTool(4, 'write', { text: 'b' }))).toBe('b');
  expect((await daemon.status()).counters).toMatchObject({ serverStarts: 1 });
  await daemon.stop();
});

const NAMES_ITSELF = { authorization_response_iss_parameter_supported: true };
const NOT_THE_ONE = 'the answer does not name the authorization server that was asked (iss)';

test.each<[string, object, (base: string) => object, string]>([
  ['another one answers', {}, () => ({ iss: 'https://other' }), NOT_THE_ONE],
  ['another one answers with an error', {}, () => ({ iss: 'https://o', code: null, error: 's3cret' }), NOT_THE_ONE],
  ['its name is spelled in another way', {}, (base) => ({ iss: `${base}/` }), NOT_THE_ONE],
  ['it says that it names itself, and does not', NAMES_ITSELF, () => ({}), NOT_THE_ONE],
  [
    'it says that it is another one',
    { issuer: 'https://other' },
    () => ({}),
    'its authorization server says that it is another one (issuer)',
  ],
  [
    'it wants the code over plain HTTP elsewhere',
    { token_endpoint: 'http://192.0.2.1/token' },
    () => ({}),
    'the address for its tokens is not https',
  ],
  [
    'the metadata is for another server',
    { resource: 'https://other/mcp' },
    () => ({}),
    'its metadata is for another server',
  ],
])('a sign-in ends without tokens where %s', async (_, told, back, reason) => {
  const guarded = await Guarded.start();
  await guarded.post('/told', told);
  await guarded.post('/back', back(guarded.base));
  const run = await guarded.begin();
  if (run.page !== '') await fetch(run.page);
  expect(await run.exit).toBe(1);
  expect(run.printed).toContain(`mcp-bridge: Signing in to guarded has failed: ${reason}.`);
  expect(run.printed).not.toContain('s3cret');
  expect(await guarded.counts()).toMatchObject({ exchanges: 0, refused: 0 });
});

test('a sign-in goes on where the authorization server names itself', async () => {
  const guarded = await Guarded.start();
  await guarded.post('/told', NAMES_ITSELF);
  await guarded.post('/back', { iss: guarded.base });
  await guarded.signIn();
  expect(await guarded.counts()).toMatchObject({ exchanges: 1 });
});

test('tokens of one authorization server are not shown to another one', async () => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const daemon = await guarded.daemon();
  const client = await readyClient(daemon);
  await guarded.post('/expire');
  await guarded.post('/move');
  expect((await client.callTool(1, 'echo')).error).toEqual(SIGN_IN);
  expect(await guarded.counts()).toMatchObject({ registrations: 1, refreshes: 0, refused: 0 });
  await guarded.signIn();
  expect(textOf(await client.callTool(2, 'echo', { text: 'a' }))).toBe('a');
  expect(await guarded.counts()).toMatchObject({ registrations: 2, exchanges: 2 });
  await daemon.stop();
});

test('a client of the settings is not shown to another authorization server before the former is forgotten', async () => {
  const guarded = await Guarded.start('http', { oauth: { clientId: 'known', clientSecret: 's3cret-client' } });
  await guarded.signIn();
  await guarded.post('/move');
  expect(await guarded.run()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('its authorization server is another one now'),
  });
  expect(await guarded.scopes()).toEqual(['mcp']);
  await guarded.run('--logout');
  await guarded.signIn();
  expect(await guarded.counts()).toMatchObject({ registrations: 0, exchanges: 2 });
});

const DOCUMENT = 'https://client.example/mcp-bridge.json';

test.each([
  ['reads such documents', { client_id_metadata_document_supported: true }, DOCUMENT, 0],
  ['reads none, and registers clients', {}, 'client-1', 1],
  ['says nothing of either', { registration_endpoint: null }, DOCUMENT, 0],
])(
  'a client that a document describes signs in where the authorization server %s',
  async (_, told, id, registrations) => {
    const guarded = await Guarded.start('http', { oauth: { clientId: DOCUMENT } });
    await guarded.post('/told', told);
    const run = await guarded.begin();
    expect(new URL(run.page).searchParams.get('client_id')).toBe(id);
    await fetch(run.page);
    expect(await run.exit).toBe(0);
    const daemon = await guarded.daemon();
    await guarded.post('/expire');
    expect(textOf(await (await daemon.client()).callTool(1, 'echo', { text: 'a' }))).toBe('a');
    expect(await guarded.counts()).toMatchObject({ registrations, exchanges: 1, refreshes: 1 });
    await daemon.stop();
  },
);

test('a sign-in that lasts is asked for where the authorization server has it', async () => {
  const guarded = await Guarded.start();
  await guarded.post('/told', { scopes_supported: ['mcp', 'offline_access'] });
  await guarded.signIn();
  expect(await guarded.scopes()).toEqual(['mcp offline_access']);
});

test('signing out forgets the tokens', async () => {
  const guarded = await Guarded.start();
  expect((await guarded.run('--logout')).stdout).toBe('Nobody was signed in to guarded.\n');
  await guarded.signIn();
  expect(await guarded.run('--logout')).toEqual({ code: 0, stdout: 'Signed out of guarded.\n', stderr: '' });
  expect(guarded.files).toEqual([]);
  const daemon = await guarded.daemon();
  expect((await (await daemon.connect()).initialize()).error).toEqual(SIGN_IN);
  await daemon.stop();
});

test('an answer with another state is refused, and the wait goes on', async () => {
  const guarded = await Guarded.start();
  const run = await guarded.begin();
  const back = new URL(new URL(run.page).searchParams.get('redirect_uri') ?? '');
  expect(back.hostname).toBe('127.0.0.1');
  expect((await fetch(`${back.href}?code=forged&state=wrong`)).status).toBe(400);
  expect((await fetch(`${back.href}?code=forged`)).status).toBe(400);
  expect((await fetch(`${back.origin}/favicon.ico`)).status).toBe(404);
  expect((await fetch(run.page)).status).toBe(200);
  expect(await run.exit).toBe(0);
  expect(run.printed).toMatch(/^To sign in to guarded, open this page:\nhttp.*\nSigned in to guarded\. .*\n$/);
});

test('a browser is opened at the page, unless that is not wanted', async () => {
  const guarded = await Guarded.start();
  const bin = tempDir();
  const opened = join(bin, 'opened');
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const PATH = `${bin}:${process.env.PATH}`;
  const quiet = await guarded.begin(['--no-browser'], { PATH });
  await fetch(quiet.page);
  await quiet.exit;
  expect(existsSync(opened)).toBe(false);

  const run = await guarded.begin([], { PATH });
  while (!existsSync(opened)) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(readFileSync(opened, 'utf8')).toBe(run.page);
  await fetch(run.page);
  expect(await run.exit).toBe(0);
});

test('where no browser can be opened, the page is enough', async () => {
  const guarded = await Guarded.start();
  const run = await guarded.begin([], { PATH: tempDir() });
  await fetch(run.page);
  expect(await run.exit).toBe(0);
});

test('a client that is known there is used, with its secret, at its port', async () => {
  const port = await startFixture('ws-server.mjs'); // a port that was free a moment ago
  endFixtures();
  const variable = '$' + '{CLIENT_SECRET}';
  const oauth = { clientId: 'known', clientSecret: variable, scope: 'all of it', callbackPort: port };
  const guarded = await Guarded.start('http', { oauth });
  guarded.env.CLIENT_SECRET = 's3cret-client';
  const run = await guarded.begin();
  const asked = new URL(run.page).searchParams;
  expect(Object.fromEntries(asked)).toMatchObject({
    client_id: 'known',
    redirect_uri: `http://127.0.0.1:${port}/callback`,
    scope: 'all of it',
    resource: `${guarded.base}/mcp`,
  });
  await fetch(run.page);
  expect(await run.exit).toBe(0);
  expect(readFileSync(guarded.file, 'utf8')).not.toContain('s3cret-client');
  const daemon = await guarded.daemon();
  await guarded.post('/expire');
  expect(textOf(await (await daemon.client()).callTool(1, 'echo', { text: 'a' }))).toBe('a');
  expect(await guarded.counts()).toEqual({ registrations: 0, exchanges: 1, refreshes: 1, refused: 0 });
  await daemon.stop();
});

test('a person who refuses gets a single line', async () => {
  const guarded = await Guarded.start('http', { oauth: { clientId: 'shy' } });
  const run = await guarded.begin();
  await fetch(run.page);
  expect(await run.exit).toBe(1);
  expect(run.printed.split('\n').slice(2)).toEqual(['mcp-bridge: The sign-in was refused: access_denied.', '']);
});

test('error texts of the server are not repeated', async () => {
  const guarded = await Guarded.start('http', { oauth: { clientId: 'known', clientSecret: 's3cret-wrong' } });
  const run = await guarded.begin();
  await fetch(run.page);
  expect(await run.exit).toBe(1);
  expect(run.printed).toContain('mcp-bridge: Signing in to guarded has failed: it does not accept this client.');
  expect(run.printed).not.toContain('s3cret');
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a server without sign-in gets a single line', async () => {
  const dir = tempDir();
  const file = join(dir, 'config.json');
  const closed = await closedPort();
  const mcpServers = {
    program: { command: 'true' },
    socket: { url: 'ws://127.0.0.1/' },
    token: { url: 'http://127.0.0.1/', headers: { Authorization: 's3cret' } },
    user: { url: 'http://me:s3cret@127.0.0.1/' },
    gone: { url: `http://127.0.0.1:${closed}/` },
    blocked: { url: 'http://127.0.0.1:9/' },
    plain: { url: `http://127.0.0.1:${await startFixture('http-server.mjs', 'http')}/mcp` },
  };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const lineFor = async (name: string): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(['auth', name, '--config', file], {
      env: { XDG_STATE_HOME: dir },
    });
    expect([code, stdout, stderr.split('\n').length]).toEqual([1, '', 2]);
    return stderr;
  };
  expect(await lineFor('none')).toContain(
    'There is no server none. There are: program, socket, token, user, gone, blocked, plain. See: mcp-bridge discover',
  );
  expect(await lineFor('program')).toContain('Server program has no sign-in');
  expect(await lineFor('socket')).toContain('Server socket has no sign-in');
  expect(await lineFor('token')).toContain('Server token has an Authorization header of its own');
  expect(await lineFor('user')).toContain('Server user has a user in its URL, which is used instead of a sign-in');
  expect(await lineFor('gone')).toContain(
    `Signing in to gone has failed: 127.0.0.1:${closed} could not be reached: ECONNREFUSED`,
  );
  expect(await lineFor('blocked')).toContain(
    'Signing in to blocked has failed: 127.0.0.1:9 could not be reached: bad port',
  );
  expect(await lineFor('plain')).toMatch(/Signing in to plain has failed: HTTP 40\d\./);
});

test.each<[string, (file: string) => void]>([
  ['is a link', (file) => symlinkSync('/dev/null', file)],
  [
    'can be read by others',
    (file) => {
      writeFileSync(file, '{}');
      chmodSync(file, 0o644);
    },
  ],
])('a file of tokens that %s is not used', async (_, spoil) => {
  const guarded = await Guarded.start();
  await guarded.signIn();
  const { file } = guarded;
  await guarded.run('--logout');
  spoil(file);
  const daemon = await guarded.daemon();
  expect((await (await daemon.connect()).initialize()).error).toMatchObject({
    message: `${file} is not this user's alone, or is a link`,
    data: { code: 'FILE_UNUSABLE' },
  });
  expect(await guarded.run('--logout')).toMatchObject({ code: 1, stdout: '' });
  await daemon.stop();
});

test('a server that another client has defined can be signed in to as well', async () => {
  const home = tempDir();
  mkdirSync(join(home, '.cursor'));
  writeFileSync(
    join(home, '.cursor/mcp.json'),
    JSON.stringify({ mcpServers: { far: { url: 'http://127.0.0.1:9/' } } }),
  );
  const env = { HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home };
  const { code, stdout } = await runCommand(['auth', 'far', '--logout'], { env, cwd: home });
  expect([code, stdout]).toEqual([0, 'Nobody was signed in to far.\n']);
});
