import { describe, expect, test } from 'vitest';
import { DEFAULT_AUDIT } from '../../../src/config/audit-settings.ts';
import { EMPTY_CONFIG } from '../../../src/config/config.ts';
import { type Validated, validate } from '../../../src/config/schema.ts';
import { DEFAULT_RESULTS } from '../../../src/model/settings.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { GlobBudget } from '../../../src/util/glob.ts';

const read = (file: unknown): Pick<Validated, 'config' | 'faults' | 'inDoubt'> => {
  const { config, faults, inDoubt } = validate(file, (path) => `/base/${path}`);
  return { config, faults, inDoubt };
};
const faultsOf = (file: unknown): readonly string[] => read(file).faults;
const server = (fields: object): object => ({ mcpServers: { s: { command: 'c', ...fields } } });

describe('a config file', () => {
  test('may be empty', () => {
    for (const file of [
      {},
      undefined,
      { mcpBridge: {}, client: {}, mcpServers: {}, limits: {}, liveness: {}, daemon: {} },
    ])
      expect(read(file)).toEqual({ config: EMPTY_CONFIG, faults: [], inDoubt: [] });
  });

  test('has no server with a name of more than 256 characters, and says so in a few words', () => {
    const [longest, tooLong] = ['n'.repeat(256), 'n'.repeat(100_000)];
    const { config, faults } = read({ mcpServers: { [longest]: { command: 'c' }, [tooLong]: { command: 'c' } } });
    expect(config.servers.map(({ name }) => name)).toEqual([longest]);
    expect(faults).toEqual([`mcpServers has a server whose name has more than 256 characters: ${'n'.repeat(64)}…`]);
  });

  test('is read as written', () => {
    const { config, faults } = read({
      $schema: 'x',
      mcpBridge: { socketPath: 'x.sock', autoConnect: false, reconnect: { maxAttempts: 3, initialDelayMs: 7 } },
      client: { id: 'me', view: 'server:a' },
      mcpServers: {
        a: {
          command: 'python',
          args: ['a.py', ''],
          env: { KEY: 'v', EMPTY: '' },
          cwd: 'dir',
          description: 'd',
          timeoutMs: 5,
          idleMs: 7,
          sharing: 'dedicated',
          maxConcurrentCalls: 0,
          trustHints: true,
        },
        b: { command: 'node' },
      },
      serverSettings: { found: { sharing: 'dedicated', idleMs: 5 }, other: { description: '', maxConcurrentCalls: 2 } },
      discovery: {
        enabled: false,
        precedence: 'first-wins',
        registries: ['../other/mcp_servers.json'],
        sources: ['team.json', '/opt/servers'],
        agentPlugins: ['plugins/a'],
        registryHosts: 'any',
        cache: { ttl: 60, enabled: false },
      },
      policy: { deniedMcpServers: [{ serverName: 'x' }] },
      limits: { maxClients: 7 },
      liveness: { pingPeriodMs: 0, maxMissedPings: 1, cutOffSilentClients: true },
      codeMode: { enabled: true, maxCalls: 9 },
      daemon: { idleExitMs: 5 },
      agents: { enabled: true, maxHops: 2, mailbox: { maxMessages: 3 }, policy: [{ from: 'a*', allow: false }] },
    });
    expect(faults).toEqual([]);
    expect(config).toEqual({
      socketPath: '/base/x.sock',
      autoConnect: false,
      reconnect: { isEnabled: true, maxAttempts: 3, initialDelayMs: 7, maxDelayMs: 5000 },
      clientId: 'me',
      view: 'server:a',
      toolsets: [],
      results: DEFAULT_RESULTS,
      clients: [],
      servers: [
        {
          name: 'a',
          transport: 'stdio',
          command: 'python',
          args: ['a.py', ''],
          env: { KEY: 'v', EMPTY: '' },
          cwd: '/base/dir',
          description: 'd',
          timeoutMs: 5,
          idleMs: 7,
          sharing: 'dedicated',
          maxConcurrentCalls: 0,
          trustHints: true,
          tools: NO_FILTER,
          dir: '/base/.',
        },
        {
          name: 'b',
          transport: 'stdio',
          command: 'node',
          args: [],
          env: {},
          cwd: undefined,
          dir: '/base/.',
          description: '',
          timeoutMs: undefined,
          startTimeoutMs: undefined,
          idleMs: undefined,
          sharing: undefined,
          trustHints: false,
          tools: NO_FILTER,
        },
      ],
      serverSettings: { found: { sharing: 'dedicated', idleMs: 5 }, other: { description: '', maxConcurrentCalls: 2 } },
      audit: EMPTY_CONFIG.audit,
      http: EMPTY_CONFIG.http,
      telemetry: EMPTY_CONFIG.telemetry,
      federationFaults: [],
      cache: { isKept: false, ttlMs: 60_000 },
      discovery: {
        isEnabled: false,
        precedence: 'first-wins',
        toolRules: [],
        registries: { files: ['/base/../other/mcp_servers.json'], mayBeRemote: true },
        sources: ['/base/team.json', '/base//opt/servers'],
        agentPlugins: ['/base/plugins/a'],
        synonyms: [],
        timeoutMs: 0,
        policy: { deniedMcpServers: [{ serverName: 'x' }] },
      },
      limits: { ...EMPTY_CONFIG.limits, maxClients: 7 },
      liveness: { pingPeriodMs: 0, maxMissedPings: 1, cutOffSilentClients: true },
      daemon: { idleExitMs: 5 },
      codeMode: { ...EMPTY_CONFIG.codeMode, enabled: true, maxCalls: 9 },
      agents: {
        ...EMPTY_CONFIG.agents,
        isEnabled: true,
        maxHops: 2,
        mailbox: { ...EMPTY_CONFIG.agents.mailbox, maxMessages: 3 },
        policy: [{ from: 'a*', to: '*', isAllowed: false }],
      },
      dialIn: [],
    });
  });

  test('with an unknown rule in agents.policy lets no agent speak', () => {
    for (const policy of [
      {},
      [7],
      [{ from: 'a', too: 'b', allow: true }],
      [{ from: 'a', allow: 'no' }],
      [{ from: '', allow: true }, { allow: true }],
    ]) {
      const { config, faults } = read({ agents: { policy } });
      expect(faults.length).toBeGreaterThan(0);
      expect(config.agents.policy).toEqual([{ from: '*', to: '*', isAllowed: false }]);
    }
  });

  test.each<[unknown, string]>([
    [[], 'The file must'],
    [null, 'The file must'],
    ['x', 'The file must'],
    [{ mcpserver: {} }, 'mcpserver is'],
    [{ mcpBridge: [] }, 'mcpBridge must'],
    [{ mcpBridge: { socketPath: '' } }, 'mcpBridge.socketPath must'],
    [{ mcpBridge: { socketPath: 7 } }, 'mcpBridge.socketPath must'],
    [{ client: 'x' }, 'client must'],
    [{ discovery: { enabled: 1 } }, 'discovery.enabled must'],
    [{ discovery: { precedence: 'x' } }, 'discovery.precedence is'],
    [{ discovery: { registries: 'x' } }, 'discovery.registries must'],
    [{ discovery: { sources: 'x' } }, 'discovery.sources must'],
    [{ discovery: { agentPlugins: [1] } }, 'discovery.agentPlugins[0] must'],
    [{ discovery: { registries: [1] } }, 'discovery.registries[0] must'],
    [{ discovery: { registryHosts: 'all' } }, 'discovery.registryHosts is'],
    [{ policy: [] }, 'policy must'],
    [{ policy: { allowed: [] } }, 'policy.allowed is not known'],
    [{ client: { id: null } }, 'client.id must'],
    [{ client: { id: 'a b' } }, 'client.id must be 1 to 128 printable ASCII characters, without spaces'],
    [{ client: { view: {} } }, 'client.view must'],
    [{ client: { view: 'sideways' } }, 'client.view is discover, all'],
    [server({ description: 7 }), 'mcpServers.s.description must'],
    [server({ comand: 'x' }), 'mcpServers.s.comand is not known (did you mean command?)'],
    [{ discovery: { search: [] } }, 'discovery.search must'],
    [{ discovery: { search: { synonims: [] } } }, 'discovery.search.synonims is not known (did you mean synonyms?)'],
    [{ discovery: { search: { synonyms: {} } } }, 'discovery.search.synonyms must be a list of lists'],
    [{ discovery: { search: { synonyms: [['one']] } } }, 'discovery.search.synonyms[0] needs 2 to 50 words'],
    [{ discovery: { search: { synonyms: ['a'] } } }, 'discovery.search.synonyms[0] must'],
    [{ discovery: { search: { synonyms: [['a', '--']] } } }, 'discovery.search.synonyms[0][1] must'],
    [{ mcpServers: [] }, 'mcpServers must'],
    [{ mcpServers: { s: 'x' } }, 'mcpServers.s must'],
    [{ mcpServers: { s: {} } }, 'mcpServers.s needs a command'],
    [{ mcpServers: { '': { command: 'x' } } }, 'mcpServers has a server whose name is empty'],
    [{ mcpServers: { 'a\nb': { command: 'x' } } }, 'mcpServers.a\nb needs a name'],
    [server({ url: 'https://x' }), 'mcpServers.s has both'],
    [server({ command: '' }), 'mcpServers.s.command must'],
    [server({ command: ['x'] }), 'mcpServers.s.command must'],
    [server({ args: 'x' }), 'mcpServers.s.args must'],
    [server({ args: ['x', 7] }), 'mcpServers.s.args[1] must'],
    [server({ env: [] }), 'mcpServers.s.env must'],
    [server({ env: { PORT: 80 } }), 'mcpServers.s.env.PORT must'],
    [server({ cwd: '' }), 'mcpServers.s.cwd must'],
    [server({ sharing: 'some' }), 'mcpServers.s.sharing is one of'],
    [server({ maxConcurrentCalls: -1 }), 'mcpServers.s.maxConcurrentCalls must be'],
    [{ serverSettings: { s: { sharing: 'some' } } }, 'serverSettings.s.sharing is one of'],
    [{ serverSettings: { s: { command: 'x' } } }, 'serverSettings.s.command'],
    [server({ trustHints: 1 }), 'mcpServers.s.trustHints must'],
    [{ discovery: { cache: { ttl: -1 } } }, 'discovery.cache.ttl must'],
    [{ limits: 1 }, 'limits must'],
    [{ limits: { maxCleints: 1 } }, 'limits.maxCleints is'],
    [{ liveness: [] }, 'liveness must'],
    [{ liveness: { pingPeriodMs: -1 } }, 'liveness.pingPeriodMs must'],
    [{ liveness: { pingPeriodMs: '1' } }, 'liveness.pingPeriodMs must'],
    [{ liveness: { maxMissedPings: 0 } }, 'liveness.maxMissedPings must'],
    [{ liveness: { cutOffSilentClients: 1 } }, 'liveness.cutOffSilentClients must'],
    [{ daemon: 1 }, 'daemon must'],
    [{ daemon: { idleExitMs: -1 } }, 'daemon.idleExitMs must'],
    [{ daemon: { idleExit: 1 } }, 'daemon.idleExit is'],
  ])('with a fault such as %j names its place', (file, beginning) => {
    expect(faultsOf(file)[0]).toMatch(new RegExp(`^${beginning.replace(/[.[\]()?]/g, '\\$&')}`));
  });

  test('leaves out a server with a fault, and nothing else', () => {
    const { config, faults } = read({
      client: { id: 'me' },
      mcpServers: { good: { command: 'a' }, bad: { command: 'b', args: [1], env: { A: 2 } }, other: { command: 'c' } },
    });
    expect(config.servers.map(({ name }) => name)).toEqual(['good', 'other']);
    expect(config.clientId).toBe('me');
    expect(faults).toEqual(['mcpServers.bad.args[0] must be a string', 'mcpServers.bad.env.A must be a string']);
  });

  test('never repeats the value of a variable in a fault', () => {
    expect(faultsOf(server({ env: { KEY: ['s3cret'] } })).join()).not.toContain('s3cret');
  });
});

