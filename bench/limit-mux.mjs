// The limit that the bridge is compared with: many clients on a socket share one server, ids are replaced in the bytes,
// and that is all. No check, no limit, no back-pressure, no restart, no progress, no cancelling: a measure for the hot
// path of a multiplexer in Node, and not one to use.
//   node limit-mux.mjs SOCKET COMMAND [ARGUMENT...]
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { found, scanTopLevel } from './limit-mux-scan.mjs';
import { TurnBlockWriter } from './limit-mux-writer.mjs';

const NEWLINE = 0x0a;
const [path, command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const toServer = new TurnBlockWriter(server.stdin);

/** Our id towards the server -> who asked, and under which id. */
const asked = new Map();
let nextId = 1;

/** Calls onMessage(bytes, start, end); a newline is at bytes[end]. */
function messages(onMessage) {
  let pieces = [];
  return (chunk) => {
    let from = 0;
    let newline = chunk.indexOf(NEWLINE);
    if (newline >= 0 && pieces.length > 0) {
      const whole = Buffer.concat([...pieces, chunk.subarray(0, newline + 1)]);
      pieces = [];
      onMessage(whole, 0, whole.length - 1);
      from = newline + 1;
      newline = chunk.indexOf(NEWLINE, from);
    }
    for (; newline >= 0; newline = chunk.indexOf(NEWLINE, from)) {
      onMessage(chunk, from, newline);
      from = newline + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  };
}

/** Passes the message on with another id. */
function pass(writer, { b, start, end, id }) {
  writer.bytes(b, start, found.idFrom);
  writer.latin1(id);
  writer.bytes(b, found.idTo, end + 1);
}

const answerTo = (writer, id, resultJson) => writer.latin1(`{"jsonrpc":"2.0","id":${id},"result":${resultJson}}\n`);

function onClientMessage(writer, b, start, end) {
  scanTopLevel(b, start);
  if (found.idFrom < 0) return; // a notification
  const id = b.latin1Slice(found.idFrom, found.idTo);
  const method = b.latin1Slice(found.methodFrom, found.methodTo);
  if (method === 'initialize') return void initialized.then((resultJson) => answerTo(writer, id, resultJson));
  if (method === 'ping') return answerTo(writer, id, '{}');
  const ours = nextId++;
  asked.set(ours, { writer, id });
  pass(toServer, { b, start, end, id: String(ours) });
}

function onServerMessage(b, start, end) {
  scanTopLevel(b, start);
  if (found.idFrom < 0) return;
  const ours = Number(b.latin1Slice(found.idFrom, found.idTo));
  const request = asked.get(ours);
  if (request === undefined) return;
  asked.delete(ours);
  pass(request.writer, { b, start, end, id: request.id });
}

/** Shakes hands with the server once, for all clients. */
function initializeServer() {
  const clientInfo = { name: 'limit-mux', version: '1.0.0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`);
  return new Promise((resolve) => {
    const first = messages((b, start, end) => {
      server.stdout.off('data', first).on('data', messages(onServerMessage));
      server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
      resolve(JSON.stringify(JSON.parse(b.toString('utf8', start, end)).result));
    });
    server.stdout.on('data', first);
  });
}

const initialized = initializeServer();
server.on('exit', () => process.exit(1));
createServer((socket) => {
  const writer = new TurnBlockWriter(socket);
  socket.on('error', () => socket.destroy());
  socket.on(
    'data',
    messages((b, start, end) => onClientMessage(writer, b, start, end)),
  );
}).listen({ path, backlog: 1024 });
