// Draws the pictures of a terminal that README.md shows: runs the real command in a home of its own, and writes what it
// printed, colours included, as SVG. `node scripts/recording.mjs`, after a build; needs no network.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TARGET = join(ROOT, 'docs/images');

const FONT_SIZE = 13;
const CELL_WIDTH = 7.8;
const LINE_HEIGHT = 18;
const MARGIN = 18;
const TITLE_HEIGHT = 34;
const BACKGROUND = '#16181d';
const PLAIN = '#d7dae0';
const COLOURS = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
  90: '#8b929e',
};
/** A change of style, as a terminal takes it. Its codes are a group, so that `split` keeps them. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`, 'g');
/** How long a typed command stands alone, and how fast lines follow one another. */
const [TYPED_S, LINE_S] = [0.8, 0.06];

const home = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-bridge-recording-')));
const project = join(home, 'shop');
const PROGRAM = join(ROOT, 'dist/mcp-bridge.cjs');
const environment = {
  PATH: process.env.PATH,
  HOME: home,
  MCP_BRIDGE_SOCKET: join(home, 'bridge.sock'),
  FORCE_COLOR: '1',
};

try {
  settle();
  run('start');
  run('refresh'); // so that what servers have is known, as it is on a machine where the bridge was used before
  const first = [
    typed('discover'),
    typed('search merge a pull request'),
    typed('call files list_directory path=$PWD'),
    typed('status'),
  ];
  const demo = typed('demo');
  mkdirSync(TARGET, { recursive: true });
  draw('first-look.svg', 'mcp-bridge: what there is, a search, a call, what runs', first);
  draw('demo.svg', 'mcp-bridge demo: three clients share a server, which is then killed', [
    upTo(demo, 'What to do next'),
  ]);
} finally {
  run('stop');
  rmSync(home, { recursive: true, force: true });
}

/** Definitions as two clients and a project have them. Where a public server needs an account, its recorded tools stand in. */
function settle() {
  const recorded = (name) => ({ command: process.execPath, args: [join(ROOT, 'bench/recorded-server.mjs'), name] });
  const files = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  const define = (file, mcpServers) => writeFileSync(join(home, file), JSON.stringify({ mcpServers }));
  for (const dir of ['.cursor', 'shop']) mkdirSync(join(home, dir));
  define('.claude.json', { files: { command: process.execPath, args: [files, project] }, github: recorded('github') });
  define('.cursor/mcp.json', { playwright: recorded('playwright'), notion: recorded('notion') });
  for (const file of ['index.html', 'prices.csv']) writeFileSync(join(project, file), '');
  define('shop/.mcp.json', { database: recorded('postgres') });
}

function run(line) {
  const script = `mcp-bridge() { '${process.execPath}' '${PROGRAM}' "$@"; }; mcp-bridge ${line} 2>&1`;
  const { stdout } = spawnSync('bash', ['-c', script], { cwd: project, env: environment, encoding: 'utf8' });
  return stdout;
}

/** A command with all that it printed; the path of the temporary home is shown as a shell would write it. */
function typed(line) {
  const lines = run(line).replaceAll(home, '~').trimEnd().split('\n');
  return { command: `mcp-bridge ${line}`, lines };
}

/** The same without the lines from one that begins so. */
function upTo({ command, lines }, start) {
  const end = lines.findIndex((line) => line.startsWith(start));
  return {
    command,
    lines: lines
      .slice(0, end === -1 ? undefined : end)
      .join('\n')
      .trimEnd()
      .split('\n'),
  };
}

function draw(file, title, commands) {
  const rows = [];
  let second = 0.3;
  for (const { command, lines } of commands) {
    if (rows.length > 0) rows.push({ line: '', second });
    rows.push({ line: `\x1b[36m$\x1b[0m \x1b[1m${command}\x1b[0m`, second });
    second += TYPED_S;
    for (const line of lines) {
      second += LINE_S;
      rows.push({ line, second });
    }
    second += TYPED_S;
  }
  const columns = Math.max(...rows.map(({ line }) => line.replace(STYLE, '').length));
  const width = Math.ceil(2 * MARGIN + columns * CELL_WIDTH);
  const height = TITLE_HEIGHT + rows.length * LINE_HEIGHT + MARGIN;
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${20 + i * 20}" cy="17" r="6" fill="${fill}"/>`,
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: ${FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
  .b { font-weight: bold }
  @media (prefers-reduced-motion: no-preference) { g[style] { animation: show 1ms linear backwards; } }
  @keyframes show { from { opacity: 0 } to { opacity: 1 } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>
${dots.join('')}
${rows.map(({ line, second: at }, i) => row(line, i, at)).join('\n')}
</svg>
`;
  writeFileSync(join(TARGET, file), svg);
  process.stdout.write(`docs/images/${file}: ${rows.length} lines, ${svg.length} bytes\n`);
}

function row(line, index, second) {
  const y = TITLE_HEIGHT + (index + 1) * LINE_HEIGHT - 4;
  return `<g style="animation-delay:${second.toFixed(2)}s">${runsOf(line)
    .map((piece) => text(piece, y))
    .join('')}</g>`;
}

/** Each word group is set to the width of its cells, so that columns stand below one another in any font. */
function text({ column, content, bold, colour }, y) {
  const x = (MARGIN + column * CELL_WIDTH).toFixed(1);
  const length = (content.length * CELL_WIDTH).toFixed(1);
  const weight = bold ? ' class="b"' : '';
  return `<text x="${x}" y="${y}" textLength="${length}" fill="${colour}"${weight}>${escaped(content)}</text>`;
}

/** The parts of a line that look alike, without the gaps between columns. */
function runsOf(line) {
  const runs = [];
  let [column, bold, colour] = [0, false, PLAIN];
  for (const [i, part] of line.split(STYLE).entries()) {
    if (i % 2 === 1) {
      for (const code of part.split(';').map(Number)) {
        if (code === 0) [bold, colour] = [false, PLAIN];
        else if (code === 1) bold = true;
        else if (code === 22) bold = false;
        else colour = COLOURS[code] ?? PLAIN;
      }
      continue;
    }
    for (const { 0: content, index } of part.matchAll(/\S+(?: \S+)*/g))
      runs.push({ column: column + index, content, bold, colour });
    column += part.length;
  }
  return runs;
}

function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
