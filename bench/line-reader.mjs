// Cuts a byte stream into lines for the programs of this bench. A line that arrives whole in one chunk is a view of
// it; one that arrives in pieces is put together once. It has no limits, as both ends are ours.

const NEWLINE = 0x0a;

/** Returns a listener for 'data' that calls onLine(bytes) for each line that is not empty. */
export function lineReader(onLine) {
  let pieces = [];
  return (chunk) => {
    let from = 0;
    for (let newline = chunk.indexOf(NEWLINE); newline >= 0; newline = chunk.indexOf(NEWLINE, from)) {
      const end = chunk.subarray(from, newline);
      from = newline + 1;
      const line = pieces.length === 0 ? end : Buffer.concat([...pieces, end]);
      pieces = [];
      if (line.length > 0) onLine(line);
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  };
}
