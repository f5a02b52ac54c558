// Bare NATS, with nothing of the bridge: what a call over two nats-servers must cost. One process asks and another one answers; both are this file.
//   node bench/bus-load.mjs answer URL    answers until its parent ends
//   over IPC: { url, bytes, window, calls, warmUpCalls, isChunked, isAnswer }, answered with { p50, p99, callsPerSecond, faults }
// A long message goes in pieces of 256 KiB, of which at most 1 MiB is not acknowledged.
import { connect } from '@nats-io/transport-node';
import { quantile } from './statistics.mjs';

const SUBJECT = 'bench.bare';
const PIECE = 256 * 1024;
const WINDOW = 1024 * 1024;
let nextId = 0;
const servers = (url) => ({ servers: [url], noRandomize: true, ignoreClusterUpdates: true });

/** Sends a message to a subject in pieces; `credit` is where the other side says how many bytes it has. The last one has a reply subject of 'end'. */
class Pieces {
  #nc;
  #to;
  #bytes;
  #sent = 0;
  #allowed = WINDOW;

  constructor(nc, to, bytes) {
    this.#nc = nc;
    this.#to = to;
    this.#bytes = bytes;
  }

  goOn(allowed = this.#allowed) {
    this.#allowed = allowed;
    while (this.#sent < this.#bytes.length && Math.min(this.#sent + PIECE, this.#bytes.length) <= this.#allowed) {
      const piece = this.#bytes.subarray(this.#sent, this.#sent + PIECE);
      this.#sent += piece.length;
      this.#nc.publish(this.#to, piece, this.#sent === this.#bytes.length ? { reply: 'end' } : undefined);
    }
  }
}

/** Puts pieces together, and gives credit for each quarter of the window. */
class Whole {
  #pieces = [];
  #bytes = 0;
  #granted = WINDOW;
  #grant;

  constructor(grant) {
    this.#grant = grant;
  }

  /** The message once it is whole. */
  take({ data, reply }) {
    this.#pieces.push(data);
    this.#bytes += data.length;
    if (reply === 'end') return Buffer.concat(this.#pieces);
    if (this.#bytes + WINDOW - this.#granted >= WINDOW / 4) {
      this.#granted = this.#bytes + WINDOW;
      this.#grant(this.#granted);
    }
    return undefined;
  }
}

async function answer(url) {
  const nc = await connect(servers(url));
  nc.subscribe(`${SUBJECT}.short`, { queue: 'q', callback: (_, message) => message.respond(message.data) });
  const open = new Map();
  nc.subscribe(`${SUBJECT}.long.*.*`, {
    callback: (_, message) => {
      const [, , , id, what] = message.subject.split('.');
      const back = `${SUBJECT}.back.${id}`;
      const known = open.get(id) ?? { whole: new Whole((n) => nc.publish(`${back}.credit`, `${n}`)) };
      open.set(id, known);
      if (what === 'credit') return known.pieces?.goOn(Number(message.string()));
      const whole = known.whole.take(message);
      if (whole === undefined) return;
      // A short message asks for so many bytes; a long one comes back as it is.
      known.pieces = new Pieces(
        nc,
        `${back}.data`,
        whole.length > 16 ? whole : Buffer.alloc(Number(whole.toString()), 0x78),
      );
      known.pieces.goOn();
      if (open.size > 64) open.delete(open.keys().next().value);
    },
  });
  await nc.flush();
  process.stdout.write('ready\n');
}

/** Exchanges one message of so many bytes each way. */
function exchange(nc, { bytes, isChunked }, payload, waiting) {
  if (!isChunked)
    return nc.request(`${SUBJECT}.short`, payload, { timeout: 30_000 }).then(({ data }) => data.length === bytes);
  const id = `${process.pid}-${nextId++}`;
  const to = `${SUBJECT}.long.${id}`;
  const pieces = new Pieces(nc, `${to}.data`, payload);
  return new Promise((resolve) => {
    const whole = new Whole((n) => nc.publish(`${to}.credit`, `${n}`));
    waiting.set(id, (what, message) => {
      if (what === 'credit') return pieces.goOn(Number(message.string()));
      const got = whole.take(message);
      if (got === undefined) return;
      waiting.delete(id);
      resolve(got.length === bytes);
    });
    pieces.goOn();
  });
}

async function measure({ url, bytes, window, calls, warmUpCalls = Math.ceil(calls / 5), isChunked = false, isAnswer }) {
  const nc = await connect(servers(url));
  const waiting = new Map();
  nc.subscribe(`${SUBJECT}.back.*.*`, {
    callback: (_, message) => {
      const [, , , id, what] = message.subject.split('.');
      waiting.get(id)?.(what, message);
    },
  });
  const payload = isAnswer ? Buffer.from(`${bytes}`) : Buffer.alloc(bytes, 0x78);
  let faults = 0;
  const run = async (latenciesUs) => {
    let sent = 0;
    let done = 0;
    const one = async () => {
      while (sent < latenciesUs.length) {
        sent++;
        const began = performance.now();
        if (!(await exchange(nc, { bytes, isChunked }, payload, waiting))) faults++;
        latenciesUs[done++] = (performance.now() - began) * 1000;
      }
    };
    await Promise.all(Array.from({ length: window }, one));
  };
  await run(new Float64Array(warmUpCalls));
  const latenciesUs = new Float64Array(calls);
  const began = performance.now();
  await run(latenciesUs);
  const seconds = (performance.now() - began) / 1000;
  await nc.close();
  const [p50, p99] = [0.5, 0.99].map((q) => quantile(latenciesUs, q));
  return {
    callsPerSecond: calls / seconds,
    p50,
    p99,
    faults,
    ...(faults > 0 && { firstFault: 'a bare answer of a wrong length' }),
  };
}

if (process.argv[2] === 'answer') await answer(process.argv[3]);
else {
  process.on('message', async (order) => {
    process.send(await measure(order).catch((error) => ({ faults: 1, firstFault: error.message })));
  });
  process.on('disconnect', () => process.exit(0));
}
