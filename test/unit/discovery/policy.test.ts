import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Diagnostic } from '../../../src/discovery/diagnostic.ts';
import { discoverServers } from '../../../src/discovery/discovery.ts';
import { decidePolicy, OPEN_POLICY, type PolicySubject, refusalOfDialIn } from '../../../src/discovery/policy.ts';
import { type ListName, rulesIn } from '../../../src/discovery/policy-rules.ts';
import { fitsGlob, fitsUrl, urlPattern } from '../../../src/discovery/url-pattern.ts';
import { memoryHost } from '../../support/memory-host.ts';

const ENV: Readonly<Record<string, string>> = { HOST: 'h.example', PART: 'part', WIDE: '*', UP: '../x' };

function rules(list: ListName, value: unknown) {
  const diagnostics: Diagnostic[] = [];
  const found = rulesIn(value, list, { file: 'F', report: (it) => diagnostics.push(it), env: (name) => ENV[name] });
  return { found: found ?? [], names: diagnostics.map(({ name }) => name) };
}

const remote = (url: string): PolicySubject => ({
  ...{ name: 's', scope: 'user', file: 'f', transport: 'http', command: undefined, args: [], url },
});
const local = (...[command, ...args]: string[]): PolicySubject => ({
  ...{ name: 's', scope: 'user', file: 'f', transport: 'stdio', command, args, url: undefined },
});

const allows = (list: unknown, server: PolicySubject): boolean =>
  decidePolicy(server, { ...OPEN_POLICY, allowed: rules('allowedMcpServers', list).found }).isAllowed;
const denies = (list: unknown, server: PolicySubject): boolean =>
  !decidePolicy(server, { ...OPEN_POLICY, denied: rules('deniedMcpServers', list).found }).isAllowed;

test.each([
  ['https://*.corp.example/*', 'https://a.b.corp.example/x', true],
  ['https://*.corp.example/*', 'https://evil.example/.corp.example/x', false],
  ['https://*.corp.example/*', 'https://u:p@evil.example#.corp.example/', false],
  ['*://corp.example', 'wss://CORP.example./any/path', true],
  ['https://corp.example/mcp', 'https://corp.example/MCP', false],
  ['https://corp.example/mcp', 'https://corp.example/mcp?k=v', true],
  ['https://corp.example/mcp', 'https://corp.example/%6dcp', true],
  ['https://corp.example:443/mcp', 'https://corp.example/mcp', true],
  ['https://corp.example:8443/*', 'https://corp.example/mcp', false],
  ['http*://corp.example/*', 'https://corp.example/mcp', true],
  ['*', 'https://anything.example/x', true],
  ['*corp*', 'https://evil.example/corp', false],
])('%s and %s: %s', (pattern, url, fits) => {
  expect(fitsUrl(url, urlPattern(pattern) ?? { scheme: '', host: '', path: '' })).toBe(fits);
});

test.each(['example.com/*', '', 'https://', '/path', 'https:// x'])('no URL fits %j', (pattern) => {
  expect(urlPattern(pattern)).toBeUndefined();
});

test('a glob matches like the obvious regular expression', () => {
  const text = fc.stringMatching(/^[ab]{0,8}$/);
  const pattern = fc.stringMatching(/^[ab*]{0,8}$/);
  fc.assert(
    fc.property(text, pattern, (word, glob) => {
      expect(fitsGlob(word, glob)).toBe(new RegExp(`^${glob.replaceAll('*', '.*')}$`, 's').test(word));
    }),
  );
});

test('a glob takes a moment, however long it and the text are', () => {
  const length = 500_000;
  const text = 'a'.repeat(2 * length);
  for (const middle of ['a'.repeat(length), 'ab'.repeat(length / 2)]) {
    expect(fitsGlob(text, `*${middle}b*`)).toBe(false);
    expect(fitsGlob(`${text}${middle}b`, `a*${middle}b`)).toBe(true);
  }
  expect(fitsGlob(text, '*a'.repeat(length))).toBe(true);
  expect(fitsGlob(text, `${'*a'.repeat(length)}b`)).toBe(false);
  const { host, path } = urlPattern(`https://*/*${'a'.repeat(length)}b`) ?? {};
  expect(fitsUrl(`https://h.example/${text}`, { scheme: 'https', host: host ?? '', path })).toBe(false);
});

test('a command fits word by word, and no further word', () => {
  const list = [{ serverCommand: ['npx', '-y', `$\{PART}`] }];
  expect(allows(list, local('npx', '-y', 'part'))).toBe(true);
  expect(allows(list, local('npx', '-y', 'part', 'x'))).toBe(false);
  expect(allows(list, local('npx', '-y'))).toBe(false);
});

test('names count only if no rule is about commands or URLs', () => {
  expect(allows([{ serverName: 's' }], local('c'))).toBe(true);
  expect(allows([{ serverName: 's' }, { serverCommand: ['d'] }], local('c'))).toBe(false);
  expect(allows([{ serverName: 's' }, { serverCommand: ['d'] }], remote('https://x.example'))).toBe(true);
  expect(allows([{ serverName: 's' }, { serverUrl: 'https://y.example' }], remote('https://x.example'))).toBe(false);
  expect(allows([], local('c'))).toBe(false);
});

