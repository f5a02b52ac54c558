// The bus on NATS: one connection for small messages, and one for parts of long messages. It tries to connect for as
// long as it takes, says in words why it cannot, and never shows a credential. It does not know the content of
// messages.

import { accessSync, constants, readFileSync } from 'node:fs';
import type { Authenticator, Msg, MsgHdrs, NatsConnection, Subscription } from '@nats-io/nats-core';
import { credsAuthenticator, errors, nkeyAuthenticator } from '@nats-io/transport-node';
import type { NatsSettings } from '../model/federation-settings.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { ReadPacer } from '../wire/read-pacer.ts';
import type { Bus, BusEvent, BusHeaders, BusLane, OutgoingMessage, ReceivedMessage, SubscribeOptions } from './bus.ts';
import { published } from './nats-message.ts';
import type { NatsRoutes } from './nats-reader.ts';
import { connectRouted, type RoutedConnection, sendOn } from './nats-transport.ts';

/** The state before the first attempt has ended. */
export const NOT_YET = 'it is not connected yet';
const CONNECT_MS = 5000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const RECONNECT_MS = 500;
/** NATS and the daemon each treat the other as gone after two of these intervals without a word. */
const PING_MS = 10_000;
const LOOK_MS = 1000;
/** If the time of day has jumped by so much since the last look, the machine or the process stood still. */
const SLEPT_MS = 5000;
const UNHEARD = 503;
/** The first version with everything needed: headers, and buckets with an age. */
const OLDEST = [2, 9] as const;
/** The size of a frame with its headers, and of a host's entry. */
const LEAST_PAYLOAD = 512 * 1024;

export interface NatsBusOptions {
  readonly settings: NatsSettings;
  /** The connection's name in the output of `nats`. */
  readonly name: string;
  /** The beginning of all inboxes of this daemon. NATS may let it listen to these alone. */
  readonly inboxPrefix: string;
  readonly hasBulk: boolean;
  readonly clock: Clock;
  /** Shares the time of a turn among all readers. */
  readonly pacer: ReadPacer;
  /** Called when a message of another host was dropped because of its form. */
  readonly refused: () => void;
  /** The time of day. It goes on while the machine sleeps; the clock may stand still then. */
  readonly wallMs?: () => number;
  /** Called with an error in a receiver of messages. */
  readonly failed: (error: unknown) => void;
}

/** The server that carries the bus. */
export interface BusServerFacts {
  readonly address: string;
  readonly version: string;
  /** Undefined for a server outside a cluster. */
  readonly cluster: string | undefined;
}

interface Subscribed {
  readonly subject: string;
  readonly take: (message: ReceivedMessage) => void;
  readonly options: SubscribeOptions;
  of: Subscription | undefined;
}

/** One connection and its subscriptions, which stay while the connection is away. */
class NatsLane {
  readonly #options: NatsBusOptions;
  readonly #tell: (event: BusEvent) => void;
  readonly #subscribed = new Set<Subscribed>();
  connection: RoutedConnection | undefined;
  #routes: NatsRoutes = new Map();
  isUp = false;
  #pause: Timer | undefined;
  #isClosed = false;
  #failures = 0;

