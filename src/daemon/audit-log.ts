// The record of calls as lines of JSON: the fields of each line, and their form.

import { hash } from 'node:crypto';
import type { AuditSettings } from '../config/audit-settings.ts';
import type { AuditReport } from '../control/report.ts';
import type { AuditTrail, CallRecord } from '../core/audit-trail.ts';
import type { ObservedClient } from '../core/events.ts';
import { LineLog } from '../local/line-log.ts';
import { RotatedFile } from '../local/rotated-file.ts';
import type { BusRefusal } from '../model/bus-refusal.ts';
import { grantOf, type Principal } from '../model/principal.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { lineSafe } from '../util/printable.ts';
import { type SummedRefusal, SummedRefusals } from './summed-refusals.ts';

export interface AuditLogOptions {
  readonly settings: Omit<AuditSettings, 'isKept'>;
  readonly path: string;
  readonly clock: Clock;
  /** The time of day in milliseconds. */
  readonly date: () => number;
  readonly logger: Logger;
}

/** The maximum number of hashed bytes of the arguments: hashing 64 KiB would cost a third more than the call itself. */
const MOST_HASHED = 16 * 1024;
/** The number of tools remembered per client; above it, all are forgotten and remembered again as they come. */
const MOST_HEADS = 200;
const LONGEST_NAME = 256;
/** The time for which the two clocks are assumed to agree, because somebody may set one of them. */
const SAME_CLOCK_MS = 50;

interface Head {
  readonly server: string;
  readonly serverVersion: string;
  readonly view: string;
  readonly text: string;
}

export class AuditLog implements AuditTrail {
  readonly #options: AuditLogOptions;
  readonly #lines: LineLog;
  readonly #refusals: SummedRefusals;
  readonly #refusal: BridgeError | undefined;
  /** The parts of a client's lines that name the client and its tools, and the number of its connection. */
  readonly #heads = new WeakMap<ObservedClient, Map<string, Head>>();
  readonly #numbers = new WeakMap<ObservedClient, number>();
  #sessions = 0;
  #comparedMs = Number.NEGATIVE_INFINITY;
  #dateOffsetMs = 0;
  #second = -1;
  #secondText = '';

