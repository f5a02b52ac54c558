import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ConfigPlace, findConfigFile } from '../../../src/config/config-file.ts';
import { runConfig } from '../../../src/config/config-program.ts';
import { LastGoodConfigs } from '../../../src/config/last-good.ts';
import { type LoadedConfig, loadConfig, loadOrLastGood, NO_CONFIG } from '../../../src/config/load.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

interface Home extends ConfigPlace {
  readonly cwd: string;
  readonly homedir: string;
  readonly xdgConfigHome: string;
  readonly runsPrograms: true;
}

/** A working directory, a home and an XDG directory, with files in them by their relative paths. */
function home(files: Readonly<Record<string, string>> = {}): Home {
  const dir = temporaryDir();
  for (const [path, text] of Object.entries({ 'cwd/.': '', 'home/.': '', 'xdg/.': '', ...files })) {
    const file = join(dir, path);
    mkdirSync(path.endsWith('/.') ? file : dirname(file), { recursive: true });
    if (!path.endsWith('/.')) writeFileSync(file, text);
  }
  return { cwd: join(dir, 'cwd'), homedir: join(dir, 'home'), xdgConfigHome: join(dir, 'xdg'), runsPrograms: true };
}

const load = (files: Readonly<Record<string, string>>, more: Partial<ConfigPlace> = {}): Promise<LoadedConfig> =>
  loadConfig({ ...home(files), ...more });
const withId = (id: string): string => JSON.stringify({ client: { id } });

