// Answers `run_code`. Each tool that a program calls runs as an inner call of the client, with all the rules for the
// client's own calls. If a server asks a client of 2026 something, the request ends and the program waits for the
// retry.

import { randomBytes } from 'node:crypto';
import type { Call, CallOwner, ClientRequest } from '../core/call.ts';
import { namedPlan } from '../core/call-plan.ts';
import type { AnsweredQuestion } from '../core/client-output.ts';
import { InnerCalls, type InnerEnd } from '../core/inner-calls.ts';
import type { JoinedLists, JoinedServer } from '../core/joined-lists.ts';
import type { JoinedView } from '../core/joined-view.ts';
import { openCall } from '../core/pending-requests.ts';
import type { Session } from '../core/session.ts';
import type { AskedRequest } from '../core/suspended-calls.ts';
import type { View } from '../core/view.ts';
import { principalKey } from '../model/principal.ts';
import { failureOf, outcomeUnknown, rpcErrorOf } from '../protocol/rpc-error.ts';
import { BridgeError, type RefusalReason } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import { CODE_TOOLS, type CodeTool } from './code-tools.ts';
import { toolsIn } from './known-tools.ts';
import { faultsIn, givenIn } from './meta-tools.ts';
import type { CodeMode, HostAnswer, ProgramHost, ProgramServer, RunningProgram, TypedTool } from './programs.ts';
import { descriptionOf, permittedTool } from './tool-answers.ts';
import type { ToolGuide } from './tool-guide.ts';
import { badArguments, noSuchServer } from './tool-refusal.ts';
import type { ToolRunner } from './tool-runner.ts';

/** The parts of a view that a program needs. */
interface ViewParts {
  readonly view: JoinedView;
  readonly runner: ToolRunner;
  readonly guide: ToolGuide;
}

export interface CodeDeskContext {
  readonly code: CodeMode;
  readonly clock: Clock;
  /** The time that a client has to answer a question. */
  readonly questionTimeoutMs: number;
  /** Ends the call that waits for a retry with this state, given as JSON. Foreign states are ignored. */
  readonly forgetRetry: (stateText: string) => void;
  /** Runs a task; an error in it ends only one client. */
  readonly contain: (session: Session, task: () => void) => void;
}

/**
 * The maximum number of programs per user that wait for their clients. Most of them have ended and only hold a result.
 */
const MOST_AWAY = 64;
/** Questions within this time go into one answer. */
const GATHER_MS = 5;

type Arguments = Readonly<Record<string, unknown>>;

export class CodeDesk implements CallOwner {
  readonly #context: CodeDeskContext;
  readonly #parts = new WeakMap<View, ViewParts>();
  readonly #byCall = new Map<Call, DeskProgram>();
  /** Programs whose client must come back with answers, by the state that it was given. */
  readonly #away = new Map<string, AwayProgram>();

  constructor(context: CodeDeskContext) {
    this.#context = context;
  }

  get hasPython(): boolean {
    return this.#context.code.hasPython;
  }

