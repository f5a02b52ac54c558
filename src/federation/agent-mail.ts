// Letters between agents of different hosts: a question to the daemon of a host, and its one answer. Each side must
// name the other in its config. A letter that may have arrived is sent again under the same id; its receiver takes each
// id once.

import { randomBytes } from 'node:crypto';
import type { AgentsElsewhere, AgentsHere, ListedAgents, MailedLetter } from '../model/agent-mail.ts';
import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import type { Bus, ReceivedMessage } from './bus.ts';
import { isInbox, tokenOf } from './subject.ts';

const PREFIX = 'mcp.v1.mail';
/** The maximum size of a letter with everything around it. */
const MOST_BYTES = 512 * 1024;
const MOST_ANSWER_BYTES = 64 * 1024;
const RESEND_MS = 2000;
const PATIENCE_MS = 9000;
/** Lists come within this time, or are left out. */
const LIST_PATIENCE_MS = 1500;
const MOST_HOSTS_ASKED = 64;
const MOST_AGENTS = 50;
const LONGEST_ID = 128;
/** The time for which an id is remembered: longer than its letter is repeated. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 4096;
/**
 * The maximum number of requests per second from one host, and from one user under any names of hosts. The others get
 * no answer.
 */
const MOST_OF_HOST = 100;
const MOST_OF_USER = 500;
const MOST_COUNTED = 4096;
/** The error codes that are taken from another host; any other code becomes a refusal. */
const TOLD: readonly BridgeErrorCode[] = [
  'CLIENT_NOT_FOUND',
  'MAILBOX_FULL',
  'MESSAGE_LOOP',
  'MESSAGE_NOT_ACCEPTED',
  'MESSAGE_TOO_LARGE',
  'TOO_MANY_MESSAGES',
];

export interface AgentMailOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly tenant: string;
  readonly user: string;
  readonly host: string;
  readonly here: AgentsHere;
  /** True if the config lets agents here exchange messages with agents of that host. */
  readonly isAllowed: (host: string) => boolean;
  /** The hosts that are present and exchange messages. */
  readonly hosts: () => readonly string[];
  /** The reason why a host cannot be reached; undefined if it can. */
  readonly unreachable: (host: string) => string | undefined;
  /** Called when a message of another host was refused. */
  readonly refused: (host: string, why: string) => void;
}

/** A question to another host, not answered yet. */
interface Unanswered {
  readonly take: (message: ReceivedMessage) => void;
  readonly giveUp: () => void;
}

export class AgentMail implements AgentsElsewhere {
  readonly #options: AgentMailOptions;
  readonly #inbox: string;
  readonly #ends: readonly (() => void)[];
  readonly #tick: Timer;
  readonly #waiting = new Map<string, Unanswered>();
  /** The answers to letters that came, by the sender and the letter's id. */
  readonly #answered = new Map<string, { readonly answer: string; readonly atMs: number }>();
  /** The number of requests in this second: by user, and by user and host. */
  readonly #counts = new Map<string, number>();

