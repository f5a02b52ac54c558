// Finds the era of a server, once for each process or connection, and settles the first exchange: `server/discover`
// first, then `initialize` if the server has a handshake. The first positive answer decides. All other messages
// meanwhile are dropped, except that a ping is answered.
//
//   probe ──DiscoverResult──▶ of 2026 (confirmed by a second probe if `initialize` was sent too: some servers take that for a choice)
//     │ └──other answer──▶ initialize ──result──▶ of 2025
//     └──silence──▶ initialize too, the probe stays open     └──error──▶ of 2026 if the probe is answered after all, else refused

import type { FoundEra } from '../core/server-knowledge.ts';
import type { Era } from '../protocol/era.ts';
import { ERA_2025, INITIALIZED_NOTICE } from '../protocol/era-2025.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf, highestCommon, SPOKEN_VERSIONS } from '../protocol/eras.ts';
import type { ClientCapabilities } from '../protocol/initialize.ts';
import { requestEnvelopeOf } from '../protocol/request-envelope.ts';
import { INTERNAL_ERROR } from '../protocol/rpc-codes.ts';
import {
  CONFIRMATION_ID,
  DISCOVER,
  type DiscoverAnswer,
  PROBE_ID,
  readDiscovery,
  supportedVersionsIn,
  VERSION_2026,
} from '../protocol/server-discovery.ts';
import { isSpoken, LATEST_PROTOCOL_VERSION } from '../protocol/versions.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import type { ServerConnection } from './connection.ts';
import { isSameProgram } from './program-mark.ts';

/**
 * The plan for the first messages. `probe` waits a moment for the answer before it sends `initialize` too; `patient`
 * sends that only if the answer demands it; `both` does not wait; `initialize` probes only if it is refused.
 */
export type HandshakePlan = 'probe' | 'patient' | 'both' | 'initialize';

/**
 * The time for which the finding "has a handshake" is trusted. Nothing else would show that the server has learnt the
 * new era.
 */
const HANDSHAKE_HOLDS_MS = 24 * 3_600_000;

/** The facts for choosing a plan. `program` is the present mark of the program. */
interface PlanFacts {
  readonly found: FoundEra | undefined;
  readonly ageMs: number;
  readonly program: string;
  /** True if each connection may belong to another program. */
  readonly comesByItself: boolean;
}

/** Chooses the first messages from earlier findings. */
export function planFor({ found, ageMs, program, comesByItself }: PlanFacts): HandshakePlan {
  if (found === undefined) return 'probe';
  const isOver = ageMs >= HANDSHAKE_HOLDS_MS;
  if (comesByItself) return found.probe === 'fatal' && !isOver ? 'initialize' : 'probe';
  if (program !== '' && !isSameProgram(found.program, program)) return 'probe';
  if (found.era === ERA_2026) return 'patient';
  if (!isOver || found.probe === 'fatal') return 'initialize';
  return found.probe === 'unanswered' ? 'both' : 'probe';
}

/** The result of a handshake. */
export interface SettledHandshake {
  readonly era: Era;
  /** The agreed version, and all versions that the server named. */
  readonly version: string;
  readonly versions: readonly string[];
  readonly initializeResult: Buffer;
  readonly discoverResult: Buffer | undefined;
  /** The facts to remember about the server; undefined if it was not asked, or did not answer clearly. */
  readonly finding: Pick<FoundEra, 'era' | 'version' | 'versions' | 'probe'> | undefined;
}

export interface HandshakeOptions {
  readonly server: string;
  readonly connection: Pick<ServerConnection, 'link' | 'safe'>;
  readonly maxDepth: number;
  readonly clock: Clock;
  readonly plan: HandshakePlan;
  /** The time in which the server must start. */
  readonly startTimeoutMs: number;
  /** The capabilities that the clients support. */
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: object;
}

/**
 * The wait for an answer to the probe before `initialize` is sent too. It decides nothing. It is long, because a server
 * of both eras that reads `initialize` stays in the era with a handshake. Only servers that never answer pay for it,
 * once.
 */
const PROBE_WAIT_MS = 3000;

