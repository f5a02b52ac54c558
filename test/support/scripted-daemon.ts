// The daemon's side of resuming, in memory and slow on purpose: a test says how many bytes move, when a connection drops
// in the middle of a frame, and when the daemon is killed, or goes in order. It counts how often each call was run.

import { type Duplex, duplexPair } from 'node:stream';
import type { Message } from './raw-client.ts';

interface ParkedSession {
  readonly token: string;
  readonly clientId: string;
  /** What was sent behind the handshake, as one stream. */
  sent: Buffer;
  received: number;
  isInitialized: boolean;
  readonly subscribed: string[];
  logLevel: string | undefined;
  readonly announced: Set<unknown>;
  readonly pending: Message[];
  connection: ScriptedConnection | undefined;
}

interface ScriptedConnection {
  readonly stream: Duplex;
  session: ParkedSession | undefined;
  incoming: Buffer;
  outgoing: Buffer;
  /** The client sends nothing more. */
  hasEnded: boolean;
  /** All that came before an `initialize`, and the requests among it that are unanswered. */
  readonly said: Message[];
  readonly pending: Message[];
}

export class ScriptedDaemon {
  /** How often each call was run, by what it has as its text. */
  readonly runs = new Map<string, number>();
  /** What clients have answered. */
  readonly answers: Message[] = [];
  readonly connections = new Set<ScriptedConnection>();
  /** Whether clients are given tokens. */
  canResume = true;
  /** Whether it says after each chunk what it has, and which calls are open. */
  confirms = false;
  isRunning = true;
  /** Why new sessions are refused. */
  refusal: object | undefined;
  maxMessageBytes = 1000;
  /** Ids that nobody is given. */
  readonly takenIds = new Set<string>();
  /** Where the frames of calls end among the bytes of their sessions. */
  readonly #places = new WeakMap<Message, number>();
  #sessions = new Map<string, ParkedSession>();
  #tokens = 0;
  #named = 0;

  dial(): Duplex {
    if (!this.isRunning) throw new Error('nobody is there');
    const [ours, theirs] = duplexPair({ allowHalfOpen: true });
    const connection: ScriptedConnection = {
      stream: theirs,
      session: undefined,
      incoming: Buffer.alloc(0),
      outgoing: Buffer.alloc(0),
      hasEnded: false,
      said: [],
      pending: [],
    };
    theirs.on('data', (chunk: Buffer) => {
      connection.incoming = Buffer.concat([connection.incoming, chunk]);
    });
    theirs.on('end', () => {
      connection.hasEnded = true;
    });
    theirs.on('error', () => undefined);
    ours.on('close', () => {
      this.#take(connection, Number.POSITIVE_INFINITY); // which a kernel would still hand over
      theirs.destroy();
      this.#forget(connection);
    });
    theirs.on('close', () => ours.destroy());
    this.connections.add(connection);
    return ours;
  }

  get sessions(): readonly ParkedSession[] {
    return [...this.#sessions.values()];
  }

  /** Takes up to so many bytes that have come, and acts on each whole frame. */
  take(bytes: number): void {
    for (const connection of [...this.connections]) this.#take(connection, bytes);
  }

  #take(connection: ScriptedConnection, bytes: number): void {
    if (!this.connections.has(connection)) return;
    const whole = connection.incoming.subarray(0, bytes).lastIndexOf(0x0a) + 1;
    const taken = connection.incoming.subarray(0, whole);
    connection.incoming = connection.incoming.subarray(whole);
    for (const line of taken.toString().split('\n').slice(0, -1)) this.#frame(connection, line);
    if (whole > 0 && this.confirms && connection.session !== undefined) this.#confirm(connection.session);
  }

  #confirm(session: ParkedSession): void {
    const open = session.pending.map((call) => this.#places.get(call));
    const params = { bytes: session.received, open };
    this.#send(session, { jsonrpc: '2.0', method: 'bridge/received', params });
  }

  /** Lets up to so many bytes go out, in whatever pieces. */
  give(bytes: number): void {
    for (const connection of this.connections) {
      const piece = connection.outgoing.subarray(0, bytes);
      connection.outgoing = connection.outgoing.subarray(piece.length);
      if (piece.length > 0) connection.stream.write(piece);
      this.#endIfDone(connection);
    }
  }