  constructor(options: AuditLogOptions) {
    const { settings, path, clock } = options;
    this.#options = options;
    this.#refusal = settings.onFailure === 'refuse' ? refusalFor(path) : undefined;
    this.#lines = new LineLog({
      file: new RotatedFile({ path, maxBytes: settings.maxBytes, keep: settings.keep }),
      clock,
      lossLine: (lost) => `{"time":"${this.#timeAt(clock.now(), clock.now())}","lost":${lost}}\n`,
      changed: (failure) => this.#changed(failure),
    });
    this.#refusals = new SummedRefusals(clock, (sum) => this.#recordRefusals(sum));
  }

  /** Takes what was refused of another host. A flood of the same is one line in a while. */
  busRefused(refusal: BusRefusal): void {
    this.#refusals.add(refusal);
  }

  #recordRefusals({ refusal, count, firstMs }: SummedRefusal): void {
    const { what = 'many', user, host, server, why } = refusal ?? {};
    const said = Object.entries({ user, host, server, why }).map(([name, text]) =>
      text === undefined ? '' : `,"${name}":${written(text)}`,
    );
    const time = this.#timeAt(firstMs, this.now());
    this.#lines.append(`{"time":"${time}","refused":"${what}","count":${count}${said.join('')}}\n`);
  }

  #changed(failure: string | undefined): void {
    const { logger, path } = this.#options;
    if (failure === undefined) logger.info('the audit log can be written again', { path });
    else logger.error('the audit log cannot be written', { path, failure });
  }

  /** Writes a first line at the start, to test the log, if calls depend on it. */
  async open(): Promise<void> {
    if (this.#refusal !== undefined) await this.#lines.write();
  }

  get refusal(): BridgeError | undefined {
    return this.#refusal !== undefined && this.#lines.failure !== undefined ? this.#refusal : undefined;
  }

  now(): number {
    return this.#options.clock.now();
  }

  argumentsText(b: Buffer, from: number, to: number): string {
    if (this.#options.settings.keepsArguments) return b.toString('utf8', from, to);
    return hash('sha256', b.subarray(from, Math.min(to, from + MOST_HASHED)), 'hex');
  }

  record(call: CallRecord): void {
    const { askedMs, outcome = 'error', code, requestBytes, answerBytes } = call;
    const now = this.now();
    const tenths = Math.round((now - askedMs) * 10);
    const duration = `${Math.trunc(tenths / 10)}.${tenths % 10}`;
    const why = code === '' ? '' : `,"code":${JSON.stringify(code)}`;
    const there = call.clientThere === undefined ? '' : `,"clientThere":${written(call.clientThere)}`;
    const continued = call.isContinued ? ',"continued":true' : '';
    this.#lines.append(
      `{"time":"${this.#timeAt(askedMs, now)}",${this.#headOf(call)}${there},"outcome":"${outcome}"${why}${continued},"durationMs":${duration},` +
        `"requestBytes":${requestBytes},"answerBytes":${answerBytes}${this.#argumentsOf(call)}${aboutOf(call)}}\n`,
    );
  }

  #argumentsOf({ argumentsBytes, argumentsText }: CallRecord): string {
    if (argumentsText === '') return '';
    const kept = this.#options.settings.keepsArguments
      ? `"arguments":${lineSafe(argumentsText)}`
      : `"argumentsSha256":"${argumentsText}"`;
    return `,"argumentsBytes":${argumentsBytes},${kept}`;
  }

  /** The part of a line that says which client called which tool. */
  #headOf({ session, server, serverVersion, toolText }: CallRecord): string {
    const heads = this.#headsOf(session);
    const view = session.view?.name ?? '';
    const known = heads.get(toolText);
    const isSame = known?.server === server && known.serverVersion === serverVersion && known.view === view;
    if (known !== undefined && isSame) return known.text;
    const text = this.#newHead(session, view, { server, serverVersion, toolText });
    if (toolText.length > LONGEST_NAME) return text;
    if (heads.size >= MOST_HEADS) heads.clear();
    heads.set(toolText, { server, serverVersion, view, text });
    return text;
  }

  #headsOf(session: ObservedClient): Map<string, Head> {
    const known = this.#heads.get(session);
    if (known !== undefined) return known;
    const heads = new Map<string, Head>();
    this.#heads.set(session, heads);
    return heads;
  }

  #newHead(
    session: ObservedClient,
    view: string,
    { server, serverVersion, toolText }: Pick<CallRecord, 'server' | 'serverVersion' | 'toolText'>,
  ): string {
    const number = this.#numbers.get(session) ?? ++this.#sessions;
    this.#numbers.set(session, number);
    const tool = toolText === '' ? '' : decoded(toolText);
    return [
      `"client":${written(session.clientId)}`,
      `"program":${written(`${session.name} ${session.version}`.trim())}`,
      `"protocolVersion":${written(session.protocolVersion ?? '')}`,
      `"uid":${session.principal.uid}`,
      `"pid":${session.principal.pid ?? null}`,
      ...originOf(session.principal),
      `"connection":${number}`,
      `"view":${written(view)}`,
      `"server":${written(server)}`,
      `"serverProtocolVersion":${written(serverVersion)}`,
      `"tool":${written(tool)}`,
    ].join(',');
  }

  /** Converts a time of the steady clock to the time of day. */
  #timeAt(ms: number, now: number): string {
    if (now - this.#comparedMs > SAME_CLOCK_MS) {
      this.#comparedMs = now;
      this.#dateOffsetMs = this.#options.date() - now;
    }
    const date = Math.round(ms + this.#dateOffsetMs);
    const second = Math.floor(date / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1000).toISOString().slice(0, 20);
    }
    return `${this.#secondText}${String(1000 + (date - second * 1000)).slice(1)}Z`;
  }

  report(): AuditReport {
    const { written: lines, lost, failure = null } = this.#lines;
    return { file: this.#options.path, lines, lost, failure, refuses: this.refusal !== undefined };
  }

  close(): Promise<void> {
    this.#refusals.flush();
    return this.#lines.close();
  }
}

/** Names the server and tool that a meta-tool was asked about. */
function aboutOf({ about }: CallRecord): string {
  if (about === undefined) return '';
  return `,"about":{"server":${written(about.server)},"tool":${written(about.tool)}}`;
}

function refusalFor(path: string): BridgeError {
  return new BridgeError('AUDIT_FAILED', 'Calls are recorded here, and this one could not be', {
    hint: `Whoever runs the bridge must see to ${path}; mcp-bridge status says what is wrong with it.`,
  });
}

/** A name as the client spelled it; if it is no string, its JSON. */
function decoded(text: string): string {
  const json = Buffer.from(text, 'latin1').toString();
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : json;
}

/** The fields about the caller: the token over HTTP, or the tenant, user and host of a remote client. */
function originOf(principal: Principal): string[] {
  if (principal.kind === 'bus') {
    const { tenant, user, host } = principal;
    return [`"tenant":${written(tenant)}`, `"user":${written(user)}`, `"host":${written(host)}`];
  }
  const grant = grantOf(principal);
  return grant === undefined ? [] : [`"token":${written(grant.name)}`];
}

/** Writes a value as JSON; an unknown one is null. */
function written(text: string): string {
  if (text === '') return 'null';
  return lineSafe(JSON.stringify(text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text));
}
