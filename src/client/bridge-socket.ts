// Opens a connection to the bridge's socket, once it is certain that the socket is this user's own.

import type { Socket } from 'node:net';
import { inspectSocket } from '../local/socket-path.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import type { FrameInput } from '../wire/frame-input.ts';
import { PatientSocket } from './patient-socket.ts';

/** With an `input` the socket reads frames into that, instead of emitting data. */
export async function openBridgeSocket(path: string, input?: FrameInput): Promise<Socket> {
  if (inspectSocket(path) === 'absent') throw notRunning(path);
  return new Promise((resolve, reject) => {
    const socket = new PatientSocket(input);
    socket.once('error', (error) => reject(connectError(path, error)));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.connect({ path });
  });
}

function notRunning(path: string, cause?: unknown): BridgeError {
  return new BridgeError('DAEMON_NOT_RUNNING', `No mcp-bridge runs at ${path}`, {
    hint: 'Start it with: mcp-bridge start',
    cause,
  });
}

function connectError(path: string, error: Error): BridgeError {
  const code = systemCode(error);
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return notRunning(path, error);
  return new BridgeError('SOCKET_UNUSABLE', `Cannot connect to ${path}: ${code ?? 'unknown error'}`, {
    cause: error,
    hint:
      code === 'EAGAIN'
        ? 'The daemon takes no connections at the moment; is it stopped?'
        : 'Check who owns the socket.',
  });
}

export function notBridge(path: string): BridgeError {
  return new BridgeError('SOCKET_UNUSABLE', `What answers at ${path} is no mcp-bridge`, {
    hint: 'End it, or name another socket with --mcp-bridge-socket or MCP_BRIDGE_SOCKET.',
  });
}
