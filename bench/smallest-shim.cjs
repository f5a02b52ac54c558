// The smallest program that can stand between stdio and the socket: it reads nothing of what passes.
// `connect` cannot start faster or be smaller than this. CommonJS, because Node starts that fastest.
//   node smallest-shim.cjs SOCKET
const socket = require('node:net').connect(process.argv[2]);
socket.pipe(process.stdout);
process.stdin.pipe(socket);
socket.on('close', () => process.exit(0)).on('error', () => process.exit(1));
