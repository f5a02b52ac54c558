// Prints themes as tables for people. A theme is { title, notes, columns, rows, targets, faults, raw }.
// It measures nothing and decides nothing.
import { verdictOf } from './target.mjs';

export function printTheme({ title, notes, columns, rows, targets, faults }) {
  console.log(`\n## ${title}\n`);
  for (const note of notes) console.log(`${note}\n`);
  printTable(columns, rows);
  console.log('');
  printTargets(targets);
  for (const fault of faults) console.log(`\nWRONG: ${fault}`);
}

function printTargets(targets) {
  if (targets.length === 0) return;
  const rows = targets.map((target) => [
    target.what,
    withUnit(target.value, target.unit),
    `${target.sense} ${withUnit(target.limit, target.unit)}`,
    verdictOf(target),
  ]);
  printTable(['what', 'figure', 'target', 'verdict'], rows);
}

const withUnit = (value, unit) => (unit === '' ? shown(value) : `${shown(value)} ${unit}`);

/** Markdown, so that it can be put into a document as it is. */
function printTable(columns, rows) {
  const cells = [columns, ...rows.map((row) => row.map(shown))];
  const widths = columns.map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)));
  const isText = columns.map((_, i) => rows.every((row) => typeof row[i] === 'string'));
  const aligned = (cell, i) => (isText[i] ? cell.padEnd(widths[i]) : cell.padStart(widths[i]));
  const line = (row) => `| ${row.map(aligned).join(' | ')} |`;
  const rule = widths.map((width, i) => (isText[i] ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  for (const row of [columns, rule, ...cells.slice(1)]) console.log(line(row));
}

function shown(value) {
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return '–';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