/** If a server has little time to start, most of it is kept for after `initialize`. */
export function probeWaitMs(startTimeoutMs: number): number {
  return Math.min(PROBE_WAIT_MS, startTimeoutMs / 4);
}

/** Ids from 1 on belong to the clients' requests. */
const HANDSHAKE_ID = '0';
/**
 * The probe is repeated once if the first answer contradicts itself, or if `initialize` shows that it decided nothing.
 */
const MOST_PROBES = 2;

const UNSUPPORTED_VERSION = ERA_2026.errors.unsupportedVersion;
/** Errors that do not say whether the server knows the method. */
const UNCLEAR: ReadonlySet<unknown> = new Set([
  INTERNAL_ERROR,
  ERA_2026.errors.headerMismatch,
  ERA_2026.errors.missingClientCapability,
]);

/** The parts of a server's error that the handshake reads. */
interface ServerRefusal {
  readonly code: unknown;
  readonly message: string;
  /** The versions that it says it supports. */
  readonly supported: readonly string[] | undefined;
}

export class ServerHandshake {
  readonly #options: HandshakeOptions;
  readonly #envelope = new Envelope(ERA_2025.keys);
  #probe: 'unsent' | 'open' | 'refused' = 'unsent';
  #probes = 0;
  /** True if the server's refusal of the probe clearly shows that it does not know 2026. */
  #isClear = false;
  #initialize: 'unsent' | 'open' | 'refused' = 'unsent';
  #refusal: ServerRefusal | undefined;
  /** A good answer to the probe, kept until the server has answered `initialize`. */
  #discovery: DiscoverAnswer | undefined;
  #wait: Timer | undefined;

  constructor(options: HandshakeOptions) {
    this.#options = options;
  }

  /** Sends the first messages. */
  begin(): void {
    const { plan, clock, startTimeoutMs } = this.#options;
    if (plan !== 'initialize') this.#sendProbe(PROBE_ID);
    if (plan === 'initialize' || plan === 'both') this.#sendInitialize();
    if (plan === 'probe') this.#wait = clock.after(probeWaitMs(startTimeoutMs), () => this.#sendInitialize());
  }

  /** Called when the connection or the time is over. */
  end(): void {
    this.#wait?.cancel();
  }

  /** True if the server was probed and said nothing at all: then its end may be its answer. */
  get hasHeardNothing(): boolean {
    return this.#probe === 'open' && this.#initialize !== 'refused' && this.#discovery === undefined;
  }

