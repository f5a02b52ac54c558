// The direction of dependencies between the rooms of src/ (docs/ARCHITECTURE.md).
const mayUse = {
  util: [],
  wire: ['util'],
  core: ['util', 'wire'],
  local: ['util', 'wire'],
  registry: ['util', 'local'],
  config: ['util', 'wire', 'core', 'local'],
  auth: ['util', 'wire', 'core', 'local'],
  discovery: ['util', 'wire', 'core', 'local', 'config'],
  editing: ['util', 'wire', 'core', 'local', 'config', 'discovery'],
  downstream: ['util', 'wire', 'core', 'local', 'auth'],
  client: ['util', 'wire', 'local', 'config'],
  shim: ['util', 'wire', 'client'],
  cli: ['util', 'client', 'config', 'local', 'registry', 'auth', 'discovery', 'editing', 'shim'],
  catalog: ['util', 'wire', 'core', 'local'],
  search: ['util'],
  'meta-tools': ['util', 'wire', 'core', 'search'],
  messaging: ['util', 'wire', 'core', 'meta-tools'],
  daemon: [
    ...['util', 'wire', 'core', 'local', 'config', 'registry', 'discovery', 'downstream', 'catalog'],
    ...['meta-tools', 'messaging'],
  ],
};

const layers = Object.entries(mayUse).map(([room, allowed]) => ({
  name: `${room}-uses-only-what-is-below`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^src/',
    pathNot: `^src/(${[room, ...allowed].join('|')})/`,
    // `serve` loads the daemon, and nothing else of it, when it runs.
    ...(room === 'cli' ? { dynamic: false } : {}),
  },
}));

module.exports = {
  forbidden: [
    ...layers,
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'cli-reaches-the-daemon-only-in-serve',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/serve\\.ts$' },
      to: { path: '^src/daemon/' },
    },
    {
      name: 'the-daemon-does-not-load-discovery',
      severity: 'error',
      from: { path: '^src/daemon/', pathNot: '^src/daemon/finder-program\\.ts$' },
      to: { path: '^src/discovery/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    { name: 'src-never-imports-tests', severity: 'error', from: { path: '^src/' }, to: { path: '^(test|bench)/' } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
};
