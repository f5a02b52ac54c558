// One message a text frame over a WebSocket, as raw as it goes. MCP knows no such transport, but one gateway shares its
// servers over it alone. It takes for granted what that one does: no fragments, no compression.
import { randomBytes } from 'node:crypto';
import { get } from 'node:http';

const TEXT = 0x81;
const MASKED = 0x80;
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];
const NO_MASK = Buffer.alloc(4); // a mask of zeros leaves the payload as it is

export function openWebSocket(url, on) {
  const held = [];
  let socket;
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': 13 };
  const key = randomBytes(16).toString('base64');
  const request = get(url, { headers: { ...headers, 'sec-websocket-key': key } });
  request.on('upgrade', (_, upgraded) => {
    socket = upgraded;
    socket.on('data', frameReader(on.message));
    socket.on('error', (error) => on.lost(error.message)).on('close', () => on.lost('closed'));
    for (const line of held.splice(0)) send(line);
  });
  request.on('error', (error) => on.lost(error.message));
  const send = (line) => {
    if (socket === undefined) return held.push(line);
    // What a turn of the event loop produces leaves in one write, as over the other streams.
    if (socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    socket.write(frameOf(Buffer.from(line)));
  };
  return { send, close: () => (socket ?? request).destroy() };
}

function frameOf(payload) {
  const isShort = payload.length < TWO_BYTES;
  const head = Buffer.from([TEXT, MASKED | (isShort ? payload.length : EIGHT_BYTES)]);
  const length = Buffer.alloc(isShort ? 0 : 8);
  if (!isShort) length.writeBigUInt64BE(BigInt(payload.length));
  return Buffer.concat([head, length, NO_MASK, payload]);
}

/** Where the payload of the frame at `from` begins and ends; undefined while its head is not whole. */
function boundsOf(bytes, from) {
  if (bytes.length < from + 2) return undefined;
  const short = bytes[from + 1];
  const start = from + 2 + (short === TWO_BYTES ? 2 : short === EIGHT_BYTES ? 8 : 0);
  if (bytes.length < start) return undefined;
  if (short === TWO_BYTES) return { start, end: start + bytes.readUInt16BE(from + 2) };
  return { start, end: start + (short === EIGHT_BYTES ? Number(bytes.readBigUInt64BE(from + 2)) : short) };
}

function frameReader(onMessage) {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let at = boundsOf(bytes, 0); at !== undefined && at.end <= bytes.length; at = boundsOf(bytes, from)) {
      if (bytes[from] === TEXT) onMessage(JSON.parse(bytes.toString('utf8', at.start, at.end)));
      from = at.end;
    }
    rest = bytes.subarray(from);
  };
}