describe('a limit', () => {
  test.each([
    ['maxMessageBytes', 1024, 1 << 30],
    ['maxDepth', 8, 4096],
    ['maxClients', 1, Number.MAX_SAFE_INTEGER],
    ['maxInFlightPerClient', 1, Number.MAX_SAFE_INTEGER],
    ['maxInFlightPerServer', 1, Number.MAX_SAFE_INTEGER],
    ['maxWaitingBytesPerClient', 0, Number.MAX_SAFE_INTEGER],
    ['maxWaitingBytesPerServer', 0, Number.MAX_SAFE_INTEGER],
    ['maxQueuedBytesPerClient', 65_536, Number.MAX_SAFE_INTEGER],
    ['maxQueuedBytesPerServer', 65_536, Number.MAX_SAFE_INTEGER],
    ['maxSubscribedBytesPerClient', 0, Number.MAX_SAFE_INTEGER],
    ['maxQuestions', 1, Number.MAX_SAFE_INTEGER],
    ['maxSuspendedCalls', 2, Number.MAX_SAFE_INTEGER],
    ['maxSuspendedBytes', 2, Number.MAX_SAFE_INTEGER],
    ['maxTasksPerServer', 1, Number.MAX_SAFE_INTEGER],
    ['maxDeathsPerMinute', 1, Number.MAX_SAFE_INTEGER],
    ['brokenMs', 1, Number.MAX_SAFE_INTEGER],
    ['termGraceMs', 0, Number.MAX_SAFE_INTEGER],
    ['maxDialIns', 0, Number.MAX_SAFE_INTEGER],
    ['stallTimeoutMs', 1, Number.MAX_SAFE_INTEGER],
    ['handshakeTimeoutMs', 1, Number.MAX_SAFE_INTEGER],
    ['startTimeoutMs', 1, Number.MAX_SAFE_INTEGER],
    ['drainTimeoutMs', 0, Number.MAX_SAFE_INTEGER],
  ] as const)('%s may be from %i to %i, and is the default beyond', (key, least, most) => {
    for (const value of [least, most]) {
      const { config, faults } = read({ limits: { [key]: value } });
      expect([config.limits, faults]).toEqual([{ ...EMPTY_CONFIG.limits, [key]: value }, []]);
    }
    for (const value of [least - 1, most + 1, least + 0.5, String(least), null, Number.NaN]) {
      const { config, faults } = read({ limits: { [key]: value } });
      expect([config.limits, faults]).toEqual([EMPTY_CONFIG.limits, [expect.stringContaining(`limits.${key} must`)]]);
    }
  });

  test.each(['toString', 'constructor'])('with the name %s is not known', (key) => {
    expect(faultsOf({ limits: { [key]: 1 } })).toEqual([`limits.${key} is not known`]);
  });
});

