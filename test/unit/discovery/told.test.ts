// What is said of what goes wrong: which variables steer, which rules block nothing, and where commands for headers run.

import { expect, test } from 'vitest';
import { definitionHash, discoverServers } from '../../../src/discovery/index.ts';
import { isSteering } from '../../../src/discovery/masked-text.ts';
import { memoryHost } from '../../support/memory-host.ts';

const HOST = { platform: 'linux', homedir: '/home/u' } as const;

test.each([
  ...['npm_config_registry', 'NPM_CONFIG_REGISTRY', 'PIP_INDEX_URL', 'UV_INDEX_URL', 'JDK_JAVA_OPTIONS'],
  ...['_JAVA_OPTIONS', 'JAVA_TOOL_OPTIONS', 'DOTNET_STARTUP_HOOKS', 'GIT_SSH_COMMAND', 'GIT_SSH', 'RUBYLIB', 'RUBYOPT'],
  ...['NODE_PATH', 'NODE_OPTIONS', 'PERL5LIB', 'PERL5OPT', 'HOME', 'HTTPS_PROXY', 'http_proxy', 'NODE_EXTRA_CA_CERTS'],
  ...[
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'BASH_ENV',
    'ENV',
    'PYTHONPATH',
    'PYTHONSTARTUP',
    'PATH',
    'Path',
    'LD_PRELOAD',
  ],
])('%s can make a program run something else', (name) => {
  expect(isSteering(name)).toBe(true);
});

test.each(['TOKEN', 'API_KEY', 'GIT_AUTHOR_NAME', 'MY_PATH', 'HOMEPAGE', 'LOG_LEVEL', 'ENVIRONMENT'])(
  '%s cannot',
  (name) => {
    expect(isSteering(name)).toBe(false);
  },
);

test('a command for headers of a project runs in that project, and that is approved with it', async () => {
  const waiting = async (cwd: string) => {
    const text = '{"mcpServers": {"s": {"type": "http", "url": "https://x.example/", "headersHelper": "./print"}}}';
    const { servers } = await discoverServers(memoryHost({ ...HOST, cwd, files: { [`${cwd}/.mcp.json`]: { text } } }));
    return servers[0];
  };
  const [here, there] = [await waiting('/home/u/p'), await waiting('/home/u/q')];
  expect([here?.cwd, there?.cwd]).toEqual(['/home/u/p', '/home/u/q']);
  if (here === undefined || there === undefined) throw new Error('nothing was found');
  expect(definitionHash(here)).not.toBe(definitionHash(there));
});

test.each([
  ['deniedMcpServers', 'error', true],
  ['allowedMcpServers', 'warn', false],
])('a rule of %s that cannot be understood is told as %s', async (list, level, isDenial) => {
  const policy = { [list]: [{ serverNam: 'x' }] };
  const files = { '/etc/claude-code/managed-settings.json': { text: JSON.stringify(policy) } };
  const host = memoryHost({ ...HOST, cwd: '/home/u/p', files });
  const { diagnostics } = await discoverServers(host, { policy, ownConfig: { file: '/c.json', servers: {} } });
  expect(diagnostics).toMatchObject([
    { level, code: 'policy-rule', path: '/c.json' },
    { level, code: 'policy-rule', path: '/etc/claude-code/managed-settings.json' },
  ]);
  // The bridge's own closes until it is mended; of another program's file that program says what counts.
  const [own, managed] = diagnostics.map(({ message }) => message);
  expect(own?.includes('every server is blocked')).toBe(isDenial);
  expect(managed?.includes('it blocks nothing')).toBe(isDenial);
});

test('a tool list with an invalid pattern is reported as an error, with its effect', async () => {
  const tools = { disabledTools: ['x', '{y'], enabledTools: ['a*'] };
  const text = JSON.stringify({ mcpServers: { s: { command: 'run', ...tools } } });
  const host = memoryHost({ ...HOST, cwd: '/home/u/p', files: { '/home/u/.cursor/mcp.json': { text } } });
  const { diagnostics } = await discoverServers(host);
  expect(diagnostics).toMatchObject([{ level: 'error', code: 'tool-filter', server: 's' }]);
  expect(diagnostics[0]?.message).toMatch(/denies all its tools, because the pattern "\{y" is not a glob/);
});
