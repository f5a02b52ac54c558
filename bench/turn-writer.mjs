// Gathers the text that one turn of the event loop produces for a stream, and writes it once.
// Used by the echo server and the load generator, so that neither is what limits a measurement.

/** Returns write(text) for the stream. */
export function turnWriter(stream) {
  let gathered = '';
  const flush = () => {
    const text = gathered;
    gathered = '';
    stream.write(text);
  };
  return (text) => {
    if (gathered === '') setImmediate(flush);
    gathered += text;
  };
}
