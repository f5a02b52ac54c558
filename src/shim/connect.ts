// `connect`: stdin and stdout on one side, the bridge's socket on the other. It runs once for each client, so it loads
// nothing that it can do without. It reads the client's `initialize`, to add who asks and for what, and from then on
// passes bytes.

import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

export interface Relay {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly socket: Socket;
  /** Goes into `_meta` of the client's `initialize`, where the client has not set it itself. */
  readonly meta: Readonly<Record<string, string>>;
}

/** Relays until both sides are done. Resolves to whether the client was the one to end it. */
export function relay({ stdin, stdout, socket, meta }: Relay): Promise<boolean> {
  return new Promise((resolve) => {
    let clientIsDone = false;
    const clientGone = (): void => {
      clientIsDone = true;
      socket.destroy();
    };
    stdin.once('end', () => {
      clientIsDone = true;
    });
    stdin.on('error', clientGone);
    stdout.on('error', clientGone);
    socket.on('error', () => socket.destroy());
    // Not before the client's pipe has taken what was written to it.
    socket.once('close', () => stdout.write('', () => resolve(clientIsDone)));
    socket.pipe(stdout, { end: false });
    introduce(stdin, socket, meta);
  });
}

const NEWLINE = 0x0a;
/** An `initialize` is shorter; what is longer is not waited for. */
const LONGEST_INTRODUCTION = 1024 * 1024;

/** Passes lines on until `initialize` has gone, then everything. */
function introduce(stdin: Readable, socket: Socket, meta: Relay['meta']): void {
  let unread: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    if (unread.length > LONGEST_INTRODUCTION) return passAll();
    for (let newline = unread.indexOf(NEWLINE); newline >= 0; newline = unread.indexOf(NEWLINE)) {
      const line = unread.subarray(0, newline + 1);
      unread = unread.subarray(newline + 1);
      const introduced = withMeta(line, meta);
      socket.write(introduced ?? line);
      if (introduced !== undefined) return passAll();
    }
  };
  const passAll = (): void => {
    stdin.off('data', onData).off('end', onEnd);
    if (unread.length > 0) socket.write(unread);
    stdin.pipe(socket);
  };
  const onEnd = (): void => void socket.end(unread);
  stdin.on('data', onData).on('end', onEnd);
}

/** The line with `meta` added, if it is an `initialize`. */
function withMeta(line: Buffer, meta: Relay['meta']): string | undefined {
  if (!line.includes('"initialize"')) return undefined;
  try {
    const message = JSON.parse(line.toString()) as { method?: unknown; params?: { _meta?: object } };
    if (message.method !== 'initialize' || typeof message.params !== 'object') return undefined;
    const params = { ...message.params, _meta: { ...meta, ...message.params._meta } };
    return `${JSON.stringify({ ...message, params })}\n`;
  } catch {
    return undefined; // Not JSON: the daemon says so.
  }
}

/** Tells a client that there is no bridge, in answer to the first thing it asks. */
export function answerUnavailable(
  stdin: Readable,
  stdout: Writable,
  error: { readonly code: string; readonly message: string; readonly hint: string | undefined },
): Promise<void> {
  return new Promise((resolve) => {
    let text = '';
    stdin.setEncoding('utf8');
    stdin.on('data', (chunk: string) => {
      text += chunk;
      const newline = text.indexOf('\n');
      if (newline < 0) return;
      const { code, message, hint } = error;
      const failure = { code: -32603, message, data: { code, hint } };
      stdin.pause();
      stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: idOf(text.slice(0, newline)), error: failure })}\n`, () =>
        resolve(),
      );
    });
    stdin.once('end', () => resolve());
  });
}

function idOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { id?: unknown }).id ?? null;
  } catch {
    return null; // Not JSON, so it has no id.
  }
}
