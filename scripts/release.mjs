// Tries a release without publishing it: looks at the version, packs it, installs the packed file into an empty home, and
// uses it there as a stranger would. Changes nothing outside a temporary directory and `dist/`. `make release` runs all
// checks and tests first.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
const tag = `v${version}`;
const dir = mkdtempSync(join(tmpdir(), 'mcp-bridge-release-'));
const findings = [];

const say = (text) => process.stdout.write(`${text}\n`);
const output = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });

try {
  examineVersion();
  const file = pack();
  tryOut(file);
  copyFileSync(join(dir, file), file);
  say(`\n${file} is here, and works.`);
  say(findings.length > 0 ? notReady() : leftToDo(file));
} catch (error) {
  process.stderr.write(`${error.stdout ?? ''}${error.stderr ?? ''}make release: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** Notes what keeps this commit from being the release; a trial run may come before that is done. */
function examineVersion() {
  if (output('git', ['status', '--porcelain']) !== '') findings.push('There are changes that are not committed.');
  if (output('git', ['tag', '--list', tag]) !== '')
    findings.push(`The tag ${tag} exists: raise the version in package.json.`);
  if (!new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm').test(readFileSync('CHANGELOG.md', 'utf8')))
    findings.push(`CHANGELOG.md has no section ${version}: put this version and the date over what is "Unreleased".`);
}

/** Packs what a checkout of this commit would pack; its name. */
function pack() {
  const said = JSON.parse(output('npm', ['pack', '--json', '--pack-destination', dir]));
  // An array, or since npm 12 an object by the packages' names.
  const [{ filename, size, files }] = Object.values(said);
  say(`packed    ${filename}: ${files.length} files, ${Math.ceil(size / 1000)} kB`);
  return filename;
}

/** Installs the packed file where nothing else is, and has it do its main job with nobody's settings but its own. */
function tryOut(file) {
  const prefix = join(dir, 'prefix');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  output('npm', ['install', '--global', '--prefix', prefix, ...quiet, join(dir, file)], { cwd: dir });
  const home = mkdtempSync(join(dir, 'home-'));
  const env = {
    PATH: [join(prefix, 'bin'), process.env.PATH].join(delimiter),
    HOME: home,
    MCP_BRIDGE_SOCKET: join(home, 'b.sock'),
  };
  const run = (...args) => output('mcp-bridge', args, { cwd: home, env });

  const installed = run('--version').trim();
  if (installed !== version) throw new Error(`the installed command says that it is ${installed}, not ${version}`);
  say(`installed ${name} ${installed}`);
  run('demo');
  say('worked    mcp-bridge demo');
  try {
    run('servers');
    const { content } = JSON.parse(run('call', 'example', 'echo', 'text=hello', '--json'));
    if (!JSON.stringify(content).includes('hello'))
      throw new Error('a call through the installed command has no answer');
    say('worked    a call through a daemon of its own');
  } finally {
    run('stop');
  }
  useLibrary(prefix);
}

/** A program that imports the library as others do. */
function useLibrary(prefix) {
  const program = join(prefix, 'lib/node_modules/library.mjs');
  writeFileSync(
    program,
    `import { connectToBridge } from '${name}/client';
     import { discoverServers } from '${name}/discovery';
     import { listServers } from '${name}/registry';
     for (const used of [connectToBridge, discoverServers, listServers]) if (typeof used !== 'function') process.exit(1);`,
  );
  if (!existsSync(join(prefix, 'lib/node_modules', name))) throw new Error('the package is not where npm installs it');
  output(process.execPath, [program]);
  say('worked    import of client, discovery and registry');
}

function notReady() {
  return `
It is not the release yet. Settle this, commit, and run make release again:
${findings.map((finding) => `  - ${finding}`).join('\n')}
docs/versioning.md says which version it is; npm version --no-git-tag-version X.Y.Z writes it.`;
}

function leftToDo(file) {
  return `
Left to do by hand, in this order:
  1. make conformance, make torture, make bench: compare with docs/performance.md
  2. npm audit --omit=dev
  3. wait until CI is green for this commit
  4. git tag --sign ${tag} && git push origin main ${tag}
  5. npm publish ${file}
  6. a release on the forge, with the section of CHANGELOG.md and the file`;
}