  /** Who sends nothing more is left when all is answered. */
  #endIfDone({ hasEnded, incoming, outgoing, session, pending, stream }: ScriptedConnection): void {
    const isAnswered = (session?.pending ?? pending).length === 0;
    if (hasEnded && isAnswered && incoming.length === 0 && outgoing.length === 0) stream.end();
  }

  /** Runs and answers the oldest call of each session. */
  answer(): void {
    for (const session of this.#sessions.values()) {
      const call = session.pending.shift();
      if (call !== undefined) this.#send(session, { jsonrpc: '2.0', id: call.id, result: { said: textOf(call) } });
    }
    for (const connection of this.connections) {
      const call = connection.pending.shift();
      if (call !== undefined) this.#say(connection, { id: call.id, result: { said: textOf(call) } });
    }
  }

  /** The messages of clients without a handshake, by connection. */
  get said(): readonly Message[][] {
    return [...this.connections].map(({ said }) => said);
  }

  /** Says something on each connection. */
  tell(message: object): void {
    for (const connection of this.connections) this.#say(connection, message);
  }

  /** Asks each client something. */
  ask(id: unknown): void {
    for (const session of this.#sessions.values())
      this.#send(session, { jsonrpc: '2.0', id, method: 'elicitation/create' });
  }

  drop(): void {
    for (const connection of [...this.connections]) {
      connection.stream.destroy();
      this.#forget(connection);
    }
  }

  kill(): void {
    this.isRunning = false;
    this.drop();
    this.#sessions.clear();
  }

  /** Goes in order: answers what it has taken, or the first calls of each session, and says what became of the rest. */
  leave(reason: string, mostAnswered = Number.POSITIVE_INFINITY): void {
    this.isRunning = false;
    for (const session of this.#sessions.values()) {
      for (let answered = 0; session.pending.length > 0 && answered < mostAnswered; answered++) {
        const call = session.pending.shift() as Message;
        this.#send(session, { jsonrpc: '2.0', id: call.id, result: { said: textOf(call) } });
      }
      const { received } = session;
      const unsent = session.pending.splice(0).map((call) => {
        const runs = this.runs.get(textOf(call)); // it was counted when it came
        if (runs !== undefined) this.runs.set(textOf(call), runs - 1);
        return call.id;
      });
      this.#send(session, { jsonrpc: '2.0', method: 'bridge/leaving', params: { received, reason, unsent } });
    }
    this.give(Number.POSITIVE_INFINITY);
    for (const connection of [...this.connections]) {
      connection.stream.end();
      this.#forget(connection);
    }
    this.#sessions.clear();
  }

  #forget(connection: ScriptedConnection): void {
    if (connection.session !== undefined) connection.session.connection = undefined;
    this.connections.delete(connection);
  }

  #frame(connection: ScriptedConnection, line: string): void {
    const message = messageIn(line);
    if (message === undefined) return this.#say(connection, { id: null, error: { code: -32700, message: 'not JSON' } });
    if (message.method === 'initialize') return this.#hello(connection, message);
    const { session } = connection;
    if (session === undefined) return this.#withoutHandshake(connection, message);
    session.received += line.length + 1;
    this.#places.set(message, session.received);
    switch (message.method) {
      case 'notifications/initialized':
        session.isInitialized = true;
        return;
      case 'bridge/again':
        for (const id of (message.params?.ids ?? []) as unknown[]) session.announced.add(id);
        return;
      case 'bridge/leave':
        this.#sessions.delete(session.token);
        return;
      case 'tools/call':
        return this.#call(session, message);
      case 'resources/subscribe':
        session.subscribed.push(String(message.params?.uri));
        return this.#send(session, { jsonrpc: '2.0', id: message.id, result: {} });
      case 'logging/setLevel':
        session.logLevel = String(message.params?.level);
        return this.#send(session, { jsonrpc: '2.0', id: message.id, result: {} });
      default:
        if (message.method === undefined) this.answers.push(message);
        else if (message.id !== undefined)
          this.#send(session, { jsonrpc: '2.0', id: message.id, result: { listed: true } });
    }
  }

  #withoutHandshake({ said, pending }: ScriptedConnection, message: Message): void {
    said.push(message);
    if (message.method === 'tools/call') this.runs.set(textOf(message), (this.runs.get(textOf(message)) ?? 0) + 1);
    if (message.id !== undefined && message.method !== 'subscriptions/listen') pending.push(message);
  }

  #hello(connection: ScriptedConnection, { id, params }: Message): void {
    const meta = (params?._meta ?? {}) as Record<string, unknown>;
    const wish = meta['mcp-bridge/resume'] as true | { token: string; received: number } | undefined;
    const say = (answer: object): void => this.#say(connection, { id, ...answer });
    if (typeof wish === 'object') {
      const session = this.#sessions.get(wish.token);
      if (session === undefined)
        return say({ error: { code: -32600, message: 'unknown token', data: { code: 'RESUME_REFUSED' } } });
      this.#sessions.delete(wish.token);
      const resumed = { ...session, token: this.#token(), connection };
      this.#sessions.set(resumed.token, resumed);
      connection.session = resumed;
      const { token: resumeToken, received, clientId } = resumed;
      say({
        result: welcome(params, {
          ...{ resumed: true, resumeToken, received, clientId },
          maxMessageBytes: this.maxMessageBytes,
        }),
      });
      connection.outgoing = Buffer.concat([connection.outgoing, resumed.sent.subarray(wish.received)]);
      return;
    }
    if (this.refusal !== undefined) return say({ error: this.refusal });
    const session: ParkedSession = {
      token: this.#token(),
      clientId: this.#name(meta['mcp-bridge/clientId']),
      sent: Buffer.alloc(0),
      received: 0,
      isInitialized: false,
      subscribed: [],
      logLevel: undefined,
      announced: new Set(),
      pending: [],
      connection,
    };
    connection.session = session;
    this.#sessions.set(session.token, session);
    const { token, clientId } = session;
    const resumption = { resumed: false, resumeToken: token, maxMessageBytes: this.maxMessageBytes };
    say({ result: welcome(params, { clientId, ...(this.canResume ? resumption : {}) }) });
  }

  #say(connection: ScriptedConnection, message: object): void {
    const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    connection.outgoing = Buffer.concat([connection.outgoing, line]);
  }

  #call(session: ParkedSession, message: Message): void {
    if (session.pending.some(({ id }) => id === message.id)) {
      const error = { code: -32600, message: 'in use', data: { code: 'REQUEST_REFUSED' } };
      return this.#send(session, { jsonrpc: '2.0', id: message.id, error });
    }
    const isSafe = message.params?.name === 'safe';
    if (session.announced.has(message.id) && !isSafe) {
      const error = { code: -32603, message: 'not known', data: { code: 'OUTCOME_UNKNOWN' } };
      return this.#send(session, { jsonrpc: '2.0', id: message.id, error });
    }
    if (!isSafe) this.runs.set(textOf(message), (this.runs.get(textOf(message)) ?? 0) + 1);
    session.pending.push(message);
  }

  #send(session: ParkedSession, message: object): void {
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    session.sent = Buffer.concat([session.sent, line]);
    const { connection } = session;
    if (connection !== undefined) connection.outgoing = Buffer.concat([connection.outgoing, line]);
  }

  #name(wanted: unknown): string {
    const name = wanted === undefined ? `client-${++this.#named}` : String(wanted);
    return this.takenIds.has(name) ? `${name}-2` : name;
  }

  #token(): string {
    return `token-${++this.#tokens}`;
  }
}

function welcome(asked: Message['params'], meta: Readonly<Record<string, unknown>>): object {
  return {
    protocolVersion: asked?.protocolVersion ?? '2025-11-25',
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
    serverInfo: { name: 'scripted', version: '1' },
    _meta: Object.fromEntries(Object.entries(meta).map(([name, value]) => [`mcp-bridge/${name}`, value])),
  };
}

function textOf({ params }: Message): string {
  return String((params?.arguments as { text?: string } | undefined)?.text);
}

function messageIn(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
