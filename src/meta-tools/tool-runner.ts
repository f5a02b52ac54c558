// Runs `execute_tool`. The call goes to its server in the client's own bytes; the wrapper around the tool's arguments
// is cut off. All refusals happen before the server is asked.

import type { ClientRequest } from '../core/call.ts';
import { type NamedPlan, namedPlan } from '../core/call-plan.ts';
import { type JoinedPlace, JoinedServer, mayBeStale, refreshHint } from '../core/joined-lists.ts';
import type { JoinedView } from '../core/joined-view.ts';
import { openCall, outputFor } from '../core/pending-requests.ts';
import type { ListPage } from '../core/server-knowledge.ts';
import type { Session } from '../core/session.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ArgumentCheck } from './argument-check.ts';
import { type Execution, ExecutionReader, type FaultyExecution, repairedExecution } from './execution.ts';
import type { KnownTool } from './known-tools.ts';
import type { NamedServers } from './named-servers.ts';
import { permittedTool } from './tool-answers.ts';
import { badArguments, needsTask, toolError, type Wanted } from './tool-refusal.ts';

export interface ToolRunnerContext {
  readonly view: JoinedView;
  readonly servers: NamedServers;
  readonly check: ArgumentCheck;
  /** An extra time limit for tools besides their server's; 0 for none. */
  readonly timeoutMs: () => number;
}

/** A tool that clients may run, valid for this list and gate of its server. */
interface Target {
  readonly place: JoinedPlace;
  /** The clients' name for the server. */
  readonly name: string;
  readonly pages: readonly ListPage[];
  readonly gate: ToolGate;
  readonly tool: KnownTool;
  /** The plan of its calls, unless they ask for a task. */
  readonly plan: NamedPlan;
}

/** The parts of a call that decide whether it is sent. */
interface Attempt {
  readonly execution: Execution;
  readonly b: Buffer;
  readonly isTask: boolean;
}

const MOST_TARGETS = 1000;

export class ToolRunner {
  readonly #context: ToolRunnerContext;
  readonly #executions = new ExecutionReader();
  /** Targets by server and tool, in clients' bytes. */
  readonly #targets = new Map<string, Target>();

  constructor(context: ToolRunnerContext) {
    this.#context = context;
  }

  /** Drops all targets, because servers have changed. */
  forget(): void {
    this.#targets.clear();
  }

  call(session: Session, request: ClientRequest, envelope: Envelope): void {
    const { frame } = request;
    const execution = this.#executions.read(frame, envelope);
    if ('faults' in execution) return this.#repair(session, execution, request, envelope);
    session.events.toolAimed.tell(session, execution, frame.b);
    const target = this.#targets.get(execution.key);
    const { ready } = this.#context.check;
    if (target !== undefined && isCurrent(target, session) && ready === undefined)
      return this.#run(session, target, execution, request, envelope);
    this.#lookUpAndRun(session, execution, request, envelope);
  }

