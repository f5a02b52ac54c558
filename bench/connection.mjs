// How a client of the bench reaches the other side: a Unix socket, a command's stdio, Streamable HTTP, SSE, or a
// WebSocket. It carries messages and knows nothing of what they say but their ids.
//   on: { message(object), lost(reason), failed(id, reason) }: lost once and for all, or only this one request
//   returns { send(line, id), close(), pid? }
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { openHttp, openSse } from './http-connection.mjs';
import { lineReader } from './line-reader.mjs';
import { turnWriter } from './turn-writer.mjs';
import { openWebSocket } from './websocket-connection.mjs';

const OPENERS = { unix: openSocket, command: openCommand, http: openHttp, sse: openSse, webSocket: openWebSocket };

/** `target` is one of { unix: path }, { command: [program, ...args] }, { http: url }, { sse: url }, { webSocket: url }. */
export function openConnection(target, on) {
  const [[kind, where]] = Object.entries(target);
  return OPENERS[kind](where, on);
}

function openSocket(path, on) {
  const socket = connect(path);
  return { send: overStreams(socket, socket, on), close: () => socket.destroy() };
}

function openCommand([command, ...args], on) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const close = () => {
    child.stdin.end();
    child.kill();
  };
  child.stdin.on('error', () => child.kill());
  child.on('error', () => child.stdout.destroy());
  return { send: overStreams(child.stdout, child.stdin, on), close, pid: child.pid };
}

function overStreams(input, output, on) {
  input.on(
    'data',
    lineReader((line) => on.message(JSON.parse(line.toString()))),
  );
  input.on('error', (error) => on.lost(error.message)).on('close', () => on.lost('closed'));
  return turnWriter(output);
}
