// Where a request is taken in at an instance: what it is called there, what follows from its answer, and whether it may be
// made again, before it goes to the calls.

import type { Limits } from '../model/limits.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Call, ClientRequest } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { Counters } from './counters.ts';
import { extend } from './deadline.ts';
import { type CallRole, type MethodRole, methodOf } from './era/era-2025.ts';
import type { Instance } from './instance.ts';
import { LONGEST_KNOWN_CALL, NEEDS_NO_LANE } from './lane.ts';
import { outcomeUnknown } from './outcome-unknown.ts';
import type { Session } from './session.ts';
import { SharedSettings } from './shared-settings.ts';
import type { Tasks } from './tasks.ts';
import type { ToolGate } from './tool-gate.ts';

export interface CallDeskPorts {
  readonly instance: Instance;
  readonly calls: CallTable;
  readonly tasks: Tasks;
  readonly gate: (session: Session) => ToolGate;
  readonly audit?: AuditTrail | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  /** Whether the server is believed that a tool does no harm twice. */
  readonly trustsHints: boolean;
  /** Whether the server says so of this tool. */
  readonly isSafe: (name: string) => boolean;
  /** Starts the instance if anything waits for it. */
  readonly startIfWaiting: () => void;
}

/** Of frames that have waited. */
const readAgain = new Envelope();

export class CallDesk {
  readonly #ports: CallDeskPorts;
  readonly sharedSettings: SharedSettings;

  constructor(ports: CallDeskPorts) {
    this.#ports = ports;
    const { instance, calls, limits, counters } = ports;
    this.sharedSettings = new SharedSettings({
      server: instance.server,
      calls,
      limits,
      counters,
    });
  }

  /** Takes a request in and sees to its one answer. */
  take(call: Call, { role, frame }: Pick<ClientRequest, 'role' | 'frame'>, read: Envelope): void {
    call.owner = this.#ports.instance;
    extend(call); // what it may take from here on is the server's to say
    switch (role) {
      case 'call':
        if (this.#refuses(call, frame, read)) return;
        if (this.#ports.trustsHints && this.#ports.isSafe(nameOf(call, frame, read))) call.again = ownFrame(frame);
        else if (call.mayBeDone) return this.#leaveUnknown(call);
        return this.#submit(call, role, frame, read);
      case 'other':
        return call.mayBeDone ? this.#leaveUnknown(call) : this.#submit(call, role, frame, read);
      default:
        return this.#submit(call, role, frame, read);
    }
  }

  /** The one function that decides whether a call may be made, whatever view it comes from. */
  #refuses(call: Call, frame: Frame, read: Envelope): boolean {
    const { calls, instance, audit } = this.#ports;
    call.record?.reached(instance.server, call.nameText);
    const gate = this.#ports.gate(call.session);
    const refusal = (gate.isOpen ? undefined : this.#refusalAt(gate, call, frame, read)) ?? audit?.refusal;
    if (refusal !== undefined) calls.fail(call, refusal);
    return refusal !== undefined;
  }

  #refusalAt(gate: ToolGate, call: Call, frame: Frame, read: Envelope): BridgeError | undefined {
    const isNamed = call.nameText !== '' || read.has(Field.name);
    const tool = isNamed ? toolIn(nameOf(call, frame, read)) : undefined;
    return tool === undefined ? noName(this.#ports.instance.server) : gate.refusalOf(tool);
  }

  /** What may do harm twice is not done again. */
  #leaveUnknown(call: Call): void {
    this.#ports.calls.fail(call, outcomeUnknown(this.#ports.instance.server));
  }

  /** One that has waited elsewhere: what it is called, and what follows from its answer, is our business now. */
  takeOver(call: Call, frame: Frame): void {
    call.owner = this.#ports.instance;
    readAgain.scan(frame.b, frame.start, frame.end, this.#ports.limits.maxDepth);
    const { role } = methodOf(frame.b, readAgain);
    this.#prepare(call, role, frame, readAgain);
    this.#ports.calls.resubmit(call, frame);
    this.#ports.startIfWaiting();
  }

  #submit(call: Call, role: CallRole, frame: Frame, read: Envelope): void {
    call.isBound = role === 'task' || role === 'task-result';
    call.waitsForTask = role === 'task-result';
    this.#prepare(call, role, frame, read);
    this.#ports.calls.submit(call, frame, read);
    this.#ports.startIfWaiting();
  }

  #prepare(call: Call, role: MethodRole, frame: Frame, read: Envelope): void {
    call.isToolCall = role === 'call';
    // Also before the server runs; then the lane is not open yet.
    if (this.#ports.instance.mayAskBack) call.laneName = laneNameOf(call, role, frame, read);
    const { tasks } = this.#ports;
    if (role === 'list-tasks') call.onAnswer = (answer, said) => tasks.filterList(call.session, answer, said);
    call.makesTask = hasName(role) && read.has(Field.task);
    if (call.makesTask) call.onAnswer = (answer, said) => tasks.learn(call, answer, said);
    this.sharedSettings.prepare(call, role);
  }
}

/** Requests that no server asks back about: what it asks about a task says so. */
const ASKS_NOTHING: ReadonlySet<MethodRole> = new Set<MethodRole>(['list', 'task', 'task-result', 'list-tasks']);

/** Names that are longer than the lane would remember are one to it, and nothing is learnt of them. */
const LONG_NAME = 'x'.repeat(LONGEST_KNOWN_CALL + 1);

function isNamedAtLength({ nameText }: Call, read: Envelope): boolean {
  const field = read.has(Field.name) ? Field.name : Field.method;
  return (nameText === '' ? read.to(field) - read.from(field) : nameText.length) > LONGEST_KNOWN_CALL;
}

/** By what it is known to the lane. */
function laneNameOf(call: Call, role: MethodRole, frame: Frame, read: Envelope): string {
  if (ASKS_NOTHING.has(role)) return NEEDS_NO_LANE;
  if (isNamedAtLength(call, read)) return LONG_NAME;
  const name = hasName(role) ? nameOf(call, frame, read) : read.raw(frame.b, Field.method);
  return role === 'get-prompt' ? `prompt ${name}` : name;
}

/** Whether the server keeps apart what is called by name. */
function hasName(role: MethodRole): boolean {
  return role === 'call' || role === 'get-prompt';
}

/** What is called, as the server knows it. */
function nameOf({ nameText }: Call, { b }: Frame, read: Envelope): string {
  return nameText || read.raw(b, read.has(Field.name) ? Field.name : Field.method);
}

/** The name that stands in JSON, of which each character is one byte. */
function toolIn(nameText: string): string | undefined {
  const name: unknown = JSON.parse(Buffer.from(nameText, 'latin1').toString());
  return typeof name === 'string' ? name : undefined;
}

/** Whatever a server would make of `["name"]`, no rule can be asked about it. */
function noName(server: string): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', 'The name of a tool is a text', { server });
}
