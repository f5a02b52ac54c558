// Chooses an owner for calls of a server by its name alone. NATS chooses first; the home chooses if nobody has taken
// the call. A call that belongs to an earlier one goes to the same owner: a request state carries the name of its host,
// and the hosts of tasks are remembered.

import { isHostName } from '../model/host-name.ts';
import { LOST_MS } from './frames.ts';

/** The beginning of a request state that contains the name of a host. */
const MARK = '"mcp-bridge@';
const END = '~';
/** The maximum length of a host's name, with everything around it. */
const LONGEST_MARK = MARK.length + 64;
const MOST_TASKS = 1000;

/** The way of one call from owner to owner. */
export interface CallWay {
  /**
   * True if the call is safe to repeat. An owner begins any other call only when told to, so until then another owner
   * may take it.
   */
  readonly isSafe: boolean;
  /** True if the call was already lost once where it may have begun: it is not moved a second time. */
  readonly isSecondTry: boolean;
  /** The hosts where it was. */
  readonly tried: Set<string>;
  /** The time until which another owner is looked for. */
  readonly untilMs: number;
}

export function newWay(isSafe: boolean, nowMs: number): CallWay {
  return { isSafe, isSecondTry: false, tried: new Set(), untilMs: nowMs + LOST_MS };
}

/** Returns the way of a safe call that was lost on that host. */
export function secondWay(host: string | undefined, nowMs: number): CallWay {
  return {
    isSafe: true,
    isSecondTry: true,
    tried: new Set(host === undefined ? [] : [host]),
    untilMs: nowMs + LOST_MS,
  };
}

/** Returns the next host for a call. Undefined lets NATS choose, because all known hosts have had their turn. */
export function nextHost({ tried }: CallWay, owners: readonly string[]): string | undefined {
  const left = owners.filter((host) => !tried.has(host));
  const next = left[Math.floor(Math.random() * left.length)];
  if (next === undefined) tried.clear();
  else tried.add(next);
  return next;
}

/**
 * Writes the name of a host into the request state in message[from, to), which is JSON. A state that is no text stays
 * unchanged.
 */
export function withHost(message: Buffer, { from, host }: { from: number; host: string }): Buffer {
  if (message[from] !== QUOTE || !isHostName(host)) return message;
  return Buffer.concat([message.subarray(0, from), Buffer.from(`${MARK}${host}${END}`), message.subarray(from + 1)]);
}

/**
 * Reads the host in a request state, and the message with the state as the owner has written it; undefined if there is
 * none.
 */
export function hostIn(message: Buffer, from: number): { readonly host: string; readonly message: Buffer } | undefined {
  const head = message.toString('latin1', from, from + LONGEST_MARK);
  const end = head.indexOf(END);
  const host = head.slice(MARK.length, end);
  if (!head.startsWith(MARK) || end < 0 || !isHostName(host)) return undefined;
  const rest = message.subarray(from + end + END.length);
  return { host, message: Buffer.concat([message.subarray(0, from), Buffer.from('"'), rest]) };
}

const QUOTE = 0x22;

/** The hosts of the tasks that calls of one connection have begun. */
export class TaskHosts {
  readonly #hosts = new Map<string, string>();

  note(taskId: string, host: string): void {
    this.#hosts.delete(taskId);
    this.#hosts.set(taskId, host);
    if (this.#hosts.size <= MOST_TASKS) return;
    for (const oldest of this.#hosts.keys()) return void this.#hosts.delete(oldest);
  }

  of(taskId: string): string | undefined {
    return this.#hosts.get(taskId);
  }
}