  /** Programs whose clients were asked something and have not come back. */
  get away(): readonly Pick<AwayProgram, 'asked' | 'stop'>[] {
    return [...this.#away.values()];
  }

  /** Sets the parts that programs of this view's clients use. */
  serve(parts: ViewParts): void {
    this.#parts.set(parts.view, parts);
  }

  call(session: Session, tool: CodeTool, request: ClientRequest, envelope: Envelope): void {
    const { b } = request.frame;
    const { arguments: said = {} } = membersOf(envelope.decode(b, Field.params));
    const args = isRecord(said) ? givenIn(said, CODE_TOOLS[tool]) : said;
    const faults = isRecord(args) ? faultsOf(args, tool) : ['params.arguments must be an object'];
    if (!isRecord(args) || faults.length > 0)
      return session.output.fail(envelope.raw(b, Field.id), rpcErrorOf(badArguments(tool, faults)));
    const state = envelope.has(Field.requestState) ? textOf(envelope.decode(b, Field.requestState)) : undefined;
    const answers = envelope.has(Field.inputResponses) ? envelope.decode(b, Field.inputResponses) : undefined;
    const call = openCall(session, request, envelope, this, namedPlan('call', false, rpcErrorOf));
    if (call === undefined) return;
    if (call.mayBeDone) return this.#fail(call, outcomeUnknown());
    if (state !== undefined) return this.#goOn(call, state, tool, args, answers);
    void this.#begin(call, tool, args);
  }

  async #begin(call: Call, tool: CodeTool, args: Arguments): Promise<void> {
    const program = new DeskProgram(call, tool, args, this.#context, {
      over: (open, result) => {
        this.#byCall.delete(open);
        open.session.events.callAnsweredHere.tell(open);
        open.output.answer(open.idText, result);
        open.close();
      },
      awaits: (open, questions) => this.#awaitAnswers(program, open, questions),
      partsOf: ({ view }) => view && this.#parts.get(view),
    });
    this.#byCall.set(call, program);
    try {
      const programs = await this.#context.code.load();
      if (this.#byCall.get(call) !== program) return; // cancelled meanwhile
      const { code, timeout, servers } = args;
      program.running = programs.run(
        {
          language: tool === 'run_python' ? 'python' : 'javascript',
          code: textOf(code),
          timeoutMs: typeof timeout === 'number' ? timeout * 1000 : undefined,
          client: call.session,
          owner: call.session.principal.kind === 'local' ? undefined : program.owner,
          servers: Array.isArray(servers) ? program.serversNamed(servers.map(String)) : undefined,
        },
        program,
      );
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #fail(call: Call, error: unknown): void {
    this.#byCall.delete(call);
    const text = failureOf(error);
    call.session.events.callFailed.tell(call, error instanceof BridgeError ? error : text);
    call.output.fail(call.idText, text);
    call.close();
  }

  // --- programs that wait for their client's answers ---

  #awaitAnswers(program: DeskProgram, open: Call, questions: ReadonlyMap<string, AnsweredQuestion>): void {
    const { session } = open;
    this.#byCall.delete(open);
    const state = `mcp-bridge.program.${randomBytes(18).toString('base64url')}`;
    this.#makeRoomFor(program);
    this.#away.set(state, {
      program,
      asked: {
        client: session.clientId,
        clientName: session.name,
        idText: open.idText,
        role: 'call',
        nameText: JSON.stringify(program.tool),
        atMs: this.#context.clock.now(),
      },
      error: undefined,
      stop: (error) => this.#stopAway(state, error),
    });
    this.#forgetInTime(state, program, session);
    session.events.callSuspended.tell(open);
    open.output.requireInput(open.idText, questions, state);
    open.close();
  }

  #forgetInTime(state: string, program: DeskProgram, session: Session): void {
    const { clock, questionTimeoutMs, contain } = this.#context;
    program.timer?.cancel();
    program.timer = clock.after(questionTimeoutMs, () => {
      if (this.#away.delete(state)) contain(session, () => program.stop());
    });
  }

  /** Ends a program that waits for a retry; the retry gets the error. False if the program has ended already. */
  #stopAway(state: string, error: BridgeError): boolean {
    const away = this.#away.get(state);
    if (away === undefined || away.error !== undefined || away.program.hasEnded) return false;
    const { program } = away;
    away.error = error;
    this.#context.contain(program.session, () => program.stop());
    this.#forgetInTime(state, program, program.session);
    return true;
  }

  /** Ends the program that has waited longest if its user has too many. */
  #makeRoomFor({ owner }: DeskProgram): void {
    const own = [...this.#away].filter(([, { program }]) => program.owner === owner);
    const [oldest] = own;
    if (oldest === undefined || own.length < MOST_AWAY) return;
    const [state, { program }] = oldest;
    this.#away.delete(state);
    program.stop();
  }

  #goOn(retry: Call, state: string, tool: CodeTool, args: Arguments, answers: unknown): void {
    const away = this.#away.get(state);
    const refuse = (reason: RefusalReason, message: string): void =>
      this.#fail(retry, new BridgeError('RETRY_REFUSED', message, { facts: { reason } }));
    if (away === undefined) return refuse('used', 'There is no program that waits under this requestState');
    const { program, error } = away;
    if (program.owner !== principalKey(retry.session.principal))
      return refuse('other-client', 'requestState is of a program of somebody else');
    if (program.asked !== `${tool} ${JSON.stringify(args)}`)
      return refuse('other-call', 'requestState is of another program: the arguments have to be the same');
    if (answers !== undefined && !isRecord(answers))
      return refuse('answer-malformed', 'inputResponses is an object with an object for each key');
    this.#away.delete(state);
    program.timer?.cancel();
    if (error !== undefined) return this.#fail(retry, error);
    this.#byCall.set(retry, program);
    program.goOn(retry, answers ?? {});
  }

  // --- the owner of the client's request ---

  #drop(call: Call): void {
    this.#byCall.get(call)?.stop();
    this.#byCall.delete(call);
  }

  cancel(call: Call): void {
    this.#drop(call);
    call.close();
  }

  stop(call: Call, error: BridgeError): void {
    this.#byCall.get(call)?.stop();
    this.#fail(call, error);
  }

  /** True, because its calls may have been made already. */
  wasSent(): boolean {
    return true;
  }

  withdraw(call: Call): void {
    this.#drop(call);
  }

  abandon(call: Call): void {
    this.cancel(call);
  }

  tickCall(): void {
    // Whatever runs the program ends it in time.
  }
}