  /** Repairs a call if its meaning is clear; otherwise refuses it. */
  #repair(session: Session, faulty: FaultyExecution, request: ClientRequest, envelope: Envelope): void {
    const frame = repairedExecution(request.frame, envelope);
    const again = frame && this.#context.view.pending.read(session, frame);
    if (frame !== undefined && again !== undefined && again.fault === undefined)
      return this.call(session, { ...request, frame }, again);
    session.events.toolAimed.tell(session, faulty, request.frame.b);
    const faults = again === undefined ? faulty.faults : ['arguments nest deeper than a message may'];
    outputFor(session, request).fail(
      envelope.raw(request.frame.b, Field.id),
      toolError(badArguments('execute_tool', faults), faulty),
    );
  }

  /** The fast path: decodes only arguments that must be checked. */
  #run(session: Session, target: Target, execution: Execution, request: ClientRequest, envelope: Envelope): void {
    const { b } = request.frame;
    const isTask = envelope.has(Field.task);
    const refusal = this.#refusalOf(session, target, { execution, b, isTask });
    if (refusal !== undefined && mayBeStale(new JoinedServer(session, target.place), 'tools'))
      return this.#lookUpAndRun(session, execution, request, envelope);
    if (refusal !== undefined)
      return outputFor(session, request).fail(envelope.raw(b, Field.id), target.plan.errorOf(refusal));
    const instance = target.place.server.bindingFor(session).use();
    const { plan } = target;
    const call = openCall(session, request, envelope, instance, isTask ? { ...plan, mayMakeTask: true } : plan);
    if (call === undefined) return;
    call.nameText = target.tool.nameText;
    call.timeoutMs = this.#context.timeoutMs();
    call.cut = execution.cut;
    instance.submit(call, request.frame, envelope);
  }

  #lookUpAndRun(session: Session, execution: Execution, request: ClientRequest, envelope: Envelope): void {
    const { view, servers, check } = this.#context;
    const { pending } = view;
    const lists = view.listsFor(session);
    const plan = namedPlan('call', envelope.has(Field.task), wordedFor(execution), 'discover');
    const call = pending.open(session, request, envelope, plan);
    if (call === undefined) return;
    call.timeoutMs = this.#context.timeoutMs();
    const joined = servers.for(call, lists, execution);
    if (joined === undefined) return;
    const known = Promise.all([lists.learn(joined, 'tools'), check.ready]);
    const isTask = envelope.has(Field.task);
    let isWhereItWas = false;
    const attemptIn = (frame: Frame): Attempt =>
      isWhereItWas ? { execution, b: frame.b, isTask } : this.#attemptIn(session, frame, isTask);
    // A call that was cancelled while it waited needs no lookup.
    const find = (): Target | undefined => call.unsent && this.#targetOf(attemptIn(call.unsent), joined);
    pending.later(
      call,
      request,
      known.then(() => servers.askedOnce(lists, joined, find)),
      (kept) => {
        const attempt = attemptIn(kept.frame);
        const target = this.#targetOf(attempt, joined);
        this.#remember(attempt.execution.key, target);
        call.cut = attempt.execution.cut;
        pending.give(call, kept, joined.binding.use(), target.tool.nameText);
      },
    );
    isWhereItWas = call.unsent?.b === request.frame.b; // true for long frames, which would be slow to read again
  }

  /** Keys with escapes are not cached: a name has too many spellings, and all clients share the cache. */
  #remember(key: string, target: Target): void {
    if (key.includes('\\')) return;
    if (this.#targets.size >= MOST_TARGETS) this.#targets.clear();
    this.#targets.set(key, target);
  }

  /** Reads a copied frame again after a wait. */
  #attemptIn(session: Session, frame: Frame, isTask: boolean): Attempt {
    const execution = this.#executions.read(frame, this.#context.view.pending.read(session, frame));
    invariant(!('faults' in execution), 'what was sound when it came is sound');
    return { execution, b: frame.b, isTask };
  }

  /** Finds the tool; throws if it may not be run. The gate decides before the arguments are checked. */
  #targetOf(attempt: Attempt, joined: JoinedServer): Target {
    const tool = permittedTool(attempt.execution.tool, joined);
    const { place, name, gate, session } = joined;
    const plan = namedPlan('call', false, wordedFor({ server: name, tool: tool.name }), 'discover');
    const target = { place, name, pages: joined.pagesOf('tools') ?? [], gate, tool, plan };
    const refusal = this.#refusalOf(session, target, attempt);
    if (refusal !== undefined) throw refusal;
    return target;
  }

  /** Checks a call of an allowed tool. Returns the refusal, if any. */
  #refusalOf(session: Session, target: Target, { execution, b, isTask }: Attempt): BridgeError | undefined {
    const { tool, name } = target;
    if (tool.needsTask && !isTask) return needsTask({ server: name, tool: tool.name });
    const fault = this.#context.check.faultIn(tool, b, execution.inner);
    return fault === undefined ? undefined : wrongArguments(new JoinedServer(session, target.place), tool, fault);
  }
}

function isCurrent({ place: { server }, pages, gate }: Target, session: Session): boolean {
  return server.pagesFor(session, 'tools') === pages && server.gateFor(session) === gate;
}

function wrongArguments(joined: JoinedServer, tool: KnownTool, fault: string): BridgeError {
  const { name: server } = joined;
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `The arguments do not fit ${server}:${tool.name}: ${fault}`, {
    server,
    hint: `get_tool_details shows the schema.${refreshHint(joined)}`,
  });
}

/** Words the bridge's errors for a model that asked for this tool. */
function wordedFor(wanted: Wanted): (error: BridgeError) => string {
  return (error) => toolError(error, wanted);
}