  constructor(options: NatsBusOptions, tell: (event: BusEvent) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  async open(): Promise<void> {
    try {
      const routes: NatsRoutes = new Map();
      const { pacer, refused } = this.#options;
      const connection = await connectRouted(optionsOf(this.#options), { routes, pacer, refused });
      if (this.#isClosed) return void connection.close();
      const unfit = unfitnessOf(connection);
      if (unfit !== undefined) {
        await connection.close();
        throw unfit;
      }
      this.#failures = 0;
      this.connection = connection;
      this.#routes = routes;
      for (const one of this.#subscribed) this.#subscribe(one);
      this.#isNowUp();
      void this.#follow(connection);
    } catch (error) {
      this.#isNowDown(explained(error, this.#options.settings));
      this.#openLater();
    }
  }

  #openLater(): void {
    if (this.#isClosed) return;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures++);
    this.#pause = this.#options.clock.after(pauseMs, () => void this.open());
  }

  #isNowUp(): void {
    this.isUp = true;
    // NATS has refused some subscriptions. They may be permitted by now, so they are made again.
    for (const one of this.#subscribed) if (one.of?.isClosed() === true) this.#subscribe(one);
    this.#tell({ is: 'up' });
  }

  #isNowDown(why: string): void {
    this.isUp = false;
    if (!this.#isClosed) this.#tell({ is: 'down', why });
  }

  /** Follows a connection until it is given up. The connection comes back by itself. */
  async #follow(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect')
        this.#isNowDown(
          `the connection to ${status.server} is lost, and is tried again: check that the NATS server runs`,
        );
      if (status.type === 'reconnect') this.#isNowUp();
      if (status.type === 'error' && status.error instanceof errors.PermissionViolationError) {
        const { operation, subject } = status.error;
        this.#tell({ is: 'denied', operation: operation === 'publish' ? 'publish' : 'subscribe', subject });
      }
    }
    const error = await connection.closed();
    if (this.#isClosed || this.connection !== connection) return;
    this.connection = undefined;
    for (const one of this.#subscribed) one.of = undefined;
    this.#isNowDown(error === undefined ? 'the connection was closed' : explained(error, this.#options.settings));
    this.#openLater();
  }

  publish(message: OutgoingMessage): void {
    const { connection } = this;
    if (connection === undefined) return; // lost, as anything on the bus may be
    try {
      const { protocol, info } = connection;
      if (connection.isClosed() || protocol.noMorePublishing) throw new errors.ClosedConnectionError();
      sendOn(connection, published(message, info?.max_payload));
    } catch (error) {
      this.#options.failed(error);
    }
  }

  subscribe(subscribed: Subscribed): () => void {
    this.#subscribed.add(subscribed);
    this.#subscribe(subscribed);
    return () => {
      this.#subscribed.delete(subscribed);
      if (subscribed.of !== undefined) this.#routes.delete(subscribed.of.getID());
      if (this.connection?.isClosed() === false) subscribed.of?.unsubscribe();
    };
  }

  #subscribe(subscribed: Subscribed): void {
    const { connection } = this;
    if (connection === undefined || connection.isClosed()) return;
    const { subject, take, options } = subscribed;
    const contained = (message: () => ReceivedMessage): void => {
      try {
        take(message());
      } catch (fault) {
        this.#options.failed(fault);
      }
    };
    if (subscribed.of !== undefined) this.#routes.delete(subscribed.of.getID());
    subscribed.of = connection.subscribe(subject, {
      ...(options.queue !== undefined && { queue: options.queue }),
      // Messages come here if the package has made the transport itself. An error means a missing permission; the
      // status reports that too.
      callback: (error, message) => void (error === null && contained(() => received(message))),
    });
    this.#routes.set(subscribed.of.getID(), (message) => contained(() => message));
  }

  /** Asks the server for a sign, and opens another connection if none comes: this one may have died silently. */
  async prove(): Promise<void> {
    const { connection } = this;
    if (connection === undefined || !this.isUp) return;
    let hasAnswered = false;
    const answer = connection.flush().then(
      () => {
        hasAnswered = true;
      },
      () => undefined,
    );
    await Promise.race([answer, this.#patience()]);
    if (hasAnswered || this.#isClosed || this.connection !== connection || !this.isUp) return;
    await connection.reconnect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pause?.cancel();
    const { connection } = this;
    if (connection === undefined || connection.isClosed()) return;
    // Published messages still go out, unless NATS is away.
    if (this.isUp) await Promise.race([connection.drain().catch(() => undefined), this.#patience()]);
    await connection.close();
  }

  #patience(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(1000, resolve));
  }
}

export class NatsBus implements Bus {
  readonly #listeners = new Set<(event: BusEvent) => void>();
  readonly #asking = new Set<() => void>();
  readonly #small: NatsLane;
  readonly #bulk: NatsLane | undefined;
  #last: BusEvent = { is: 'down', why: NOT_YET };
  readonly #failed: (error: unknown) => void;
  readonly #watch: Timer;

  constructor(options: NatsBusOptions) {
    this.#failed = options.failed;
    this.#small = new NatsLane(options, (event) => this.#tell(event));
    this.#bulk = options.hasBulk ? new NatsLane(options, () => undefined) : undefined;
    void this.#small.open();
    void this.#bulk?.open();
    const { clock, wallMs = Date.now } = options;
    let lastMs = wallMs();
    this.#watch = clock.every(LOOK_MS, () => {
      const hasSlept = wallMs() - lastMs >= SLEPT_MS;
      lastMs = wallMs();
      if (hasSlept) for (const lane of [this.#small, this.#bulk]) lane?.prove().catch(options.failed);
    });
  }

  #tell(event: BusEvent): void {
    if (event.is !== 'denied') this.#last = event;
    for (const heard of [...this.#listeners]) this.#contain(() => heard(event));
    if (event.is !== 'down') return;
    for (const giveUp of this.#asking) giveUp();
    this.#asking.clear();
  }

  /**
   * Runs a task and contains its fault. Otherwise a fault of one listener would end the watch over the connection, and
   * nobody would notice.
   */
  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Passes on the result of a request to the servers. Fails when the connection is lost, because the answer does not
   * come on the next one.
   */
  whileUp<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new Error('NATS was away for a moment'));
      this.#asking.add(giveUp);
      void asked.then(resolve, reject).finally(() => this.#asking.delete(giveUp));
    });
  }

  /** The connection for buckets; undefined while there is none. */
  get connection(): NatsConnection | undefined {
    return this.#small.isUp ? this.#small.connection : undefined;
  }

  /** The connection for long messages. */
  get bulkConnection(): NatsConnection | undefined {
    return this.#bulk?.isUp === true ? this.#bulk.connection : this.connection;
  }

  /** The server and its version, for people. */
  get server(): BusServerFacts | undefined {
    const { connection } = this.#small;
    if (connection === undefined || !this.#small.isUp) return undefined;
    const { version = '', cluster } = connection.info ?? {};
    return { address: connection.getServer(), version, cluster };
  }

  get mostBytes(): number {
    return this.#small.connection?.info?.max_payload ?? LEAST_PAYLOAD;
  }

  get isBulkUp(): boolean {
    return this.#bulk?.isUp === true;
  }

  publish(message: OutgoingMessage, lane: BusLane = 'small'): void {
    const to = lane === 'bulk' && this.#bulk?.isUp === true ? this.#bulk : this.#small;
    to.publish(message);
  }

  subscribe(subject: string, take: (message: ReceivedMessage) => void, options: SubscribeOptions = {}): () => void {
    const lane = options.lane === 'bulk' ? (this.#bulk ?? this.#small) : this.#small;
    return lane.subscribe({ subject, take, options, of: undefined });
  }

  watch(heard: (event: BusEvent) => void): () => void {
    this.#listeners.add(heard);
    heard(this.#last);
    return () => void this.#listeners.delete(heard);
  }

  async close(): Promise<void> {
    this.#watch.cancel();
    await Promise.all([this.#small.close(), this.#bulk?.close()]);
  }
}

/** Opens a short connection outside a daemon. Throws the reason if that fails. */
export async function connectedOnce(settings: NatsSettings, name: string): Promise<NatsConnection> {
  try {
    const options = optionsOf({ settings, name, inboxPrefix: '_INBOX' });
    return await connectRouted(options, { routes: new Map(), pacer: new ReadPacer(), refused: () => undefined });
  } catch (error) {
    throw new BridgeError('SERVER_UNREACHABLE', explained(error, settings));
  }
}

function optionsOf({ settings, name, inboxPrefix }: Pick<NatsBusOptions, 'settings' | 'name' | 'inboxPrefix'>) {
  const { servers, user, password, token, tls } = settings;
  expectFiles(settings);
  const authenticator = authenticatorOf(settings);
  return {
    servers: [...servers],
    name,
    inboxPrefix,
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    noAsyncTraces: true,
    ...(authenticator !== undefined && { authenticator }),
    ...(user !== undefined && { user, pass: password ?? '' }),
    ...(token !== undefined && { token }),
    ...((tls !== undefined || servers.some((server) => server.startsWith('tls://'))) && {
      tls: {
        ...(tls?.ca !== undefined && { caFile: tls.ca }),
        ...(tls?.cert !== undefined && { certFile: tls.cert }),
        ...(tls?.key !== undefined && { keyFile: tls.key }),
      },
    }),
  };
}

/** Makes the authenticator. It reads files for each new connection, so that renewed credentials are used. */
function authenticatorOf({ credentials, nkey }: NatsSettings): Authenticator | undefined {
  if (credentials !== undefined) return credsAuthenticator(new Uint8Array(readFileSync(credentials)));
  if (nkey !== undefined) return nkeyAuthenticator(new TextEncoder().encode(readFileSync(nkey, 'utf8').trim()));
  return undefined;
}

/** Returns the reason why a server cannot carry the bus; undefined if it can. */
function unfitnessOf(connection: NatsConnection): BridgeError | undefined {
  const { info } = connection;
  const where = connection.getServer();
  if (info === undefined) return undefined;
  const [major = 0, minor = 0] = info.version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return unusable(
      `the NATS server at ${where} is of version ${info.version}, and ${OLDEST.join('.')} or newer is needed: install a newer nats-server there`,
    );
  if (info.headers !== true)
    return unusable(`the NATS server at ${where} takes no headers: remove \`no_header_support\` from its config`);
  if (info.max_payload < LEAST_PAYLOAD)
    return unusable(
      `max_payload of the NATS server at ${where} is ${info.max_payload} bytes, and at least ${LEAST_PAYLOAD} are needed: raise it in its config`,
    );
  return undefined;
}

function unusable(message: string): BridgeError {
  return new BridgeError('SERVER_UNREACHABLE', message);
}

/** Says what is wrong and what to do, without any credential. */
function explained(error: unknown, { servers, tls }: NatsSettings): string {
  const where = servers.map(withoutUser).join(', ');
  if (error instanceof BridgeError) return error.message;
  if (error instanceof errors.AuthorizationError)
    return `${where} has refused the credentials: check federation.nats (user and password, token, nkey or credentials)`;
  if (error instanceof errors.UserAuthenticationExpiredError)
    return `the credentials for ${where} have expired: get new ones for federation.nats`;
  if (error instanceof Error && /does not support 'tls'/.test(error.message)) {
    const asksForIt = tls === undefined ? 'the address (tls://)' : 'federation.nats.tls';
    const plain = tls === undefined ? 'write nats:// in federation.nats.servers' : 'remove federation.nats.tls';
    return `${where} speaks no TLS, which ${asksForIt} asks for, so nothing was sent to it: give the server a \`tls\` block, or ${plain}`;
  }
  const code = codeOf(error);
  if (code?.startsWith('ERR_OSSL') === true)
    return `a file that federation.nats.tls names is not in the form of PEM (${code}): check ca, cert and key`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${where} has a certificate for another name: write the name that it is for in federation.nats.servers, or give the server a certificate for this one`;
  if (code !== undefined && /EXPIRED/.test(code))
    return `${where} has a certificate that is over (${code}): give the server a new one, and look at the clock of this machine`;
  if (code !== undefined && /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(code))
    return `${where} has a certificate that is not trusted (${code}): name the authority that has signed it in federation.nats.tls.ca`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `no machine of that name is known here: ${where} (${code}): check the name in federation.nats.servers, and the network of this machine`;
  if (code !== undefined)
    return `nothing answers at ${where} (${code}): check federation.nats.servers, and that the NATS server runs`;
  if (error instanceof Error && (error.name === 'TimeoutError' || /timeout/i.test(error.message)))
    return `${where} takes the connection and does not answer within ${CONNECT_MS / 1000} s: check that it is a NATS server, and that it runs`;
  return `${where} cannot be reached: ${error instanceof Error ? error.message.slice(0, 200) : 'for no reason that it has said'}`;
}

/**
 * Checks each file that the settings name. If one cannot be read, the error names its setting; the package would give
 * only the path.
 */
function expectFiles({ credentials, nkey, tls }: NatsSettings): void {
  const files = { credentials, nkey, 'tls.ca': tls?.ca, 'tls.cert': tls?.cert, 'tls.key': tls?.key };
  for (const [setting, file] of Object.entries(files))
    if (file !== undefined)
      try {
        accessSync(file, constants.R_OK);
      } catch (error) {
        throw unusable(
          `federation.nats.${setting} names ${file}, which cannot be read (${codeOf(error)}): correct the path, or put the file there`,
        );
      }
}

function withoutUser(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//');
}

/** Returns the system or TLS code of an error or its cause. */
function codeOf(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if ('code' in at && typeof at.code === 'string') return at.code;
  return undefined;
}

/** Returns a message that is decoded only when somebody looks at it. */
function received(message: Msg): ReceivedMessage {
  const { headers } = message;
  return {
    subject: message.subject,
    reply: message.reply === undefined || message.reply === '' ? undefined : message.reply,
    headers: headers === undefined ? NO_HEADERS : fromNats(headers),
    data: message.data,
    isUnheard: headers?.code === UNHEARD && message.data.length === 0,
  };
}

const NO_HEADERS: BusHeaders = {};

function fromNats(headers: MsgHdrs): BusHeaders {
  const read: Record<string, string> = {};
  for (const [name, [value = '']] of headers) read[name] = value;
  return read;
}