describe('a server at a URL', () => {
  const remote = (entry: object) => {
    const { config, faults } = read({ mcpServers: { s: { url: 'https://x/mcp', ...entry } } });
    return faults.length > 0 ? faults : config.servers;
  };

  test.each([
    [{}, 'auto'],
    [{ type: 'http' }, 'http'],
    [{ type: 'streamable-http' }, 'http'],
    [{ type: 'sse' }, 'sse'],
    [{ type: 'auto' }, 'auto'],
    [{ url: 'http://x' }, 'auto'],
    [{ url: 'ws://x' }, 'ws'],
    [{ url: 'wss://x', type: 'ws' }, 'ws'],
  ])('with %j is reached by %s', (entry, transport) => {
    const url = 'url' in entry ? entry.url : 'https://x/mcp';
    expect(remote(entry)).toMatchObject([{ name: 's', transport, url, headers: {}, headersHelper: undefined }]);
  });

  test('may say how to sign in', () => {
    const nothing = { clientId: undefined, clientSecret: undefined, scope: undefined, callbackPort: undefined };
    expect(remote({})).toMatchObject([{ oauth: nothing }]);
    const all = { clientId: 'a', clientSecret: 'b', scope: 'c d', callbackPort: 8080 };
    expect(remote({ oauth: all })).toMatchObject([{ oauth: all }]);
  });

  test('may have a helper for its headers, which runs in the directory of the file or another one', () => {
    expect(remote({ headersHelper: 'print it' })).toMatchObject([
      { headersHelper: { command: 'print it', cwd: '/base/.' } },
    ]);
    expect(remote({ headersHelper: 'x', cwd: 'dir' })).toMatchObject([{ headersHelper: { cwd: '/base/dir' } }]);
  });

  test.each([
    [{ url: 'ftp://x' }, 'mcpServers.s.url must be an http or https URL'],
    [{ url: 'https://' }, 'mcpServers.s.url must be an http or https URL'],
    [{ type: 'ws' }, 'mcpServers.s.url must be a ws or wss URL'],
    [{ type: 'http', url: 'ws://x' }, 'mcpServers.s.url must be an http or https URL'],
    [{ type: 'smtp' }, 'mcpServers.s.type is one of http, sse, ws, auto'],
    [{ type: 'toString' }, 'mcpServers.s.type is one of http, sse, ws, auto'],
    [{ type: 7 }, 'mcpServers.s.type is one of http, sse, ws, auto'],
    [{ oauth: 'x' }, 'mcpServers.s.oauth must be an object'],
    [{ oauth: { clientId: '' } }, 'mcpServers.s.oauth.clientId must be a string that is not empty'],
    [{ oauth: { clientSecret: 's3cret' } }, 'mcpServers.s.oauth.clientSecret needs a clientId'],
    [{ oauth: { callbackPort: 70_000 } }, 'mcpServers.s.oauth.callbackPort must be a whole number from 1 to 65535'],
    [{ oauth: { scopes: 'x' } }, 'mcpServers.s.oauth.scopes is not known (did you mean scope?)'],
    [{ headersHelper: ['x'] }, 'mcpServers.s.headersHelper must be a string that is not empty'],
    [{ headers: { A: 1 } }, 'mcpServers.s.headers.A must be a string'],
  ])('with %j is left out, with the reason', (entry, fault) => {
    expect(remote(entry)).toEqual([fault]);
  });
});

