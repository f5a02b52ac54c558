// Events of the daemon as data: the daemon writes them, commands and other programs read them, and `--json` prints them
// unchanged. Kinds and fields may be added, but never change their meaning. Texts come from outside and have a maximum
// length.

import type { CallOutcome } from '../core/audit-trail.ts';
import type { QuestionEnd, WaitReason } from '../core/events.ts';
import type { CallRole } from '../protocol/era.ts';

interface At<Kind extends string> {
  readonly kind: Kind;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface OfClient {
  /** The client's id; '' if it has none yet. */
  readonly client: string;
  readonly name: string;
}

type ClientEvent =
  | (At<'client.ready'> &
      OfClient & { readonly version: string; readonly view: string; readonly protocolVersion: string | null })
  | (At<'client.refused' | 'client.cutOff'> & OfClient & { readonly reason: string })
  | (At<'client.away' | 'client.back' | 'client.left'> & OfClient);

interface OfInstance {
  readonly server: string;
  /** A unique number for each instance while the daemon runs. */
  readonly instance: number;
}

type InstanceEvent =
  | (At<'instance.starting' | 'instance.ready' | 'instance.stopped'> & OfInstance)
  | (At<'instance.failed' | 'instance.died'> & OfInstance & { readonly code: string; readonly message: string });

/** A call that is or was under way. */
interface NamedCall {
  /** The name by which `bridge/cancel` knows it. */
  readonly call: string;
  readonly client: string;
  /** Null until known, and for a call that reaches no server. */
  readonly server: string | null;
  /** Null if the call is not for a tool. */
  readonly tool: string | null;
}

/** A call that has ended. */
export interface CallReport extends NamedCall {
  readonly clientName: string;
  /** The client's id of the request, in JSON. */
  readonly request: string;
  /** The kind of request: `call` means a tool call. */
  readonly role: CallRole;
  /** The time at which it arrived. */
  readonly at: number;
  /** The same outcome as in the audit log. */
  readonly outcome: CallOutcome;
  /** The bridge's code of an error, or null. */
  readonly code: string | null;
  readonly totalMs: number;
  /** The time in which no server worked on it. */
  readonly waitedMs: number;
  /** The time from sending it to the server's answer; null if it was never sent. */
  readonly serverMs: number | null;
  /** The reasons why it waited. */
  readonly waits: readonly WaitReason[];
  /** The number of progress notices from its server. */
  readonly progress: number;
  /** Null for requests other than tool calls. */
  readonly requestBytes: number | null;
  readonly answerBytes: number;
}

/** A call under way. What happened before somebody watched calls is unknown, and null. */
export interface OpenCallReport extends NamedCall {
  readonly clientName: string;
  readonly request: string;
  readonly role: CallRole;
  readonly at: number | null;
  readonly ageMs: number | null;
  /**
   * `suspended` after its client was asked something and before it comes back: then `ageMs` counts from the question.
   */
  readonly state: 'waiting' | 'sent' | 'suspended';
  readonly waitedMs: number | null;
  readonly serverMs: number | null;
  readonly waits: readonly WaitReason[];
  readonly progress: number;
  readonly requestBytes: number | null;
}

export interface CallsReport {
  /** Oldest first; calls of unknown age come before all others. */
  readonly open: readonly OpenCallReport[];
  /** The number of calls under way; `open` may show only some of them. */
  readonly openTotal: number;
  /** Ended calls, newest first. They are kept only while somebody watches calls. */
  readonly recent: readonly CallReport[];
  /** The time since which calls are kept, in milliseconds since 1970; null while nobody watches. */
  readonly recordedSince: number | null;
  /** Calls that were not followed since then, because there were too many per second. */
  readonly leftOut: number;
}

export interface CancelReport {
  readonly cancelled: boolean;
  /** The reason if it was refused, or null. */
  readonly reason: string | null;
}

/** Messages between clients since somebody began to watch, newest first. */
export interface MessagesReport {
  readonly recent: readonly MessageEvent[];
  /** False while nobody watches: then nothing is kept. */
  readonly isKept: boolean;
}

export type CallEvent =
  | (At<'call.begun'> & NamedCall & Pick<CallReport, 'clientName' | 'request' | 'role' | 'requestBytes'>)
  | (At<'call.waiting'> & NamedCall & { readonly for: WaitReason })
  | (At<'call.sent' | 'call.answered' | 'call.suspended'> & NamedCall)
  | (At<'call.progress'> & NamedCall & { readonly count: number })
  | (At<'call.ended'> & Omit<CallReport, 'at'> & { readonly begunAt: number });

type QuestionEvent =
  | (At<'question.asked'> & { readonly client: string; readonly server: string; readonly about: string })
  | (At<'question.ended'> & { readonly client: string; readonly server: string; readonly end: QuestionEnd });

/** A message between clients, without its text. */
export type MessageEvent = At<'message.sent'> & {
  readonly outcome: 'message' | 'letter' | 'refused';
  readonly from: string;
  /** Null if it was refused before this was read. */
  readonly to: string | null;
  /** Null for a letter. */
  readonly method: string | null;
  readonly bytes: number | null;
};

/** Something was refused, dropped, shortened or delayed. */
type IncidentEvent = At<'incident'> & {
  /** The name of its counter in `status`. */
  readonly name: string;
  readonly client: string | null;
  readonly server: string | null;
  /** True if a limit in the settings was reached. */
  readonly limit: boolean;
  /** How often it has happened since its last event. */
  readonly times: number;
};

export type DaemonEvent =
  | ClientEvent
  | InstanceEvent
  | CallEvent
  | QuestionEvent
  | MessageEvent
  | IncidentEvent
  | (At<'server.connected'> & { readonly server: string })
  | (At<'tools.changed'> & { readonly server: string; readonly tools: readonly string[] })
  | (At<'approvals.wanted'> & { readonly cwd: string; readonly count: number });

export type EventKind = DaemonEvent['kind'];

/** All kinds, for checking and completing names. The compiler checks that none is missing. */
export const EVENT_KINDS = Object.keys({
  'client.ready': true,
  'client.refused': true,
  'client.cutOff': true,
  'client.away': true,
  'client.back': true,
  'client.left': true,
  'instance.starting': true,
  'instance.ready': true,
  'instance.stopped': true,
  'instance.failed': true,
  'instance.died': true,
  'server.connected': true,
  'call.begun': true,
  'call.waiting': true,
  'call.sent': true,
  'call.progress': true,
  'call.answered': true,
  'call.suspended': true,
  'call.ended': true,
  'question.asked': true,
  'question.ended': true,
  'tools.changed': true,
  'approvals.wanted': true,
  'message.sent': true,
  incident: true,
} satisfies Record<EventKind, true>) as readonly EventKind[];

/** The wanted events. A missing or empty list sets no condition. */
export interface EventConditions {
  /** Kinds such as `call.ended`, or common beginnings such as `call`. */
  readonly kinds?: readonly string[];
  readonly servers?: readonly string[];
  readonly clients?: readonly string[];
  readonly tools?: readonly string[];
}

export interface WatchParams extends EventConditions {
  /** The time between batches: 0 for none, else at least 250. */
  readonly batchMs?: number;
  /** The maximum number of calls per second that are followed; others are only counted. */
  readonly callsPerSecond?: number;
  /** The number of past events in the answer. */
  readonly past?: number;
}

/** The answer to `bridge/watch`. Notifications `bridge/event` follow on the same connection. */
export interface WatchReport {
  /** The name of the watch in notifications and for `bridge/unwatch`; null if it was refused. */
  readonly watch: string | null;
  /** The reason of a refusal, or null. */
  readonly refused: string | null;
  readonly at: number;
  /** The number of events that can wait for a slow reader before some are dropped. */
  readonly mostQueued: number;
  readonly batchMs: number;
  readonly callsPerSecond: number;
  readonly past: readonly DaemonEvent[];
}

/** The params of a notification `bridge/event`. */
export interface EventBatch {
  readonly watch: string;
  readonly at: number;
  readonly events: readonly DaemonEvent[];
  /** Events that this watch has lost since the last batch because its reader is slow. */
  readonly lost: number;
  /** All calls that began since the last batch, and those of them that are not followed. */
  readonly callsBegun: number;
  readonly callsLeftOut: number;
}

/** Past events, oldest first. Calls, questions, messages and incidents are not kept. */
export interface PastReport {
  readonly events: readonly DaemonEvent[];
}
