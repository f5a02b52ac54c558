// The plan of a call: its purpose, and what happens to it on its way because of that. The view that opens a call
// chooses the plan once, by the role of the method. This file says what a role does beyond passing on; it knows no
// clients and no servers.

import type { CallRole, ListKind } from '../protocol/era.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';

/**
 * The roles of calls. "Taken" is the moment in which a call that waits is about to be sent.
 *
 *              taken                     answered                   refused by the server      failed          ended
 * call         sent                      a task is noted            passed on                  the view's word
 * get-prompt   sent                      a task is noted            passed on                  the view's word
 * list         sent                      the reader may shorten it  passed on                                  the reader is told
 * read         sent                      passed on                  the next server is asked
 * subscribe    sent, answered or refused passed on                  the next server is asked                   the setting is told
 * unsubscribe  sent or answered          passed on                  the next server is asked                   the setting is told
 * set-level    sent or answered          passed on                  passed on                                  the setting is told
 * list-tasks   sent                      the client's own tasks     passed on
 * task         sent                      what it says is noted     passed on
 * task-result, complete, other           passed on
 */
export type CallPlan = NamedPlan | ListPlan | ReadPlan | SubscriptionPlan | LevelPlan | TaskPlan | PlainPlan;

/** The views in which a result that is long for a model may be cut. */
export type CuttingView = 'all' | 'discover' | 'code';

/** A plan of calls whose results may be cut. */
interface CuttablePlan {
  /** The view that cuts the result; undefined if it stays whole. */
  readonly cutIn?: CuttingView | undefined;
}

/** A tool or a prompt is called by its name. */
export interface NamedPlan extends CuttablePlan {
  readonly role: 'call' | 'get-prompt';
  /** True if the answer may say that the call has become a task. */
  readonly mayMakeTask: boolean;
  /** Words an error of the bridge as the view does; returns JSON. */
  readonly errorOf: ErrorText;
}

/** A list of one server, for a client that sees the server as it is. */
interface ListPlan {
  readonly role: 'list';
  readonly kind: ListKind;
  readonly reader: ListReader;
}

export interface ReadPlan {
  readonly role: 'read';
  readonly others: OtherServers;
}

export interface SubscriptionPlan {
  readonly role: 'subscribe' | 'unsubscribe';
  readonly others: OtherServers;
  /** True if the resource's URI names its server. */
  readonly isNamed: boolean;
  /** Called with the outcome once a request that was sent has ended. */
  told: Told;
}

export interface LevelPlan {
  readonly role: 'set-level';
  told: Told;
}

/** A request about a task. */
export interface TaskPlan extends CuttablePlan {
  readonly role: 'task';
  /** Undefined for tasks of 2025: each instance knows those by their clients. */
  readonly asked?: AskedTask;
}

/** A task of 2026, as a request names it. */
export interface AskedTask {
  /** The server's own id of the task. */
  readonly taskId: string;
  readonly isCancelled: boolean;
  /** True if nobody knows which instance works on the task. */
  readonly isAnywhere: boolean;
}

interface PlainPlan extends CuttablePlan {
  readonly role: 'list-tasks' | 'task-result' | 'complete' | 'other';
}

type ErrorText = (error: BridgeError) => string;
type Told = (outcome: RequestOutcome) => void;

/** The outcome of a request: the server did it, the server refused, or nobody knows. */
export type RequestOutcome = 'result' | 'error' | 'lost';

/** The view that has asked for a list. */
export interface ListReader {
  /** Returns the part of the list that the client may see. */
  shown(kind: ListKind, answer: Frame, envelope: Envelope): Frame;
  /** Called when the client has got the list. */
  given(kind: ListKind): void;
}

/** The servers to ask if this one refuses. */
export interface OtherServers {
  readonly isEmpty: boolean;
  askNext(): void;
}

const NO_OTHERS: OtherServers = { isEmpty: true, askNext: () => undefined };
const NOBODY_TOLD: Told = () => undefined;

// The plans of most calls are the same for all.
const TOOL: NamedPlan = { role: 'call', mayMakeTask: false, errorOf: rpcErrorOf };
const PROMPT: NamedPlan = { role: 'get-prompt', mayMakeTask: false, errorOf: rpcErrorOf };
const READ: ReadPlan = { role: 'read', others: NO_OTHERS };
const TASK: TaskPlan = { role: 'task' };
const PLAIN: Readonly<Record<PlainPlan['role'], PlainPlan>> = {
  'list-tasks': { role: 'list-tasks' },
  'task-result': { role: 'task-result' },
  complete: { role: 'complete' },
  other: { role: 'other' },
};