describe('synonyms', () => {
  test('are taken group by group; one that is not understood is left out alone', () => {
    const synonyms = [['ticket', 'incident'], ['one'], ['deploy', 'ship it', 'roll']];
    const { config, faults } = read({ discovery: { search: { synonyms } } });
    expect(config.discovery.synonyms).toEqual([synonyms[0], synonyms[2]]);
    expect(faults).toEqual(['discovery.search.synonyms[1] needs 2 to 50 words']);
  });

  test('may stand by their word in `search`, beside the groups', () => {
    const search = { synonyms: { ticket: ['incident', 'case'], deploy: 'ship it', a: ['--'], b: [] } };
    const { config, faults } = read({ discovery: { search: { synonyms: [['x', 'y']] } }, search });
    expect(config.discovery.synonyms).toEqual([
      ['x', 'y'],
      ['ticket', 'incident', 'case'],
    ]);
    expect(faults).toEqual([
      'search.synonyms.deploy must be a list of strings',
      'search.synonyms.a[1] must be a word, or a few, of at most 100 characters',
      'search.synonyms.b needs 2 to 50 words',
    ]);
    expect(read({ search: { synonyms: [['x', 'y']] } }).faults).toEqual(['search.synonyms must be an object']);
  });

  test('are no more than can be read in a moment', () => {
    const { config, faults } = read({ discovery: { search: { synonyms: new Array(1200).fill(['a', 'b']) } } });
    expect([config.discovery.synonyms.length, faults.length]).toEqual([1000, 1]);
  });
});

