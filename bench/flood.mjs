// A peer that sends without end and never a newline, in a process of its own, over IPC: { path, bytes }.
// Whenever it is cut off it comes again, until all its bytes are sent.
import { once } from 'node:events';
import { connect } from 'node:net';

const CHUNK = Buffer.alloc(1 << 20, 'a');

/** Sends until it is cut off or `most` bytes are written; resolves to how many were. */
async function floodOnce(path, most) {
  const socket = connect(path);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => socket.destroy()).resume();
  socket.write('{"jsonrpc":"2.0","id":1,"method":"');
  while (!socket.destroyed && socket.bytesWritten < most) {
    if (!socket.write(CHUNK)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
  }
  const sent = socket.bytesWritten - socket.writableLength;
  socket.destroy();
  await closed;
  return sent;
}

process.on('message', async ({ path, bytes }) => {
  let sent = 0;
  let connections = 0;
  for (; sent < bytes; connections++) sent += await floodOnce(path, bytes - sent);
  process.send({ sent, connections });
});
process.on('disconnect', () => process.exit(0));