test('the environment cannot choose the server that an allow rule allows', () => {
  const urlOf = (name: string): string => `https://ok.example/$\{${name}}/x`;
  expect(allows([{ serverUrl: urlOf('PART') }], remote('https://ok.example/part/x'))).toBe(true);
  expect(rules('allowedMcpServers', [{ serverUrl: urlOf('WIDE') }]).names).toEqual(['allowedMcpServers[0]']);
  expect(rules('allowedMcpServers', [{ serverUrl: urlOf('UP') }]).names).toEqual(['allowedMcpServers[0]']);
  expect(rules('allowedMcpServers', [{ serverUrl: `https://$\{HOST}/x` }]).names).toEqual(['allowedMcpServers[0]']);
  expect(denies([{ serverUrl: `https://$\{HOST}/x` }], remote('https://h.example/x'))).toBe(true);
});

test('denial beats permission, and both name their rule', () => {
  const policy = {
    ...OPEN_POLICY,
    allowed: rules('allowedMcpServers', [{ serverName: 's' }]).found,
    denied: rules('deniedMcpServers', [{ serverName: 'other' }, { serverCommand: ['c'] }]).found,
  };
  expect(decidePolicy(local('c'), policy)).toMatchObject({ isAllowed: false, rule: 'deniedMcpServers[1] in F' });
  expect(decidePolicy(local('d'), policy)).toEqual({ isAllowed: true, rule: 'allowedMcpServers[0] in F' });
  expect(decidePolicy(local('d'), OPEN_POLICY)).toEqual({ isAllowed: true, rule: undefined });
});

test('hosted connectors can be refused, and admitted beside a managed file', () => {
  const hosted = { ...remote('https://x.example'), scope: 'hosted' };
  expect(decidePolicy(hosted, { ...OPEN_POLICY, refusesHosted: true }).isAllowed).toBe(false);
  expect(decidePolicy(hosted, { ...OPEN_POLICY, exclusiveFile: 'm' }).isAllowed).toBe(false);
  expect(decidePolicy(hosted, { ...OPEN_POLICY, exclusiveFile: 'm', admitsHosted: true }).isAllowed).toBe(true);
});

test.each([
  [{ serverName: 'git*' }, 'github', true],
  [{ serverName: 'git*' }, 'my-github', false],
  [{ serverName: '*' }, 'anything', true],
  [{ serverName: 'github' }, 'github', true],
])('the denial %j of the name %s: %s', (rule, name, isDenied) => {
  expect(denies([rule], { ...local('c'), name })).toBe(isDenied);
});

test.each<[string[], string[], boolean]>([
  [['npx', '-y', 'evil*'], ['npx', '-y', 'evil-server'], true],
  [['npx', '-y', 'evil*'], ['npx', '-y', 'evil-server', 'x'], false],
  [['npx', '*'], ['npx', '-y', 'evil-server', 'x'], true],
  [['npx', '*'], ['npx'], true],
  [['*/npx', '*'], ['/usr/bin/npx', 'x'], true],
  [['npx', '*', 'evil'], ['npx', '-y', 'evil'], true],
  [['npx', '*', 'evil'], ['npx', '-y', '-q', 'evil'], false],
  [['*'], ['anything', 'at', 'all'], true],
])('the denial of the command %j of %j: %s', (argv, command, isDenied) => {
  expect(denies([{ serverCommand: argv }], local(...command))).toBe(isDenied);
});

test('a wildcard allows nothing, and a rule that fits nothing is told', () => {
  expect(rules('allowedMcpServers', [{ serverName: 'git*' }]).names).toEqual(['allowedMcpServers[0]']);
  expect(rules('allowedMcpServers', [{ serverCommand: ['*'] }]).names).toEqual(['allowedMcpServers[0]']);
  expect(allows([{ serverCommand: ['npx', '*'] }], local('npx', 'evil'))).toBe(false);
  expect(rules('deniedMcpServers', [{ serverCommand: [''] }]).names).toEqual(['deniedMcpServers[0]']);
});

test('a server that connects by itself stands under the rules of every administrator', async () => {
  const refusal = async (name: string, files: Readonly<Record<string, object>>): Promise<boolean> => {
    const texts = Object.entries(files).map(([path, content]) => [path, { text: JSON.stringify(content) }] as const);
    const machine = { platform: 'linux', homedir: '/home/u', cwd: '/home/u/p' } as const;
    const { policies } = await discoverServers(memoryHost({ ...machine, files: Object.fromEntries(texts) }));
    return refusalOfDialIn(name, policies.everybody) !== undefined;
  };
  const settings = '/etc/claude-code/managed-settings.json';
  expect(await refusal('ide', {})).toBe(false);
  expect(await refusal('ide', { '/etc/claude-code/managed-mcp.json': { mcpServers: {} } })).toBe(true);
  expect(await refusal('ide', { [settings]: { deniedMcpServers: [{ serverName: 'i*' }] } })).toBe(true);
  expect(await refusal('ide', { [settings]: { allowedMcpServers: [{ serverName: 'other' }] } })).toBe(true);
  expect(await refusal('ide', { [settings]: { allowedMcpServers: [{ serverName: 'ide' }] } })).toBe(false);
  expect(await refusal('ide', { [settings]: { strictPluginOnlyCustomization: true } })).toBe(true);
  const copilot = '/etc/github-copilot/managed-settings.json';
  expect(await refusal('ide', { [copilot]: { deniedMcpServers: [{ serverName: 'ide' }] } })).toBe(true);
});