describe('rules for tools', () => {
  const rulesIn = (toolRules: unknown) => validate({ discovery: { toolRules } }, (path) => path, new GlobBudget());

  test('are taken as they stand, in their order', () => {
    const { config, faults } = rulesIn([
      { pattern: ['a*'], enabled: false },
      { pattern: ['b'], tags: ['x', 'y'] },
    ]);
    expect(faults).toEqual([]);
    expect(config.discovery.toolRules).toEqual([
      { patterns: ['a*'], isEnabled: false, tags: [] },
      { patterns: ['b'], isEnabled: undefined, tags: ['x', 'y'] },
    ]);
  });

  test('may have one pattern that stands alone', () => {
    const { config, faults } = rulesIn([{ pattern: 'a*', enabled: false }]);
    expect([config.discovery.toolRules, faults]).toEqual([[{ patterns: ['a*'], isEnabled: false, tags: [] }], []]);
  });

  test.each<[unknown, string, object]>([
    [{}, 'clients must be a list of entries', { servers: [], toolRules: [{ patterns: ['**'], isEnabled: false }] }],
    [[7], 'clients[0] must be an object', { servers: [], toolRules: [{ patterns: ['**'], isEnabled: false }] }],
    [[{}], 'clients[0].match is missing (such as {"name": "cursor*"})', { match: { name: undefined } }],
    [[{ match: { nam: 'x' } }], 'clients[0].match.nam is not known (did you mean name?)', { match: { name: ['x'] } }],
    [[{ match: { name: 7 } }], 'clients[0].match.name must be a list of strings', { match: { name: undefined } }],
    [[{ match: { name: 'x' }, servers: 7 }], 'clients[0].servers must be a list of strings', { servers: [] }],
    [
      [{ match: { name: 'x' }, toolRules: 7 }],
      'clients[0].toolRules must be a list of rules',
      { toolRules: [{ patterns: ['**'], isEnabled: false }] },
    ],
  ])('clients: %j closes', (clients, fault, entry) => {
    const { config, faults, inDoubt } = read({ clients });
    expect(faults).toContain(fault);
    expect(inDoubt).toEqual(['clients']);
    expect(config.clients).toMatchObject([entry]);
  });

  const NO_GLOB =
    'is not a glob: its brackets, braces or ranges make no sense (until then the rule forbids all tools, if it forbids any)';
  const forbids = (...patterns: string[]) => [{ patterns, isEnabled: false, tags: [] }];

  test.each<[unknown, string, unknown]>([
    [{}, 'discovery.toolRules must be a list of rules', forbids('**')],
    [[7], 'discovery.toolRules[0] must be an object', forbids('**')],
    [['x'], 'discovery.toolRules[0] must be an object', forbids('**')],
    [[{}], 'discovery.toolRules[0].pattern needs at least one pattern', []],
    [[{ pattern: 7, enabled: true }], 'discovery.toolRules[0].pattern must be a list of strings', []],
    [[{ pattern: 7, enabled: false }], 'discovery.toolRules[0].pattern must be a list of strings', forbids('**')],
    [[{ pattern: ['x', 1], enabled: false }], 'discovery.toolRules[0].pattern[1] must be a string', forbids('**')],
    [[{ pattern: ['x'], enabled: 1 }], 'discovery.toolRules[0].enabled must be true or false', forbids('x')],
    [[{ pattern: '{x', enabled: true }], `discovery.toolRules[0].pattern ${NO_GLOB}`, []],
    [[{ pattern: ['x', '{x'], enabled: false }], `discovery.toolRules[0].pattern[1] ${NO_GLOB}`, forbids('**')],
    [[{ pattern: '', enabled: false }], 'discovery.toolRules[0].pattern must be a list of strings', forbids('**')],
    [[{ pattern: ['x'], tags: [1] }], 'discovery.toolRules[0].tags[0] must be a string', []],
    [
      [{ pattern: ['x'], enable: false }],
      'discovery.toolRules[0].enable is not known (did you mean enabled?)',
      forbids('x'),
    ],
    [
      [{ patern: 'x', enabled: false }],
      'discovery.toolRules[0].patern is not known (did you mean pattern?)',
      forbids('x'),
    ],
    [[{ pattern: ['x'], zzz: 1, enabled: true }], 'discovery.toolRules[0].zzz is not known', []],
  ])('that say %j are said to be wrong, and open nothing that they may have closed', (toolRules, fault, read) => {
    const { config, faults, inDoubt } = rulesIn(toolRules);
    expect(faults).toContain(fault);
    expect([config.discovery.toolRules, inDoubt]).toEqual([read, ['discovery.toolRules']]);
  });

  test('under a misspelled name count as the right one', () => {
    const { config, inDoubt } = read({ discovery: { toolRule: [{ pattern: 'x', enabled: false }] } });
    expect([config.discovery.toolRules, inDoubt]).toEqual([forbids('x'), ['discovery.toolRules']]);
    expect(read({ discovery: [] }).config.discovery.toolRules).toEqual(forbids('**'));
  });
});

