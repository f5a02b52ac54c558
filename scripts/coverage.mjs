// `make coverage`: runs all tests and says how many lines of src/ were run, in the processes of the tests and in the daemons and
// commands that they start. Fails if a test does, or below the least that is wanted.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LEAST_PERCENT = 90;
/** The files in dist/ that have a source map. The other commands run in the processes of the tests too. */
const BUNDLES = ['dist/mcp-bridge.cjs', 'dist/daemon.cjs'];
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of one segment of a source map. */
function numbersOf(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** Marks the characters of a bundle that one process has run. Ranges come from the outside in. */
function mark(run, { functions }) {
  const own = new Uint8Array(run.length);
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges) own.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  for (let at = 0; at < own.length; at++) run[at] |= own[at];
}

/** Calls back with each place of a bundle that comes from a line of src/, the first line being 1. */
function eachPlace(bundle, code, tell) {
  const { mappings, sources } = JSON.parse(readFileSync(`${bundle}.map`, 'utf8'));
  const files = sources.map((source) => resolve(dirname(bundle), source));
  let [source, line, from] = [0, 0, 0];
  for (const [row, text] of mappings.split(';').entries()) {
    let column = 0;
    for (const segment of text.split(',')) {
      const [columns = 0, otherSource = 0, lines = 0] = numbersOf(segment);
      column += columns;
      source += otherSource;
      line += lines;
      if (segment !== '') tell(files[source], line + 1, from + column);
    }
    from += (code[row]?.length ?? 0) + 1;
  }
}

/** The lines that processes of their own have run, by file. */
function linesRunIn(dir) {
  const runs = new Map(
    BUNDLES.map((name) => join(ROOT, name)).map((bundle) => [
      pathToFileURL(bundle).href,
      { bundle, code: readFileSync(bundle, 'latin1').split('\n'), run: new Uint8Array(readFileSync(bundle).length) },
    ]),
  );
  for (const name of readdirSync(dir)) {
    let result;
    try {
      ({ result } = JSON.parse(readFileSync(join(dir, name), 'utf8')));
    } catch {
      continue; // Of a process that was killed while it wrote.
    }
    for (const script of result) if (runs.has(script.url)) mark(runs.get(script.url).run, script);
  }
  const lines = new Map();
  for (const { bundle, code, run } of runs.values())
    eachPlace(bundle, code, (file, line, at) => {
      if (run[at] === 0) return;
      if (!lines.has(file)) lines.set(file, new Set());
      lines.get(file).add(line);
    });
  return lines;
}

/** How many lines there are, and how many were run; a line counts where a statement begins. */
function linesOf(coverage, alsoRun) {
  return Object.values(coverage).map(({ path, statementMap, s }) => {
    const lines = new Map();
    for (const [id, { start }] of Object.entries(statementMap))
      lines.set(start.line, lines.get(start.line) || s[id] > 0 || alsoRun.get(path)?.has(start.line) === true);
    return { path, all: lines.size, run: [...lines.values()].filter(Boolean).length };
  });
}

const sum = (files, key) => files.reduce((total, file) => total + file[key], 0);
const percentOf = (files) => (100 * sum(files, 'run')) / Math.max(1, sum(files, 'all'));

const given = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'mcpcov-'));
chmodSync(dir, 0o777); // some tests run the command as another user
const { status } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), ['run', '--coverage', ...given], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, CHILD_COVERAGE: dir },
});
const file = join(ROOT, 'coverage/coverage-final.json');
if (!existsSync(file)) process.exit(status ?? 1);
const coverage = JSON.parse(readFileSync(file, 'utf8'));
const alone = linesOf(coverage, new Map());
const all = linesOf(coverage, linesRunIn(dir));
rmSync(dir, { recursive: true, force: true });

const rooms = byRoom(all);
console.log('\nCoverage summary: lines of src/ that were run');
for (const [room, files] of [...rooms].sort(([, a], [, b]) => percentOf(a) - percentOf(b)))
  console.log(`  ${room.padEnd(12)} ${percentOf(files).toFixed(1)} %`);
console.log(`In the processes of the tests: ${percentOf(alone).toFixed(2)} %`);
console.log(
  `With the daemons and commands that they start: ${percentOf(all).toFixed(2)} % (least: ${LEAST_PERCENT} %)`,
);
process.exit(status === 0 && percentOf(all) >= LEAST_PERCENT ? 0 : 1);

function byRoom(files) {
  const rooms = new Map();
  for (const each of files) {
    const [room] = relative(join(ROOT, 'src'), each.path).split('/');
    rooms.set(room, [...(rooms.get(room) ?? []), each]);
  }
  return rooms;
}
