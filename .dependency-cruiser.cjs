// The direction of dependencies between the rooms of src/ (docs/ARCHITECTURE.md). Imports of types count like any other:
// the rooms may use each other in one direction only, so no cycle crosses from one into another.
const { readdirSync } = require('node:fs');
const { join } = require('node:path');

const mayUse = {
  util: [],
  wire: ['util'],
  protocol: ['util', 'wire'],
  model: ['util', 'protocol', 'wire'],
  core: ['util', 'protocol', 'wire', 'model'],
  local: ['util', 'wire'],
  registry: ['util', 'local'],
  config: ['util', 'protocol', 'wire', 'model', 'local'],
  auth: ['util', 'wire', 'model', 'local'],
  discovery: ['util', 'wire', 'model', 'local', 'config'],
  editing: ['util', 'protocol', 'wire', 'model', 'local', 'config', 'discovery'],
  downstream: ['util', 'protocol', 'wire', 'model', 'core', 'local', 'auth'],
  client: ['util', 'protocol', 'wire', 'local', 'config', 'control'],
  ui: ['util', 'local', 'front', 'client'],
  // Browser code: of the others it has types, and what runs anywhere.
  dashboard: ['util', 'control', 'ui'],
  cli: [
    ...['util', 'protocol', 'model', 'client', 'config', 'local', 'registry', 'auth', 'discovery', 'editing'],
    ...['control', 'ui', 'code-mode'],
  ],
  catalog: ['util', 'protocol', 'wire', 'model', 'core', 'local'],
  search: ['util'],
  'meta-tools': ['util', 'protocol', 'wire', 'model', 'core', 'search'],
  'code-mode': ['util', 'protocol', 'wire', 'model', 'core', 'local', 'downstream', 'meta-tools'],
  messaging: ['util', 'protocol', 'wire', 'model', 'core', 'meta-tools'],
  results: ['util', 'protocol', 'wire', 'model', 'core', 'local', 'meta-tools'],
  front: ['util', 'protocol', 'wire', 'model'],
  telemetry: ['util', 'protocol', 'wire', 'model', 'core'],
  federation: ['util', 'protocol', 'wire', 'model'],
  control: ['util', 'protocol', 'wire', 'model', 'core', 'registry', 'downstream', 'catalog', 'messaging'],
  daemon: [
    ...[
      'util',
      'protocol',
      'wire',
      'model',
      'core',
      'local',
      'config',
      'registry',
      'discovery',
      'downstream',
      'catalog',
    ],
    ...['meta-tools', 'messaging', 'results', 'control', 'front', 'federation', 'code-mode', 'telemetry'],
  ],
};

const rooms = readdirSync(join(__dirname, 'src'));
const withoutRow = rooms.filter((room) => !Object.hasOwn(mayUse, room));
if (withoutRow.length > 0) throw new Error(`Rooms of src/ without a row in .dependency-cruiser.cjs: ${withoutRow}`);

/** The rooms on a way from a room back to itself; undefined if there is none. */
function circleFrom(room, way = []) {
  if (way.includes(room)) return [...way, room];
  for (const next of mayUse[room] ?? []) {
    const circle = circleFrom(next, [...way, room]);
    if (circle !== undefined) return circle;
  }
  return undefined;
}
for (const room of rooms) {
  const circle = circleFrom(room);
  if (circle !== undefined) throw new Error(`Rooms that may use each other in a circle: ${circle.join(' → ')}`);
}

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
      from: { path: '^src/cli/', pathNot: '^src/cli/commands/serve\\.ts$' },
      to: { path: '^src/daemon/' },
    },
    {
      name: 'the-command-knows-only-the-types-of-code-mode',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/code-mode/', pathNot: '^src/code-mode/type-declarations\\.ts$' },
    },
    {
      name: 'the-daemon-does-not-load-discovery',
      severity: 'error',
      from: { path: '^src/daemon/', pathNot: '^src/daemon/finder-program\\.ts$' },
      to: { path: '^src/discovery/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'clients-know-only-the-reports-of-control',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^src/control/', pathNot: '^src/control/(event-)?report\\.ts$' },
    },
    {
      name: 'commands-know-only-the-reports-of-control-and-their-text',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/control/', pathNot: '^src/control/(report|metrics-text)\\.ts$' },
    },
    {
      name: 'the-page-takes-of-other-rooms-only-types-and-printable',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: { path: '^src/(?!dashboard/|util/(?:printable|shell-words)\\.ts)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-page-runs-in-a-browser',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: { dependencyTypes: ['core'] },
    },
    { name: 'src-never-imports-tests', severity: 'error', from: { path: '^src/' }, to: { path: '^(test|bench)/' } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
};