describe('a policy that is not understood', () => {
  test.each<[unknown, object]>([
    [{ onToolChange: 'blocked' }, { onToolChange: 'block', lists: {} }],
    [{ onToolchange: 'allow' }, { onToolChange: 'block', lists: {} }],
    [{ onToolChange: null }, { onToolChange: 'block', lists: {} }],
    [[], { onToolChange: 'block', lists: { deniesAll: true } }],
    [{ deniedMcpServers: {} }, { lists: { deniedMcpServers: {}, deniesAll: true } }],
    [
      { deniedMcpServers: [{ servername: 'memory' }] },
      { lists: { deniedMcpServers: [{ servername: 'memory' }], deniesAll: true } },
    ],
    [
      { deniedMcpServers: [{ serverCommand: 'x' }] },
      { lists: { deniedMcpServers: [{ serverCommand: 'x' }], deniesAll: true } },
    ],
    [{ deniedServers: [{ serverName: 'x' }] }, { lists: { deniedMcpServers: [{ serverName: 'x' }] } }],
    [{ allowedMcpServers: [{ servername: 'x' }] }, { lists: { allowedMcpServers: [{ servername: 'x' }] } }],
  ])('%j closes', (policy, { onToolChange, lists }: { onToolChange?: string; lists?: object }) => {
    const { config, inDoubt, faults } = read({ policy });
    expect(faults.length).toBeGreaterThan(0);
    expect([config.onToolChange, config.discovery.policy, inDoubt]).toEqual([onToolChange, lists, ['policy']]);
  });

  test('does so under a misspelled name too, and in a file that is no object', () => {
    const { config, inDoubt } = read({ polcy: { deniedMcpServers: [{ serverName: 'x' }] } });
    expect([config.discovery.policy, inDoubt]).toEqual([{ deniedMcpServers: [{ serverName: 'x' }] }, ['policy']]);
    const nothing = read([]);
    expect(nothing.config).toMatchObject({
      onToolChange: 'block',
      discovery: { policy: { deniesAll: true }, toolRules: [{ patterns: ['**'], isEnabled: false }] },
    });
    expect(nothing.inDoubt).toEqual(['policy', 'discovery.toolRules', 'clients', 'audit', 'agents']);
  });

  test('is not meant by faults elsewhere', () => {
    expect(read({ limits: { maxClients: 'x' }, discovery: { precedence: 7 }, comment: 1 }).inDoubt).toEqual([]);
  });
});

