// A terminal's screen as a person sees it: what was written, with lines that break at its width, cursor movements and erasures
// carried out. Knows only the few sequences that the command and readline use; colours are left out.

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is sent.
const PIECE = /\u001b\[\??([\d;]*)([A-Za-z])|[\s\S]/gu;

export function screenLines(written: string, columns: number): string[] {
  const lines: string[][] = [[]];
  let [row, column] = [0, 0];
  const lineAt = (at: number): string[] => {
    while (lines.length <= at) lines.push([]);
    return lines[at] ?? [];
  };
  for (const [piece, count = '', command] of written.replaceAll('␛', '\u001b').matchAll(PIECE)) {
    const n = Number(count) || 1;
    if (command === 'G') column = n - 1;
    else if (command === 'A') row = Math.max(0, row - n);
    else if (command === 'B') row += n;
    else if (command === 'C') column += n;
    else if (command === 'D') column = Math.max(0, column - n);
    else if (command === 'K') lineAt(row).length = Math.min(column, lineAt(row).length);
    else if (command === 'J') {
      lineAt(row).length = Math.min(column, lineAt(row).length);
      lines.length = row + 1;
    } else if (command !== undefined) continue;
    else if (piece === '\r') column = 0;
    else if (piece === '\n') row += 1;
    else {
      if (column >= columns) [row, column] = [row + 1, 0];
      const line = lineAt(row);
      while (line.length < column) line.push(' ');
      line[column] = piece;
      column += 1;
    }
  }
  lineAt(row);
  return lines.map((line) => line.join('').trimEnd());
}