/** The plan of a call that goes to one server unchanged. Without a reader, the view answers a list itself. */
export function planOf(role: CallRole, envelope: Envelope): CallPlan {
  switch (role) {
    case 'call':
      return envelope.has(Field.task) ? { ...TOOL, mayMakeTask: true } : TOOL;
    case 'get-prompt':
      return envelope.has(Field.task) ? { ...PROMPT, mayMakeTask: true } : PROMPT;
    case 'list':
      return PLAIN.other;
    case 'read':
      return READ;
    case 'subscribe':
    case 'unsubscribe':
      return { role, others: NO_OTHERS, isNamed: false, told: NOBODY_TOLD };
    case 'set-level':
      return { role, told: NOBODY_TOLD };
    case 'task':
      return TASK;
    default:
      return PLAIN[role];
  }
}

/** The plan of a tool or prompt whose errors the view words. */
export function namedPlan(
  role: NamedPlan['role'],
  mayMakeTask: boolean,
  errorOf: ErrorText,
  cutIn?: CuttingView,
): NamedPlan {
  return { role, mayMakeTask, errorOf, ...(cutIn !== undefined && { cutIn }) };
}

const TOOL_IN_ALL: NamedPlan = { ...TOOL, cutIn: 'all' };

/** The plan of a call in the view `all`. */
export function planInAll(role: CallRole, envelope: Envelope): CallPlan {
  if (role !== 'call') return planOf(role, envelope);
  return envelope.has(Field.task) ? { ...TOOL_IN_ALL, mayMakeTask: true } : TOOL_IN_ALL;
}

/** The plan of a request about a task of 2025 in a joined view; the answer may be the task's result. */
export function taskPlanIn(role: CallRole, envelope: Envelope, cutIn: CuttingView): CallPlan {
  return role === 'task-result' ? { role, cutIn } : planOf(role, envelope);
}

/** The view that cuts the result of a call; undefined if it stays whole. */
export function cuttingViewOf({ plan }: Planned): CuttingView | undefined {
  return 'cutIn' in plan ? plan.cutIn : undefined;
}

/** The plan of a request about a resource that several servers may have. */
export function resourcePlan(role: CallRole, others: OtherServers, isNamed: boolean): ReadPlan | SubscriptionPlan {
  return role === 'subscribe' || role === 'unsubscribe'
    ? { role, others, isNamed, told: NOBODY_TOLD }
    : { role: 'read', others };
}

/** The only part of a call that this file needs. */
interface Planned {
  readonly plan: CallPlan;
}

/** The shared setting that a call is about; undefined for all other calls. */
export function settingPlanOf({ plan }: Planned): SubscriptionPlan | LevelPlan | undefined {
  switch (plan.role) {
    case 'subscribe':
    case 'unsubscribe':
    case 'set-level':
      return plan;
    default:
      return undefined;
  }
}

/** The servers to ask after one that has refused, or cannot be started. */
export function otherServersFor({ plan }: Planned): OtherServers {
  switch (plan.role) {
    case 'read':
    case 'subscribe':
    case 'unsubscribe':
      return plan.others;
    default:
      return NO_OTHERS;
  }
}

/** The bridge's error for a failed call, in JSON. */
export function errorTextOf({ plan }: Planned, error: BridgeError): string {
  return 'errorOf' in plan ? plan.errorOf(error) : rpcErrorOf(error);
}

/** Tells whoever waits that the call has ended at its server, or must be decided again. */
export function endRequest({ plan }: Planned, outcome: RequestOutcome): void {
  switch (plan.role) {
    case 'list':
      if (outcome === 'result') plan.reader.given(plan.kind);
      return;
    case 'subscribe':
    case 'unsubscribe':
    case 'set-level': {
      const { told } = plan;
      plan.told = NOBODY_TOLD;
      return told(outcome);
    }
    default:
  }
}

/** True if only the instance that works on its task can answer the call. */
export function isBound({ plan }: Planned): boolean {
  return plan.role === 'task-result' || (plan.role === 'task' && plan.asked?.isAnywhere !== true);
}

/** True if a second execution of the call may do harm. */
export function mayHarmTwice({ plan: { role } }: Planned): boolean {
  return role === 'call' || role === 'other';
}

/** True for methods whose calls are told apart by name. */
export function isNamedCall({ plan: { role } }: Planned): boolean {
  return role === 'call' || role === 'get-prompt';
}

/** True if the answer may say that the call has become a task. */
export function mayMakeTask({ plan }: Planned): boolean {
  return 'mayMakeTask' in plan && plan.mayMakeTask;
}
