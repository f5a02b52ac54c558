// Writes what comes from the table of settings (src/model/settings.ts): their part of config/mcp-bridge.schema.json, and
// the tables of docs/configuration.md. With `--check` nothing is written, and what is out of date is an error.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';

const SCHEMA = 'config/mcp-bridge.schema.json';
const PAGE = 'docs/configuration.md';

const bundled = buildSync({
  entryPoints: ['src/model/settings.ts'],
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
});
const { SETTINGS } = await import(`data:text/javascript,${encodeURIComponent(bundled.outputFiles[0].text)}`);

/** Markdown as a sentence for editors. */
function sentence(text) {
  const plain = text
    .replace(/ ?\(\[[^\]]*\]\([^)]*\)\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '');
  return `${plain[0].toUpperCase()}${plain.slice(1)}.`;
}

function property(row) {
  const description = sentence(row.text);
  const otherwise = row.default === undefined ? {} : { default: row.default };
  switch (row.kind) {
    case 'count': {
      const bounds = { minimum: row.least, ...(row.most === undefined ? {} : { maximum: row.most }) };
      return { type: 'integer', ...bounds, ...otherwise, description };
    }
    case 'flag':
      return { type: 'boolean', ...otherwise, description };
    case 'choice':
      return { enum: row.choices, ...otherwise, description };
    default:
      return { type: 'string', ...(row.mayBeEmpty ? {} : { minLength: 1 }), description };
  }
}

/** The section of the schema at a place such as `agents.mailbox`; a star is any name. */
function sectionAt(schema, place) {
  return place
    .split('.')
    .reduce((node, key) => (key === '*' ? node.additionalProperties : node.properties[key]), schema);
}

function withSchema(text) {
  const schema = JSON.parse(text);
  for (const [place, table] of Object.entries(SETTINGS)) {
    const section = sectionAt(schema, place);
    const rows = Object.fromEntries(Object.entries(table).map(([key, row]) => [key, property(row)]));
    const others = Object.entries(section.properties).filter(([key]) => !Object.hasOwn(rows, key));
    section.properties = { ...rows, ...Object.fromEntries(others) };
  }
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function line(key, row, columns) {
  const cells = {
    key: `\`${key}\``,
    default: row.default === undefined ? 'none' : row.kind === 'choice' ? `\`"${row.default}"\`` : String(row.default),
    meaning: row.text,
    beyond: row.beyond ?? '',
    counter: (row.counters ?? []).map((name) => `\`${name}\``).join(', '),
  };
  return `| ${columns.map((column) => cells[column]).join(' | ')} |`;
}

const HEADINGS = {
  key: 'key',
  default: 'default',
  meaning: 'meaning',
  beyond: 'what happens beyond it',
  counter: 'counter in `status`',
};

/** Between `<!-- settings: PLACE -->`, with a prefix for keys if there is one, and `<!-- end -->`. */
function withTables(text) {
  return text.replace(
    /(<!-- settings: (\S+)(?: prefix (\S+))? -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start, place, prefix = '', end) => {
      const rows = Object.entries(SETTINGS[place]);
      const hasDefaults =
        rows.every(([, row]) => 'default' in row && row.default !== undefined) || ['audit', 'results'].includes(place);
      const isLimits = rows.some(([, row]) => row.beyond !== undefined);
      const columns = [
        'key',
        ...(hasDefaults ? ['default'] : []),
        'meaning',
        ...(isLimits ? ['beyond', 'counter'] : []),
      ];
      const head = `| ${columns.map((column) => HEADINGS[column]).join(' | ')} |\n|${columns.map(() => ' --- |').join('')}\n`;
      return `${start}\n${head}${rows.map(([key, row]) => line(`${prefix}${key}`, row, columns)).join('\n')}\n\n${end}`;
    },
  );
}

const isSameJson = (one, other) => JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));

const stale = [];
for (const [path, rendered] of [
  [SCHEMA, withSchema],
  [PAGE, withTables],
]) {
  const before = readFileSync(path, 'utf8');
  const after = rendered(before);
  if (path === SCHEMA ? isSameJson(before, after) : after === before) continue;
  stale.push(path);
  if (process.argv.includes('--check')) continue;
  writeFileSync(path, after);
  if (path === SCHEMA) execFileSync('npx', ['biome', 'format', '--write', path]);
}
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`Not what the table of settings says: ${stale.join(', ')}. Run: node scripts/settings.mjs`);
  process.exitCode = 1;
}