  /** The unanswered requests, in words for people. */
  get awaited(): string {
    const awaited = [
      ...(this.#initialize === 'open' ? ['initialize'] : []),
      ...(this.#probe === 'open' && this.#initialize !== 'open' ? [DISCOVER] : []),
    ];
    return awaited.join(' and ') || 'initialize';
  }

  #sendProbe(id: string): void {
    const { connection, clientInfo, capabilities } = this.#options;
    const { outbox } = connection.link;
    const meta = requestEnvelopeOf({ clientInfo, capabilities });
    outbox.latin1(`{"jsonrpc":"2.0","id":${id},"method":"${DISCOVER}","params":{"_meta":{${meta}}}}`);
    outbox.endFrame();
    if (id !== PROBE_ID) return;
    this.#probe = 'open';
    this.#probes++;
  }

  #sendInitialize(): void {
    if (this.#initialize !== 'unsent') return;
    this.end();
    this.#initialize = 'open';
    const { connection, capabilities, clientInfo } = this.#options;
    const { outbox } = connection.link;
    const params = JSON.stringify({ protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo });
    outbox.utf8(`{"jsonrpc":"2.0","id":${HANDSHAKE_ID},"method":"initialize","params":${params}}`);
    outbox.endFrame();
  }

  /** Takes a message. Returns the agreed result once it is certain; throws if the server refuses. */
  take(b: Buffer, start: number, end: number): SettledHandshake | undefined {
    const envelope = this.#envelope;
    if (!envelope.scan(b, start, end, this.#options.maxDepth)) return undefined;
    if (envelope.kind === 'request') this.#answerPing(b);
    if (envelope.kind !== 'response') return undefined;
    switch (envelope.has(Field.id) ? envelope.raw(b, Field.id) : 'null') {
      case PROBE_ID:
        return this.#onProbed(b);
      case CONFIRMATION_ID:
        return this.#onConfirmed(b);
      case HANDSHAKE_ID:
        return this.#onInitialized(b);
      case 'null':
        // A server that could not read its only message cannot name the id either.
        return this.#initialize === 'unsent' ? this.#onProbed(b) : undefined;
      default:
        return undefined;
    }
  }

  #onProbed(b: Buffer): SettledHandshake | undefined {
    if (this.#probe !== 'open') return undefined;
    const discovery = this.#discoveryIn(b);
    if (discovery === undefined) return this.#onProbeRefused(this.#refusalIn(b));
    const version = this.#commonOf(discovery.versions);
    if (eraOf(version) !== ERA_2026) return this.#onProbeRefused(NO_REFUSAL);
    if (this.#initialize !== 'open') return this.#settleOn2026(discovery);
    this.#discovery = discovery;
    this.#sendProbe(CONFIRMATION_ID);
    return undefined;
  }

  #onConfirmed(b: Buffer): SettledHandshake | undefined {
    const discovery = this.#discovery;
    return discovery === undefined || this.#discoveryIn(b) === undefined ? undefined : this.#settleOn2026(discovery);
  }

  #onProbeRefused(refusal: ServerRefusal): undefined {
    this.#probe = 'refused';
    this.#isClear = !UNCLEAR.has(refusal.code);
    const { supported } = refusal;
    if (
      refusal.code === UNSUPPORTED_VERSION &&
      supported !== undefined &&
      eraOf(this.#commonOf(supported)) === ERA_2026
    ) {
      // It was asked for the version that it now names, so it is asked in the same way again.
      if (this.#probes === MOST_PROBES) throw this.#refused(DISCOVER, refusal);
      this.#sendProbe(PROBE_ID);
      return;
    }
    if (this.#initialize === 'refused') throw this.#refused('initialize', this.#refusal ?? refusal);
    this.#sendInitialize();
  }

  #onInitialized(b: Buffer): SettledHandshake | undefined {
    if (this.#initialize !== 'open') return undefined;
    const { outbox } = this.#options.connection.link;
    const initializeResult = this.#resultIn(b);
    if (initializeResult === undefined) return this.#onInitializeRefused(this.#refusalIn(b));
    const version = this.#versionIn(b);
    outbox.latin1(INITIALIZED_NOTICE);
    outbox.endFrame();
    this.end();
    return {
      era: ERA_2025,
      version,
      versions: [version],
      initializeResult,
      discoverResult: undefined,
      finding: this.#findingFor(version),
    };
  }

  #onInitializeRefused(refusal: ServerRefusal): SettledHandshake | undefined {
    this.#initialize = 'refused';
    this.#refusal = refusal;
    if (this.#discovery !== undefined) return this.#settleOn2026(this.#discovery);
    if (refusal.code === UNSUPPORTED_VERSION && eraOf(this.#commonOf(refusal.supported ?? [VERSION_2026])) !== ERA_2026)
      throw this.#refused('initialize', refusal);
    if (this.#probe === 'open') return undefined;
    if (this.#probes === MOST_PROBES || (this.#isClear && refusal.code !== UNSUPPORTED_VERSION))
      throw this.#refused('initialize', refusal);
    this.#sendProbe(PROBE_ID);
    return undefined;
  }

  #settleOn2026({ versions, discoverResult, initializeResult }: DiscoverAnswer): SettledHandshake {
    this.end();
    const finding = { era: ERA_2026, version: VERSION_2026, versions, probe: 'answered' as const };
    return { ...finding, initializeResult, discoverResult, finding };
  }

  /** The finding for a server that has answered `initialize`. */
  #findingFor(version: string): SettledHandshake['finding'] {
    // It speaks both eras but was late; next time it gets the time it needs.
    if (this.#discovery !== undefined)
      return { era: ERA_2026, version: VERSION_2026, versions: this.#discovery.versions, probe: 'answered' };
    const found = { era: ERA_2025, version, versions: [version] };
    if (this.#probe === 'open') return { ...found, probe: 'unanswered' };
    return this.#probe === 'refused' && this.#isClear ? { ...found, probe: 'answered' } : undefined;
  }

  // --- reading ---

  /** The bytes of the result, with a newline; undefined if it is no object. */
  #resultIn(b: Buffer): Buffer | undefined {
    const { from, to } = this.#envelope.span(Field.result);
    if (from < 0 || byteAt(b, from) !== OPEN_OBJECT) return undefined;
    return Buffer.concat([b.subarray(from, to), Buffer.from('\n')]);
  }

  #discoveryIn(b: Buffer): DiscoverAnswer | undefined {
    const result = this.#resultIn(b);
    return result && readDiscovery(result, this.#options.server);
  }

  #refusalIn(b: Buffer): ServerRefusal {
    const error = this.#envelope.decode(b, Field.error);
    const { code, message } = membersOf(error);
    return { code, message: textOf(message) || 'no result', supported: supportedVersionsIn(error) };
  }

  /** The version in a result of `initialize`. A server that names none is assumed to speak ours. */
  #versionIn(b: Buffer): string {
    const { protocolVersion } = membersOf(this.#envelope.decode(b, Field.result));
    if (typeof protocolVersion !== 'string') return LATEST_PROTOCOL_VERSION;
    if (!isSpoken(protocolVersion)) throw this.#nothingInCommon([protocolVersion]);
    return protocolVersion;
  }

  #answerPing(b: Buffer): void {
    const { outbox } = this.#options.connection.link;
    if (ERA_2025.methods.of(b, this.#envelope).role !== 'ping') return;
    const id = this.#envelope.raw(b, Field.id);
    outbox.latin1(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    outbox.endFrame();
  }

  /** The highest version that both sides speak. Throws if there is none. */
  #commonOf(versions: readonly string[]): string {
    const version = highestCommon(versions);
    if (version === undefined) throw this.#nothingInCommon(versions);
    return version;
  }

  // --- errors ---

  #safe(text: string, most: number): string {
    return this.#options.connection.safe(text).slice(0, most);
  }

  #versionFacts(versions: readonly string[]): Pick<BridgeError, 'facts'> & { readonly listed: string } {
    const serverVersions = versions.slice(0, MOST_TOLD).map((version) => this.#safe(version, 64));
    const listed = serverVersions.map((version) => JSON.stringify(version)).join(', ');
    return { facts: { serverVersions, bridgeVersions: SPOKEN_VERSIONS }, listed };
  }

  #nothingInCommon(versions: readonly string[]): BridgeError {
    const { server } = this.#options;
    const { facts, listed } = this.#versionFacts(versions);
    const speaks =
      listed === '' ? 'names no version of MCP that it speaks' : `speaks ${word(versions)} ${listed} of MCP`;
    const hint = `The bridge speaks ${SPOKEN_VERSIONS.join(', ')}.`;
    return new BridgeError('SERVER_START_FAILED', `Server ${server} ${speaks}`, { server, hint, facts });
  }

  #refused(method: string, { message, supported }: ServerRefusal): BridgeError {
    const { server } = this.#options;
    const verb = method === 'initialize' ? 'refused to initialize' : `refused ${method}`;
    const sentence = `Server ${server} ${verb}: ${this.#safe(message, 500)}`;
    if (supported === undefined) return new BridgeError('SERVER_START_FAILED', sentence, { server });
    const { facts, listed } = this.#versionFacts(supported);
    const hint = `It says that it supports ${listed}. The bridge speaks ${SPOKEN_VERSIONS.join(', ')}.`;
    return new BridgeError('SERVER_START_FAILED', sentence, { server, hint, facts });
  }

  /** The error for a server that refused `initialize` and was silent on the probe until its time was over. */
  get refusal(): BridgeError | undefined {
    return this.#refusal && this.#refused('initialize', this.#refusal);
  }
}

/** The maximum number of a server's versions in one error. */
const MOST_TOLD = 8;
const NO_REFUSAL: ServerRefusal = { code: undefined, message: '', supported: undefined };

const word = (versions: readonly string[]): string => (versions.length === 1 ? 'version' : 'versions');