describe('the recording of calls', () => {
  test('is of nothing without a section, and of all calls with an empty one', () => {
    expect([validate({}, String).config.audit.isKept, auditIn({}).config.audit]).toEqual([false, DEFAULT_AUDIT]);
  });

  const auditIn = (audit: unknown) => validate({ audit }, (path) => `/dir/${path}`);

  test('is as the file says', () => {
    const { config, faults } = auditIn({
      enabled: false,
      file: 'log',
      maxBytes: 100_000,
      keep: 1,
      arguments: true,
      onFailure: 'refuse',
    });
    expect(faults).toEqual([]);
    expect(config.audit).toEqual({
      isKept: false,
      file: '/dir/log',
      maxBytes: 100_000,
      keep: 1,
      keepsArguments: true,
      onFailure: 'refuse',
    });
  });

  test.each([
    [{ enabled: 'no' }, 'audit.enabled must be true or false'],
    [{ file: '' }, 'audit.file must be a string that is not empty'],
    [{ maxBytes: 1000 }, 'audit.maxBytes must be a whole number from 65536 up'],
    [{ keep: 0 }, 'audit.keep must be a whole number from 1 to 1000'],
    [{ arguments: 'hash' }, 'audit.arguments must be true or false'],
    [{ onFailure: 'stop' }, 'audit.onFailure is one of continue, refuse'],
    [{ other: 1 }, 'audit.other is not known'],
  ])('and as usual where %j makes no sense, but that calls which cannot be recorded are refused', (audit, fault) => {
    const { config, faults, inDoubt } = auditIn(audit);
    expect([faults, inDoubt]).toEqual([[fault], ['audit']]);
    expect(config.audit).toEqual({ ...DEFAULT_AUDIT, onFailure: 'refuse' });
    expect(auditIn({ ...audit, onFailure: 'continue' }).config.audit.onFailure).toBe('continue');
  });
});

test('the ranker of a config stands relative to it, and is a text', () => {
  const resolved = (path: string): string => `/home/u/${path}`;
  expect(validate({ search: { ranker: 'r.mjs' } }, resolved).config.ranker).toBe('/home/u/r.mjs');
  for (const search of [{}, { ranker: '' }, { ranker: 7 }])
    expect(validate({ search }, resolved).config.ranker).toBe(undefined);
  expect(validate({ search: { ranker: 7 } }, resolved).faults[0]).toMatch(/^search\.ranker/);
});
