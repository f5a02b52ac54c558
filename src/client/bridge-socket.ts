// Opens a connection to the bridge's socket, after checking that the socket is this user's own. Its socket reads
// everything that the daemon said before it went.

import { Socket, type SocketConstructorOpts } from 'node:net';
import { inspectSocket } from '../local/socket-path.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import type { FrameInput } from '../wire/frame-input.ts';

/** Opens the socket. With an `input`, it reads frames into that instead of emitting data. */
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

type Done = (error?: Error | null) => void;
/**
 * The failures of a write to a peer that has gone. After any other failure the peer may still be there, and reading
 * would never end.
 */
const GONE: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET']);

type Chunks = { chunk: unknown; encoding: BufferEncoding }[];

/**
 * A socket that goes on reading after a failed write to a peer that has gone: the peer's last words are still in the
 * kernel, and say more than the failure. With an input, it reads frames into that and emits no data.
 */
export class PatientSocket extends Socket {
  /** The bytes that the kernel has taken; the other side may have read them. */
  takenBytes = 0;
  readonly input: FrameInput | undefined;

  constructor(input?: FrameInput) {
    super(input === undefined ? {} : ({ onread: input.reader() } as SocketConstructorOpts));
    this.input = input;
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    this.#write(bytesOf(chunk, encoding), (written) => super._write(chunk, encoding, written), done);
  }

  override _writev(chunks: Chunks, done: Done): void {
    const bytes = chunks.reduce((sum, { chunk, encoding }) => sum + bytesOf(chunk, encoding), 0);
    this.#write(bytes, (written) => super._writev?.(chunks, written), done);
  }

  #write(bytes: number, write: (written: Done) => void, done: Done): void {
    let isRefused = false;
    let hasReturned = false;
    write((error) => {
      if (!error) return done();
      // Node writes at once, and retries only the rest of a partial write. So nothing of this write was taken.
      if (!hasReturned) isRefused = true;
      if (!GONE.has(systemCode(error)) || this.readableEnded || this.destroyed) return done(error);
      this.once('end', () => done(error));
    });
    hasReturned = true;
    if (!isRefused) this.takenBytes += bytes;
  }
}

function bytesOf(chunk: unknown, encoding: BufferEncoding): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : (chunk as Uint8Array).length;
}