/** A program that waits for its client to come back with a state. */
interface AwayProgram {
  readonly program: DeskProgram;
  /** The request that was answered with questions. */
  readonly asked: AskedRequest;
  /** The error that ended it from outside. */
  error: BridgeError | undefined;
  stop(error: BridgeError): boolean;
}

interface DeskPorts {
  readonly over: (open: Call, result: string) => void;
  readonly awaits: (open: Call, questions: ReadonlyMap<string, AnsweredQuestion>) => void;
  /** The client's present parts of the view: rules and servers may have changed since the program began. */
  readonly partsOf: (session: Session) => ViewParts | undefined;
}

/** An inner call that was answered with questions. */
interface AskedCall {
  readonly questions: ReadonlyMap<string, AnsweredQuestion>;
  readonly answers: Record<string, unknown>;
  readonly again: (more: string) => void;
  readonly stateText: string;
}

/** One program, as its client sees it. */
class DeskProgram implements ProgramHost {
  readonly owner: string;
  readonly tool: CodeTool;
  /** The meta-tool's name and arguments. */
  readonly asked: string;
  running: RunningProgram | undefined;
  timer: Timer | undefined;
  readonly #context: CodeDeskContext;
  readonly #ports: DeskPorts;
  readonly #inner: InnerCalls;
  /** The client's request that waits for the program; undefined while the client must answer questions. */
  #open: Call | undefined;
  #session: Session;
  readonly #askedCalls = new Map<string, AskedCall>();
  #result: string | undefined;
  #steps = 0;
  #lastAsked = 0;
  #isStopped = false;

