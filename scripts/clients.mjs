// Writes the table of clients and their files in docs/discovery.md, which comes from src/discovery/places.ts. With
// `--check` nothing is written, and a table that is out of date is an error.
import { readFileSync, writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';

const PAGE = 'docs/discovery.md';

async function imported(entry) {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

const { locationsOf } = await imported('src/discovery/locations.ts');
const { machineAt } = await imported('src/discovery/machine.ts');

const SYSTEMS = [
  { platform: 'linux', title: '', home: '/home/u', project: '/project' },
  { platform: 'darwin', title: 'macOS: ', home: '/Users/u', project: '/project' },
  { platform: 'win32', title: 'Windows: ', home: 'C:\\Users\\u', project: 'C:\\project' },
];

/** The files of each client on one system, in the order in which they count. */
function filesOn({ platform, title, home, project }) {
  const machine = machineAt({ platform, homedir: home, cwd: project, env: {} }, project);
  const clients = new Map();
  for (const { client, path, pattern, project: ofProject, format } of locationsOf(machine)) {
    if (format === 'ignored') continue;
    const whole = machine.path.join(path, ...pattern);
    const shown = whole.replace(home, '~').replace(`${project}${machine.path.sep}`, '');
    const files = clients.get(client) ?? { yours: new Set(), projects: new Set() };
    (ofProject === undefined ? files.yours : files.projects).add(`${title}\`${shown}\``);
    clients.set(client, files);
  }
  return clients;
}

/** A client that Linux does not have is shown with its files on another system. */
const clients = new Map(SYSTEMS.toReversed().flatMap((system) => [...filesOn(system)]));
const lines = [...clients]
  .sort(([one], [other]) => (one < other ? -1 : 1))
  .map(([client, { yours, projects }]) => `| \`${client}\` | ${[...yours].join(', ')} | ${[...projects].join(', ')} |`);
const table = ['| client | your files | in a project |', '| --- | --- | --- |', ...lines].join('\n');

const before = readFileSync(PAGE, 'utf8');
const after = before.replace(/(<!-- clients -->\n)[\s\S]*?(<!-- end -->)/, `$1\n${table}\n\n$2`);
if (after !== before && process.argv.includes('--check')) {
  console.error(`The table of clients in ${PAGE} is not what places.ts says. Run: node scripts/clients.mjs`);
  process.exitCode = 1;
} else writeFileSync(PAGE, after);
