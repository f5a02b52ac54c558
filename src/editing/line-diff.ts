// The difference of two texts by lines, in the unified format. It first sets aside the common start and end, so that a
// small change in a large file costs little.

const CONTEXT = 3;
/** The limit of the comparison. Beyond it, the whole middle is shown as removed and added. */
const MOST_CELLS = 4_000_000;

export interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

export function lineDiff(before: string, after: string): string {
  const [from, to] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start++;
  let end = 0;
  while (end < Math.min(from.length, to.length) - start && from.at(-1 - end) === to.at(-1 - end)) end++;
  const middle = sequenceDiff(from.slice(start, from.length - end), to.slice(start, to.length - end));
  const same = (texts: readonly string[]): DiffLine[] => texts.map((text) => ({ sign: ' ', text }));
  return hunksOf([...same(from.slice(0, start)), ...middle, ...same(from.slice(from.length - end))]);
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The difference of two sequences, by the longest common subsequence. */
export function sequenceDiff(from: readonly string[], to: readonly string[]): DiffLine[] {
  const minus = (text: string): DiffLine => ({ sign: '-', text });
  const plus = (text: string): DiffLine => ({ sign: '+', text });
  if (from.length * to.length > MOST_CELLS) return [...from.map(minus), ...to.map(plus)];
  const lengths = commonLengths(from, to);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < from.length || j < to.length) {
    const [a, b] = [from[i], to[j]];
    if (a !== undefined && a === b) {
      lines.push({ sign: ' ', text: a });
      i++;
      j++;
    } else if (a !== undefined && (b === undefined || (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))) {
      lines.push(minus(a));
      i++;
    } else {
      lines.push(plus(b ?? ''));
      j++;
    }
  }
  return lines;
}

function commonLengths(from: readonly string[], to: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1));
  for (let i = from.length - 1; i >= 0; i--) {
    const [row, below] = [rows[i] as Uint16Array, rows[i + 1] as Uint16Array];
    for (let j = to.length - 1; j >= 0; j--)
      row[j] = from[i] === to[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
  }
  return rows;
}

function hunksOf(lines: readonly DiffLine[]): string {
  const isShown = lines.map(({ sign }) => sign !== ' ');
  const near = lines.map((_, i) => isShown.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).includes(true));
  let [result, from, to] = ['', 1, 1];
  for (let i = 0; i < lines.length; ) {
    let length = 0;
    while (i + length < lines.length && near[i + length] === near[i]) length++;
    const hunk = lines.slice(i, i + length);
    const [gone, come] = [countOf(hunk, '-'), countOf(hunk, '+')];
    const same = length - gone - come;
    if (near[i]) {
      const body = hunk.map(({ sign, text }) => `${sign}${text.replace(/\r$/, '')}\n`).join('');
      result += `@@ -${placeOf(from, same + gone)} +${placeOf(to, same + come)} @@\n${body}`;
    }
    from += same + gone;
    to += same + come;
    i += length;
  }
  return result;
}

function countOf(lines: readonly DiffLine[], sign: DiffLine['sign']): number {
  return lines.filter((line) => line.sign === sign).length;
}

function placeOf(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}