async function failure(files: Readonly<Record<string, string>>, more: Partial<ConfigPlace> = {}): Promise<BridgeError> {
  try {
    await load(files, more);
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
  throw new Error('it was loaded');
}

describe('the config file that counts', () => {
  test('is none where there is none', async () => {
    expect(await load({})).toEqual(NO_CONFIG);
  });

  test('is the one in the working directory, before the one under XDG, before nothing', async () => {
    const files = { 'cwd/mcp-bridge.config.jsonc': withId('cwd'), 'xdg/mcp-bridge/config.json': withId('xdg') };
    expect((await load(files)).config.clientId).toBe('cwd');
    expect((await load({ 'xdg/mcp-bridge/config.json': withId('xdg') })).config.clientId).toBe('xdg');
  });

  test('is under ~/.config where XDG names no place', async () => {
    for (const xdgConfigHome of [undefined, '']) {
      const loaded = await load({ 'home/.config/mcp-bridge/config.json': withId('home') }, { xdgConfigHome });
      expect(loaded.config.clientId).toBe('home');
    }
  });

  test('is chosen among several by its ending', () => {
    const endings = ['json', 'jsonc', 'js', 'mjs'];
    for (const [i, ending] of endings.entries()) {
      const files = Object.fromEntries(endings.slice(i).map((one) => [`cwd/mcp-bridge.config.${one}`, '{}']));
      expect(findConfigFile(home(files)).file).toMatch(new RegExp(`\\.${ending}$`));
    }
  });

  test('is the named one, whatever else there is, relative to the working directory', async () => {
    const files = { 'cwd/mcp-bridge.config.json': withId('cwd'), 'cwd/sub/other.json': withId('named') };
    expect((await load(files, { named: 'sub/other.json' })).config.clientId).toBe('named');
  });

  test('is no program in the working directory, unless it may be run', async () => {
    const files = { 'cwd/mcp-bridge.config.mjs': 'process.exit(3)', 'xdg/mcp-bridge/config.json': withId('user') };
    const loaded = await load(files, { runsPrograms: false });
    expect([loaded.config.clientId, loaded.origin]).toEqual(['user', 'user']);
  });

  test('names its location, and has its servers as written', async () => {
    const text = '{ "mcpServers": { "a": { "command": 3 } } }';
    const { origin, servers, faults } = await load({ 'cwd/mcp-bridge.config.json': text });
    expect([origin, servers, faults.length]).toEqual(['directory', { a: { command: 3 } }, 1]);
    expect((await load({ 'cwd/x.json': text }, { named: 'x.json' })).origin).toBe('named');
  });

  test('must be there when it is named', async () => {
    const error = await failure({ 'cwd/mcp-bridge.config.json': '{}' }, { named: 'missing.json' });
    expect([error.code, error.message]).toEqual(['CONFIG_NOT_FOUND', expect.stringContaining('/cwd/missing.json')]);
  });
});

describe('a config file', () => {
  test('with a pattern for tools that is no glob has a fault, and its rule forbids all tools', async () => {
    const text = '{ "discovery": { "toolRules": [{ "pattern": "{x", "enabled": false }] } }';
    const { config, faults, inDoubt } = await load({ 'cwd/mcp-bridge.config.json': text });
    expect(faults).toEqual([expect.stringContaining('discovery.toolRules[0].pattern is not a glob')]);
    expect(config.discovery.toolRules).toEqual([{ patterns: ['**'], isEnabled: false, tags: [] }]);
    expect(inDoubt).toEqual(['discovery.toolRules']);
  });

  test('may have comments and trailing commas under either name, and a byte order mark', async () => {
    const text = '\ufeff// who\n{ "client": { /* me */ "id": "me", }, }\n';
    for (const name of ['mcp-bridge.config.json', 'mcp-bridge.config.jsonc'])
      expect((await load({ [`cwd/${name}`]: text })).config.clientId).toBe('me');
    expect((await load({ 'cwd/mcp-bridge.config.json': `\ufeff${withId('bom')}` })).config.clientId).toBe('bom');
  });

  test('may be a module', async () => {
    const loaded = await load({
      'cwd/mcp-bridge.config.mjs': 'const id = ["a", "b"].join("-");\nexport default { client: { id } };\n',
    });
    expect([loaded.config.clientId, loaded.faults]).toEqual(['a-b', []]);
  });

  test('with a syntax error names file, line and column', async () => {
    for (const [text, place] of [
      ['{\n  "client": {\n    "id": }\n}', ':3:11: '],
      ['{\n  "a": 1\n  "b": 2 // no comma\n}', ':3:3: '],
      ['{', ':1:2: '],
      ['', ':1:1: '],
    ] as const) {
      const error = await failure({ 'cwd/mcp-bridge.config.json': text });
      expect([error.code, error.message]).toEqual([
        'CONFIG_INVALID',
        expect.stringContaining(`/cwd/mcp-bridge.config.json${place}`),
      ]);
    }
  });

  test('that is a module with an error in it names the file', async () => {
    for (const text of ['export default {', 'throw new Error("on purpose");']) {
      const error = await failure({ 'cwd/mcp-bridge.config.mjs': text });
      expect([error.code, error.message]).toEqual([
        'CONFIG_INVALID',
        expect.stringContaining('/cwd/mcp-bridge.config.mjs failed'),
      ]);
    }
  });

  test('that is TypeScript without types is loaded on every Node, with its imports', async () => {
    const { config } = await load({
      'cwd/mcp-bridge.config.ts': "import { id } from './id.ts';\nexport default { client: { id } };",
      'cwd/id.ts': "import { ending } from './ending.mjs';\nexport const id = 'typed-' + ending;",
      'cwd/ending.mjs': "export const ending = 'x';",
    });
    expect(config.clientId).toBe('typed-x');
  });

  test('that is TypeScript with types needs a newer Node or the package beside it, and says so', async () => {
    const text = "const config: object = { client: { id: 'typed' } };\nexport default config;";
    const fake = "exports.transpileModule = (text) => ({ outputText: text.replace(': object', '') });";
    const beside = { 'cwd/node_modules/typescript/index.js': fake };
    expect((await load({ 'cwd/mcp-bridge.config.ts': text, ...beside })).config.clientId).toBe('typed');
    if (Number.parseInt(process.versions.node, 10) >= 22) return;
    const error = await failure({ 'cwd/mcp-bridge.config.ts': text });
    expect(error.message).toContain('/cwd/mcp-bridge.config.ts failed: ');
    expect(error.hint).toContain('leave the types out');
  });

  test('that was good once counts while it cannot be read', async () => {
    const place = home({ 'cwd/mcp-bridge.config.mjs': "export default { client: { id: 'good' }, oops: 1 };" });
    const problems: unknown[] = [];
    const lastGood = new LastGoodConfigs(join(place.homedir, 'state'), (error) => problems.push(error));
    const first = await loadOrLastGood(place, lastGood);
    writeFileSync(join(place.cwd, 'mcp-bridge.config.mjs'), 'throw new Error("on purpose");');
    const { faults, ...second } = await loadOrLastGood(place, lastGood);
    expect({ ...second, faults: faults.slice(1) }).toEqual(first);
    expect(faults[0]).toMatch(/mcp-bridge\.config\.mjs failed: on purpose\. What it said at \S+ is still used\.$/);
    // What another file said is no substitute.
    writeFileSync(join(place.cwd, 'other.mjs'), 'throw new Error("on purpose");');
    await expect(loadOrLastGood({ ...place, named: 'other.mjs' }, lastGood)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const kept = join(place.homedir, 'state/last-good-config');
    for (const name of readdirSync(kept)) expect(statSync(join(kept, name)).mode & 0o777).toBe(0o600);
    expect(problems).toEqual([]);
  });

  test('that cannot be read says so', async () => {
    const error = await failure({ 'cwd/mcp-bridge.config.json/x': '' });
    expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringMatching(/: it is a directory$/)]);
  });

  test('that is a pipe, a device or too large is not read, and delays nobody', async () => {
    const wordsFor = async (name: string, make: (file: string) => void): Promise<string> => {
      const place = home();
      make(join(place.cwd, name));
      const failed = await loadConfig(place).catch((error: unknown) => error);
      return failed instanceof BridgeError ? failed.message.replace(place.cwd, '') : 'it was loaded';
    };
    const pipe = (file: string): void => void execFileSync('mkfifo', [file]);
    const json = 'mcp-bridge.config.json';
    expect(await wordsFor(json, pipe)).toBe(`Cannot read /${json}: it is no regular file`);
    expect(await wordsFor(json, (file) => symlinkSync('/dev/zero', file))).toContain('it is no regular file');
    expect(await wordsFor('mcp-bridge.config.mjs', pipe)).toContain('it is no regular file');
    const large = (file: string): void => {
      writeFileSync(file, '');
      truncateSync(file, 6 * 1024 * 1024);
    };
    expect(await wordsFor(json, large)).toBe(`Cannot read /${json}: it is larger than 5 MB`);
  });

  test('means its paths from where it is, and ~ as the home', async () => {
    const servers = {
      a: { command: 'c', cwd: 'sub' },
      b: { command: 'c', cwd: '~/x' },
      c: { command: 'c', cwd: '~' },
      d: { command: 'c', cwd: '/abs' },
      e: { command: 'c', cwd: '~x' },
    };
    const place = home({
      'xdg/mcp-bridge/config.json': JSON.stringify({ mcpBridge: { socketPath: 'my.sock' }, mcpServers: servers }),
    });
    const { config } = await loadConfig(place);
    const dir = join(place.xdgConfigHome, 'mcp-bridge');
    expect(config.socketPath).toBe(join(dir, 'my.sock'));
    expect(config.servers.map((server) => server.transport === 'stdio' && server.cwd)).toEqual([
      join(dir, 'sub'),
      join(place.homedir, 'x'),
      place.homedir,
      '/abs',
      join(dir, '~x'),
    ]);
  });

  test('with faults is used for the rest', async () => {
    const { config, faults } = await load({
      'cwd/mcp-bridge.config.json': '{"client":{"id":"me"},"limits":{"maxClients":0}}',
    });
    expect([config.clientId, config.limits, faults.length]).toEqual(['me', NO_CONFIG.config.limits, 1]);
  });

  test('that is a module without a default export is an error', async () => {
    const file = { 'cwd/mcp-bridge.config.mjs': 'export const config = { client: { id: "me" } };\n' };
    await expect(load(file)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('no default export'),
    });
  });

  test.each([
    ['awaits what never comes', 'await new Promise(() => undefined);', 'does it await what never comes?'],
    ['ends its process', 'process.exit(0);', 'it ended before it exported anything'],
    ['exports what is no data', 'export default () => 1;', 'could not be cloned'],
  ])('that is a module which %s is an error', async (_, text, said) => {
    const error = await failure({ 'cwd/mcp-bridge.config.mjs': text });
    expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringContaining(said)]);
  });

  test.each([
    ['runs in circles', 'while (true);'],
    ['waits too long', 'await new Promise((resolve) => setTimeout(resolve, 1e9));'],
  ])('that is a module which %s is ended', async (_, text) => {
    const { cwd } = home({ 'cwd/x.mjs': text });
    await expect(runConfig(join(cwd, 'x.mjs'), 300)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/x\.mjs failed: it has not come to an end within 0\.3 s$/),
    });
  });

  test('that is a module counts as it is now, whichever kind of module it is', async () => {
    for (const [name, exported] of [
      ['mcp-bridge.config.mjs', 'export default'],
      ['mcp-bridge.config.js', 'module.exports ='],
    ]) {
      const place = home({ [`cwd/${name}`]: `${exported} { client: { id: 'before' } };` });
      expect((await loadConfig(place)).config.clientId).toBe('before');
      const file = join(place.cwd, name as string);
      writeFileSync(file, `${exported} { client: { id: 'after' } };`);
      utimesSync(file, 1, 1);
      expect((await loadConfig(place)).config.clientId).toBe('after');
    }
  });
});