  constructor(call: Call, tool: CodeTool, args: Arguments, context: CodeDeskContext, ports: DeskPorts) {
    this.owner = principalKey(call.session.principal);
    this.tool = tool;
    this.asked = `${tool} ${JSON.stringify(args)}`;
    this.#context = context;
    this.#ports = ports;
    this.#open = call;
    this.#session = call.session;
    this.#inner = new InnerCalls(call, this.#view.pending, (session, request, envelope) =>
      this.#view.runner.call(session, request, envelope),
    );
  }

  get #view(): ViewParts & Pick<JoinedView, 'pending'> {
    const parts = this.#ports.partsOf(this.#session);
    if (parts === undefined) throw new BridgeError('CLIENT_GONE', 'The client has another view by now, or has gone');
    return { ...parts, pending: parts.view.pending };
  }

  /** The session of its client's last request. */
  get session(): Session {
    return this.#session;
  }

  /** True once it has a result. */
  get hasEnded(): boolean {
    return this.#result !== undefined;
  }

  /** Ends it, because nobody waits for it. */
  stop(): void {
    this.#isStopped = true;
    this.timer?.cancel();
    this.running?.stop();
    this.#endCalls();
  }

  /** Ends all its calls, including those that wait for the client's answers. */
  #endCalls(): void {
    const asked = [...this.#askedCalls.values()];
    this.#askedCalls.clear();
    this.#inner.cancelAll();
    for (const { stateText } of asked) this.#context.forgetRetry(stateText);
  }

  ended(result: string): void {
    if (this.#isStopped) return;
    this.#result = result;
    this.#endCalls();
    const open = this.#open;
    if (open === undefined) return; // the retry gets it
    this.timer?.cancel();
    this.#isStopped = true;
    this.#ports.over(open, result);
  }

  isAway(): boolean {
    return this.#open === undefined;
  }

  isAsking(): boolean {
    const open = this.#open;
    if (open === undefined || this.#askedCalls.size > 0) return true;
    for (const { during } of this.#session.questions.values()) if (during === open.idText) return true;
    return false;
  }

  servers(): readonly ProgramServer[] {
    return this.#lists.servers.map((joined) => ({ name: joined.name, description: descriptionOf(joined) }));
  }

  /** Finds the servers that the model named. Throws if one does not exist. */
  serversNamed(names: readonly string[]): readonly string[] {
    const lists = this.#lists;
    return names.map((name) => {
      const joined = serverNamed(lists, name);
      if (joined !== undefined) return joined.name;
      throw noSuchServer(
        name,
        lists.servers.map((one) => one.name),
      );
    });
  }

  nameOf(server: string): string {
    return serverNamed(this.#lists, server)?.name ?? server;
  }

  get #lists(): JoinedLists {
    return this.#view.view.listsFor(this.#session);
  }

  // --- tools ---

  call(server: string, tool: string, argumentsText: string, answered: (answer: HostAnswer) => void): void {
    try {
      this.#call(server, tool, argumentsText, answered);
    } catch (error) {
      answered(errorAnswer(error));
    }
  }

  #call(server: string, tool: string, argumentsText: string, answered: (answer: HostAnswer) => void): void {
    const joined = serverNamed(this.#lists, server);
    const run = (name: string): void =>
      this.#submit(
        `"name":"execute_tool","arguments":{"server":${latin1Json(joined?.name ?? server)},"tool":${latin1Json(name)},"arguments":${argumentsText}}`,
        '',
        answered,
      );
    const known = joined && toolNamed(joined, tool);
    if (joined === undefined || known !== undefined || joined.lastPagesOf('tools') !== undefined)
      return run(known ?? tool);
    // The tools are unknown yet. If they cannot be listed, the call reports the reason.
    const learnt = (): void =>
      this.#context.contain(this.#session, () => {
        if (this.#isStopped) return;
        try {
          run(toolNamed(joined, tool) ?? tool);
        } catch (error) {
          answered(errorAnswer(error));
        }
      });
    this.#lists.learn(joined, 'tools').then(learnt, learnt);
  }

  /** `more` are further members of the params, each preceded by a comma. */
  #submit(params: string, more: string, answered: (answer: HostAnswer) => void): void {
    if (this.#isStopped) return;
    if (!this.#session.isOpen) return answered(errorAnswer(new BridgeError('CLIENT_GONE', 'The client has gone')));
    this.#inner.call(this.#session, {
      params: params + more,
      ended: (end) => this.#innerEnded(end, params, answered),
      progressed: (this.#open?.tokenText ?? '') === '' ? undefined : (notice) => this.#progressed(notice),
    });
  }

  #innerEnded(end: InnerEnd, params: string, answered: (answer: HostAnswer) => void): void {
    if (end.is !== 'asked') return answered(end);
    const again = (more: string): void => this.#submit(params, more, answered);
    this.#askedCalls.set(`c${++this.#lastAsked}`, {
      questions: end.questions,
      answers: {},
      again,
      stateText: end.stateText,
    });
    if (this.#askedCalls.size > 1 && this.timer !== undefined) return;
    this.timer = this.#context.clock.after(GATHER_MS, () =>
      this.#context.contain(this.#session, () => this.#askClient()),
    );
  }

  // --- asking a client of 2026 ---

  #askClient(): void {
    const open = this.#open;
    if (open === undefined || this.#isStopped) return;
    const questions = new Map<string, AnsweredQuestion>();
    for (const [id, asked] of this.#askedCalls)
      for (const [key, question] of asked.questions)
        if (!Object.hasOwn(asked.answers, key)) questions.set(`${id}.${key}`, question);
    this.#open = undefined;
    this.#ports.awaits(open, questions);
  }

  /** Continues with a retry that brings answers. */
  goOn(retry: Call, answers: Arguments): void {
    this.#open = retry;
    this.#session = retry.session;
    this.timer = undefined;
    if (this.#result !== undefined) return this.ended(this.#result);
    for (const [id, asked] of [...this.#askedCalls]) {
      for (const key of asked.questions.keys())
        if (Object.hasOwn(answers, `${id}.${key}`)) asked.answers[key] = answers[`${id}.${key}`];
      if ([...asked.questions.keys()].some((key) => !Object.hasOwn(asked.answers, key))) continue;
      this.#askedCalls.delete(id);
      const state = asked.stateText === '' ? '' : `,"requestState":${asked.stateText}`;
      asked.again(`,"inputResponses":${latin1Json(asked.answers)}${state}`);
    }
    if (this.#askedCalls.size > 0) this.#askClient();
  }

  #progressed({ progress, total, message }: Arguments): void {
    const open = this.#open;
    if (open === undefined || open.tokenText === '') return;
    const place = typeof total === 'number' ? `${String(progress)} of ${total}` : String(progress);
    const text = typeof message === 'string' ? message : place;
    const notice = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${open.tokenText},"progress":${++this.#steps},"message":`;
    open.output.noticeWith((outbox) => {
      outbox.latin1(notice);
      outbox.utf8(`${JSON.stringify(text)}}}`);
      outbox.endFrame();
    }, open.idText);
  }

  // --- lookups ---

  async search(query: string, options: unknown): Promise<object> {
    const { server, limit } = membersOf(options);
    const args = { query, ...(server !== undefined && { server }), ...(limit !== undefined && { limit }) };
    return this.#view.guide.search(this.#session, args);
  }

  async tools(name: string): Promise<readonly (() => TypedTool)[]> {
    const lists = this.#lists;
    const [server = '', tool] = partsOf(name, lists);
    const joined = serverNamed(lists, server);
    if (joined === undefined)
      throw noSuchServer(
        server,
        lists.servers.map((one) => one.name),
      );
    await lists.learn(joined, 'tools');
    const { gate } = joined;
    const known = [...toolsIn(joined.lastPagesOf('tools') ?? []).keys()];
    const wanted =
      tool === undefined ? known.filter((one) => gate.refusalOf(one) === undefined) : [toolNamed(joined, tool) ?? tool];
    return wanted.map((one) => {
      const found = permittedTool(one, joined);
      return () => ({ server: joined.name, tool: one, ...found.decode() });
    });
  }
}

/** The minimum timeout; anything shorter would be useless. */
const LEAST_SECONDS = 0.1;

function faultsOf(args: Arguments, tool: CodeTool): string[] {
  const { timeout, servers } = args;
  const faults = faultsIn(args, CODE_TOOLS[tool]);
  if (typeof timeout === 'number' && timeout < LEAST_SECONDS) faults.push(`timeout must be at least ${LEAST_SECONDS}`);
  if (Array.isArray(servers) && !servers.every((name) => typeof name === 'string'))
    faults.push('servers must be a list of names');
  return faults;
}

function errorAnswer(error: unknown): HostAnswer {
  return { is: 'error', text: Buffer.from(failureOf(error)).toString('latin1') };
}

function latin1Json(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1');
}

// --- names as a program may write them: exact, or changed into an identifier ---

function identifierOf(name: string): string {
  return name.replace(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=\d)/, '_');
}

function serverNamed(lists: JoinedLists, name: string): JoinedServer | undefined {
  const known = lists.serverNamed(name);
  if (known !== undefined) return known;
  const alike = lists.servers.filter((joined) => identifierOf(joined.name) === name);
  if (alike.length > 1) throw notOneName('SERVER_NOT_FOUND', name, alike);
  return alike[0];
}

/** The error for an ambiguous name: the program must not call the wrong tool. */
function notOneName(
  code: 'SERVER_NOT_FOUND' | 'TOOL_NOT_FOUND',
  name: string,
  alike: readonly { readonly name: string }[],
): BridgeError {
  const names = alike.slice(0, 8).map((one) => JSON.stringify(one.name));
  return new BridgeError(code, `${JSON.stringify(name)} may be ${names.join(' or ')}`, {
    hint: `Write the name as it is, in brackets: [${names[0]}].`,
  });
}

/** The tool's own name; undefined if the list lacks it or is unknown. */
function toolNamed(joined: JoinedServer, name: string): string | undefined {
  const tools = toolsIn(joined.lastPagesOf('tools') ?? []);
  if (tools.has(name)) return name;
  const alike = [...tools.values()].filter((known) => identifierOf(known.name) === name);
  if (alike.length > 1) throw notOneName('TOOL_NOT_FOUND', name, alike);
  return alike[0]?.name;
}

/** Splits SERVER.TOOL; a server's name may contain dots too. */
function partsOf(name: string, lists: JoinedLists): readonly [string, string?] {
  if (serverNamed(lists, name) !== undefined) return [name];
  const owner = lists.servers
    .flatMap((joined) => [joined.name, identifierOf(joined.name)])
    .filter((server) => name.startsWith(`${server}.`) || name.startsWith(`${server}:`))
    .sort((a, b) => b.length - a.length)[0];
  if (owner !== undefined) return [owner, name.slice(owner.length + 1)];
  const [server = '', ...rest] = name.split(/[.:]/);
  return rest.length === 0 ? [server] : [server, rest.join('.')];
}
