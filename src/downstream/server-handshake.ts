// The bridge's `initialize` with a server, once for each process or connection. Any other message that comes meanwhile is dropped,
// but a ping is answered.

import { ERA_2025, INITIALIZED_NOTICE } from '../protocol/era-2025.ts';
import { isSpoken, LATEST_PROTOCOL_VERSION, PROTOCOL_VERSIONS } from '../protocol/versions.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { ServerConnection } from './connection.ts';

/** Ids from 1 on belong to the clients' requests. */
const HANDSHAKE_ID = '0';

export class ServerHandshake {
  readonly #server: string;
  readonly #connection: Pick<ServerConnection, 'link' | 'safe'>;
  readonly #outbox: Outbox;
  readonly #maxDepth: number;
  readonly #envelope = new Envelope(ERA_2025.keys);

  constructor(server: string, connection: Pick<ServerConnection, 'link' | 'safe'>, maxDepth: number) {
    this.#server = server;
    this.#connection = connection;
    this.#outbox = connection.link.outbox;
    this.#maxDepth = maxDepth;
  }

  /** Sends `initialize`. `capabilities` are those that the clients can honour. */
  begin(capabilities: object, clientInfo: object): void {
    const params = {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities,
      clientInfo,
    };
    this.#outbox.utf8(
      `{"jsonrpc":"2.0","id":${HANDSHAKE_ID},"method":"initialize","params":${JSON.stringify(params)}}`,
    );
    this.#outbox.endFrame();
  }

  /** Takes a message. Returns the bytes of the result, with a newline, once it has come; throws if the server refuses. */
  take(b: Buffer, start: number, end: number): Buffer | undefined {
    const envelope = this.#envelope;
    if (!envelope.scan(b, start, end, this.#maxDepth)) return undefined;
    if (envelope.kind === 'request') this.#answerPing(b);
    if (envelope.kind !== 'response' || !this.#isOurs(b)) return undefined;
    const from = envelope.from(Field.result);
    if (from < 0 || byteAt(b, from) !== OPEN_OBJECT) throw this.#refused(b);
    this.#checkVersion(envelope.decode(b, Field.result));
    this.#outbox.latin1(INITIALIZED_NOTICE);
    this.#outbox.endFrame();
    return Buffer.concat([b.subarray(from, envelope.to(Field.result)), Buffer.from('\n')]);
  }

  /** Throws if the bridge does not speak the version. A server that names none is taken to speak ours. */
  #checkVersion(result: unknown): void {
    const { protocolVersion } = result as { protocolVersion?: unknown };
    if (typeof protocolVersion !== 'string' || isSpoken(protocolVersion)) return;
    const name = this.#server;
    const safe = this.#connection.safe(protocolVersion).slice(0, 64);
    throw new BridgeError('SERVER_START_FAILED', `Server ${name} speaks version ${JSON.stringify(safe)} of MCP`, {
      server: name,
      hint: `The bridge speaks ${PROTOCOL_VERSIONS.join(', ')}.`,
    });
  }

  #isOurs(b: Buffer): boolean {
    const envelope = this.#envelope;
    return envelope.has(Field.id) && envelope.raw(b, Field.id) === HANDSHAKE_ID;
  }

  #answerPing(b: Buffer): void {
    if (ERA_2025.methods.of(b, this.#envelope).role !== 'ping') return;
    const id = this.#envelope.raw(b, Field.id);
    this.#outbox.latin1(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    this.#outbox.endFrame();
  }

  #refused(b: Buffer): BridgeError {
    const error = this.#envelope.decode(b, Field.error);
    const said = textOf(membersOf(error).message) || 'no result';
    const name = this.#server;
    const safe = this.#connection.safe(said).slice(0, 500);
    return new BridgeError('SERVER_START_FAILED', `Server ${name} refused to initialize: ${safe}`, { server: name });
  }
}