  constructor(options: AgentMailOptions) {
    this.#options = options;
    const { bus, tenant, host, clock } = options;
    this.#inbox = `_INBOX.${tokenOf(host)}.${newId()}.`;
    this.#ends = [
      bus.subscribe(`${this.#inbox}*`, (message) =>
        this.#waiting.get(message.subject.slice(this.#inbox.length))?.take(message),
      ),
      bus.subscribe(`${PREFIX}.${tenant}.*.*.${tokenOf(host)}`, (message) => this.take(message)),
    ];
    this.#tick = clock.every(1000, () => this.#forget());
  }

  // --- to other hosts ---

  async post(host: string, letter: MailedLetter): Promise<{ readonly id: string }> {
    const { isAllowed, unreachable } = this.#options;
    if (!isAllowed(host))
      throw new BridgeError('MESSAGE_REFUSED', `federation.agents in the config file does not name the host ${host}`);
    const why = unreachable(host);
    if (why !== undefined)
      throw new BridgeError('CLIENT_NOT_FOUND', `The host ${host} cannot be reached: ${why}`, {
        hint: 'See: mcp-bridge hosts',
      });
    const answer = await this.#ask(host, { ...letter, kind: 'letter', id: newId() }, PATIENCE_MS);
    const { id } = answer;
    if (typeof id === 'string' && id.length <= LONGEST_ID) return { id };
    throw errorIn(host, answer);
  }

  async list(asker: string): Promise<ListedAgents> {
    const { hosts, isAllowed } = this.#options;
    const asked = hosts().filter(isAllowed).slice(0, MOST_HOSTS_ASKED);
    const lists = await Promise.all(asked.map((host) => this.#listOf(host, asker)));
    const agents = lists.flatMap((list) => list.agents);
    const more = lists.reduce((sum, list) => sum + list.more, 0) + Math.max(0, agents.length - MOST_AGENTS);
    return { agents: agents.slice(0, MOST_AGENTS), more };
  }

  async #listOf(host: string, asker: string): Promise<ListedAgents> {
    try {
      const { agents, more } = await this.#ask(host, { kind: 'agents', from: asker }, LIST_PATIENCE_MS);
      const listed = (Array.isArray(agents) ? agents : []).slice(0, MOST_AGENTS).flatMap((agent: unknown) => {
        const { id, name } = membersOf(agent);
        if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) return [];
        return [{ id: `${id}@${host}`, name: textOf(name).slice(0, LONGEST_ID) }];
      });
      return { agents: listed, more: countOf(more) };
    } catch (error) {
      if (error instanceof BridgeError) return { agents: [], more: 0 }; // it has left, or is slow
      throw error;
    }
  }

  /** Asks the daemon of a host, repeatedly under one id. */
  #ask(host: string, question: object, patienceMs: number): Promise<Readonly<Record<string, unknown>>> {
    const { bus, clock, tenant, user, host: own } = this.#options;
    const subject = `${PREFIX}.${tenant}.${user}.${tokenOf(own)}.${tokenOf(host)}`;
    const data = Buffer.from(JSON.stringify({ v: 1, host: own, ...question }));
    const token = newId();
    const message = { subject, reply: this.#inbox + token, headers: {}, data };
    return new Promise((resolve, reject) => {
      let wasHeard = false;
      const send = (): void => bus.publish(message);
      const again = clock.every(RESEND_MS, send);
      const end = (settle: () => void): void => {
        for (const timer of [again, soon, patience]) timer.cancel();
        this.#waiting.delete(token);
        settle();
      };
      // The bus says at once if nobody listens. A later word of this kind is about a repeated letter.
      const soon = clock.after(RESEND_MS - 1, () => {
        wasHeard = true;
      });
      const giveUp = (): void => end(() => reject(unknown(host)));
      const patience = clock.after(patienceMs, giveUp);
      const take = ({ isUnheard, data: answer }: ReceivedMessage): void => {
        // A letter that may have arrived stays possibly done, even if the daemon has left since.
        if (isUnheard && !wasHeard) return end(() => reject(notThere(host)));
        if (isUnheard) return;
        end(() => resolve(recordIn(answer, MOST_ANSWER_BYTES) ?? {}));
      };
      this.#waiting.set(token, { take, giveUp });
      if (data.length > MOST_BYTES) return end(() => reject(tooLarge(data.length)));
      send();
    });
  }

  // --- from other hosts ---

  /** Takes a message of another host. A host that floods, or contradicts the subject, gets no answer. */
  take({ subject, reply, data }: ReceivedMessage): void {
    const { bus, refused } = this.#options;
    const [user = '', sender = ''] = subject.split('.').slice(4);
    if (reply === undefined) return;
    if (!this.#hasShareLeft(user, sender)) return refused(sender, 'it sends too many messages');
    if (!isInbox(reply)) return refused(sender, 'its answer is to go to no inbox');
    const question = recordIn(data, MOST_BYTES);
    const host = textOf(question?.host);
    if (question?.v !== 1 || host === '' || tokenOf(host) !== sender)
      return refused(sender, 'its message is not in the form that is expected, or names another host');
    const answer = this.#answer(`${user} ${host}`, host, question);
    bus.publish({ subject: reply, headers: {}, data: Buffer.from(answer) });
  }

  /**
   * True if the sender has not used up its share. The host is only the sender's claim; the subject proves the user. So
   * a sender that claims other hosts' names uses up its own user's share.
   */
  #hasShareLeft(user: string, sender: string): boolean {
    const key = `${user} ${sender}`;
    const ofUser = this.#counts.get(user) ?? 0;
    const ofHost = this.#counts.get(key) ?? 0;
    if (ofUser >= MOST_OF_USER || ofHost >= MOST_OF_HOST) return false;
    if (ofHost === 0 && this.#counts.size >= MOST_COUNTED) return false;
    this.#counts.set(user, ofUser + 1).set(key, ofHost + 1);
    return true;
  }

  #answer(sender: string, host: string, question: Readonly<Record<string, unknown>>): string {
    const { here, isAllowed, hosts, clock } = this.#options;
    const failure = (code: BridgeErrorCode, message: string) => JSON.stringify({ error: { code, message } });
    const { kind, id, from } = question;
    if (!isAllowed(host) || !hosts().includes(host))
      return failure('MESSAGE_REFUSED', `federation.agents of that host does not name ${host}`);
    if (!isName(from)) return failure('MESSAGE_INVALID', 'The message names no sender');
    if (kind === 'agents') return JSON.stringify(here.agentsFor(`${from}@${host}`));
    const letter = letterIn(question, from);
    if (kind !== 'letter' || !isName(id) || letter === undefined)
      return failure('MESSAGE_INVALID', 'The message is not in the form that is expected');
    const key = `${sender} ${id}`;
    const known = this.#answered.get(key);
    if (known !== undefined) return known.answer;
    const answer = this.#received(host, letter, failure);
    this.#answered.set(key, { answer, atMs: clock.now() });
    for (const oldest of this.#answered.keys()) {
      if (this.#answered.size <= MOST_REMEMBERED) break;
      this.#answered.delete(oldest);
    }
    return answer;
  }

  #received(host: string, letter: MailedLetter, failure: (code: BridgeErrorCode, message: string) => string): string {
    try {
      return JSON.stringify({ id: this.#options.here.receive(host, letter).id });
    } catch (error) {
      if (error instanceof BridgeError) return failure(error.code, error.message);
      throw error;
    }
  }

  #forget(): void {
    this.#counts.clear();
    const nowMs = this.#options.clock.now();
    for (const [key, { atMs }] of this.#answered) {
      if (nowMs - atMs < REMEMBERED_MS) return;
      this.#answered.delete(key);
    }
  }

  close(): void {
    this.#tick.cancel();
    for (const end of this.#ends) end();
    for (const { giveUp } of [...this.#waiting.values()]) giveUp();
  }
}

function newId(): string {
  return randomBytes(12).toString('base64url');
}

function isName(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.length <= LONGEST_ID && !/\p{Cc}/u.test(text);
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function letterIn(
  { to, text, inReplyTo, hops }: Readonly<Record<string, unknown>>,
  from: string,
): MailedLetter | undefined {
  if (!isName(to) || typeof text !== 'string' || text === '') return undefined;
  if (inReplyTo !== undefined && !isName(inReplyTo)) return undefined;
  if (typeof hops !== 'number' || !Number.isSafeInteger(hops) || hops < 0) return undefined;
  return { from, to, text, inReplyTo, hops };
}

function recordIn(data: Uint8Array, mostBytes: number): Readonly<Record<string, unknown>> | undefined {
  if (data.length > mostBytes) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
    return isRecord(value) ? value : undefined;
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}

function errorIn(host: string, answer: Readonly<Record<string, unknown>>): BridgeError {
  const { code, message } = membersOf(answer.error);
  const known = TOLD.find((one) => one === code) ?? 'MESSAGE_REFUSED';
  return new BridgeError(
    known,
    `The host ${host} has refused the message: ${textOf(message).slice(0, 300) || 'it has not said why'}`,
  );
}

function notThere(host: string): BridgeError {
  return new BridgeError(
    'CLIENT_NOT_FOUND',
    `The host ${host} takes no messages: its daemon is away, or has federation.agents or agents.enabled off`,
    {
      hint: 'See: mcp-bridge hosts',
    },
  );
}

function unknown(host: string): BridgeError {
  return new BridgeError('OUTCOME_UNKNOWN', `The host ${host} has not answered; the message may have arrived`);
}

function tooLarge(bytes: number): BridgeError {
  return new BridgeError('MESSAGE_TOO_LARGE', `The message has ${bytes} bytes, and ${MOST_BYTES} go to another host`);
}
