// The plainest thing that can stand on the socket: each connection is piped to a server of its own, byte for byte.
// Nothing is read and nothing is shared, so its cost is that of one more hop.
//   node relay.mjs SOCKET COMMAND [ARGUMENT...]
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

const [path, command, ...args] = process.argv.slice(2);

createServer((socket) => {
  const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  socket.on('error', () => socket.destroy()).on('close', () => server.stdin.destroy());
  server.stdin.on('error', () => socket.destroy());
  server.on('exit', () => socket.destroy());
  socket.pipe(server.stdin);
  server.stdout.pipe(socket);
}).listen({ path, backlog: 1024 });
