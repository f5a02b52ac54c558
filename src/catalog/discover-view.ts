// The view `discover`: five tools, with which an agent finds and runs those of all servers. Prompts and resources are
// those of the view `all`. A call that is carried out goes to its server in its own bytes: what stands around its
// arguments is cut off on the way.

import { methodOf } from '../core/era/era-2025.ts';
import { type JoinedLeg, refreshHint } from '../core/joined-lists.ts';
import type { JoinedView } from '../core/joined-view.ts';
import type { ListPage } from '../core/known-server.ts';
import { INVALID_PARAMS, rpcError, rpcErrorOf, withHint } from '../core/rpc-error.ts';
import type { Session } from '../core/session.ts';
import type { ClientRequest, Slot } from '../core/slot.ts';
import type { ToolGate } from '../core/tool-gate.ts';
import { type Greeting, openSlot, type ServerDirectory, type View } from '../core/view.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ArgumentCheck } from './argument-check.ts';
import { type Execution, ExecutionReader } from './execution.ts';
import type { KnownTool } from './known-tools.ts';
import { argumentFaults, META_TOOL_LIST, META_TOOLS, type MetaTool } from './meta-tools.ts';
import { foundTool, permittedTool, serverSummary, toolDetails, toolsListed } from './tool-answers.ts';
import type { ToolFinder } from './tool-finder.ts';
import { noSuchServer, quoted, toolError, type Wanted } from './tool-refusal.ts';

export interface DiscoverContext {
  readonly finder: ToolFinder;
  readonly check: ArgumentCheck;
}

/** A tool to run, for as long as its server's list is this one, and what may be used of it. */
interface Target {
  readonly joined: JoinedLeg;
  readonly pages: readonly ListPage[];
  readonly gate: ToolGate;
  readonly tool: KnownTool;
}

const META_NAMES: ReadonlyMap<string, MetaTool> = new Map(
  Object.keys(META_TOOLS).map((name) => [JSON.stringify(name), name as MetaTool]),
);
const MOST_TARGETS = 1000;

const INSTRUCTIONS =
  'Tools of many servers are behind these five. Find one with search_tools, read its schema with get_tool_details, ' +
  'and run it with execute_tool.';

export class DiscoverView implements View {
  readonly name = 'discover';
  readonly isTransparent = false;
  readonly #session: Session;
  readonly #all: JoinedView;
  readonly #context: DiscoverContext;
  readonly #executions = new ExecutionReader();
  /** By the server and the tool as the client spells them. */
  readonly #targets = new Map<string, Target>();

  constructor(session: Session, all: JoinedView, context: DiscoverContext) {
    this.#session = session;
    this.#all = all;
    this.#context = context;
  }

  async greeting(): Promise<Greeting> {
    const greeting = await this.#all.greeting();
    if (greeting.of !== 'bridge') return greeting;
    return {
      of: 'bridge',
      capabilities: { ...greeting.capabilities, tools: {} },
      instructions: this.#all.lists.legs.length === 0 ? greeting.instructions : INSTRUCTIONS,
    };
  }

  submit(request: ClientRequest, read: Envelope): void {
    const { role, frame } = request;
    if (role === 'call') return this.#call(request, read);
    if (role === 'list' && methodOf(frame.b, read).lists[0] === 'tools')
      return this.#session.answer(read.raw(frame.b, Field.id), META_TOOL_LIST);
    this.#all.submit(request, read);
  }

  #call(request: ClientRequest, read: Envelope): void {
    const { b } = request.frame;
    const name = META_NAMES.get(read.has(Field.name) ? read.raw(b, Field.name) : '');
    if (name === 'execute_tool') return this.#execute(request, read);
    if (name === undefined) return this.#refuseName(request, read);
    const args = argumentsIn(request, read);
    const faults = args === undefined ? ['params.arguments must be an object'] : argumentFaults(name, args);
    if (args === undefined || faults.length > 0)
      return this.#session.answerError(read.raw(b, Field.id), rpcErrorOf(badArguments(name, faults)));
    const slot = this.#all.pending.open(request, read);
    // Who asks for a schema will run the tool.
    if (name === 'get_tool_details') void this.#context.check.ready;
    if (slot !== undefined) this.#look(name, args, slot);
  }

  #refuseName({ frame: { b } }: ClientRequest, read: Envelope): void {
    const name = read.has(Field.name) ? read.decode(b, Field.name) : undefined;
    const idText = read.raw(b, Field.id);
    if (typeof name !== 'string') {
      this.#session.answerError(idText, rpcError(INVALID_PARAMS, 'params.name is missing'));
      return;
    }
    const error = new BridgeError('TOOL_NOT_FOUND', `There is no tool ${quoted(name)} here`, {
      hint: `Find it with search_tools, and run it with execute_tool. There are: ${Object.keys(META_TOOLS).join(', ')}.`,
    });
    this.#session.answerError(idText, rpcErrorOf(withHint(error)));
  }

  // --- what is looked up ---

  #look(name: Exclude<MetaTool, 'execute_tool'>, args: Readonly<Record<string, unknown>>, slot: Slot): void {
    const { pending, lists } = this.#all;
    const isOfAll = name === 'list_mcp_servers' || (name === 'search_tools' && args.server === undefined);
    const say = (result: unknown): void =>
      pending.answer(slot, () => this.#session.answer(slot.idText, textResult(result)));
    if (isOfAll) return pending.later(slot, lists.whenListed('tools'), async () => say(await this.#found(name, args)));
    const server = textOf(args.server);
    const joined = this.#joinedFor(slot, { server, tool: textOf(args.tool) });
    if (joined === undefined) return;
    pending.later(slot, this.#listed(joined), async () => say(await this.#foundOf(name, args, joined)));
  }

  /** The server that a request is about; undefined if there is none, which is answered. What fails later names it too. */
  #joinedFor(slot: Slot, wanted: Wanted): JoinedLeg | undefined {
    const { pending, lists } = this.#all;
    slot.errorOf = (error) => toolError(error, wanted);
    const joined = lists.legs.find(({ leg }) => leg.server.name === wanted.server);
    if (joined !== undefined) return joined;
    const names = lists.legs.map(({ leg }) => leg.server.name);
    pending.refuse(slot, slot.errorOf(noSuchServer(wanted.server, names)));
    return undefined;
  }

  /** Of a server that cannot be started, what it has listed before does; nobody waits for one that has failed already. */
  async #listed(joined: JoinedLeg): Promise<void> {
    const { leg } = joined;
    const isKnown = (): boolean => leg.lastPagesOf('tools') !== undefined;
    const isEnough = leg.server.isDown && isKnown();
    const learnt = this.#all.lists.learn(joined, 'tools').catch((error: unknown) => {
      if (!isEnough && !isKnown()) throw error;
    });
    if (!isEnough) await learnt;
  }

  async #found(name: MetaTool, args: Readonly<Record<string, unknown>>): Promise<object> {
    if (name === 'list_mcp_servers') return { servers: this.#all.lists.legs.map(serverSummary) };
    return this.#searched(args, this.#all.lists.legs);
  }

  async #foundOf(name: MetaTool, args: Readonly<Record<string, unknown>>, joined: JoinedLeg): Promise<object> {
    if (name === 'search_tools') return this.#searched(args, [joined]);
    if (name === 'list_tools') return toolsListed(joined, args.includeDisabled === true);
    const tool = await this.#askedOnce(joined, () => permittedTool(textOf(args.tool), joined));
    return toolDetails(tool, joined);
  }

  async #searched(args: Readonly<Record<string, unknown>>, legs: readonly JoinedLeg[]): Promise<object> {
    const results = await this.#context.finder.find(textOf(args.query), {
      servers: legs.flatMap(({ leg }) => {
        const pages = leg.lastPagesOf('tools');
        return pages === undefined ? [] : [{ server: leg.server, pages }];
      }),
      limit: typeof args.limit === 'number' ? args.limit : undefined,
    });
    return { results: results.map(foundTool) };
  }

  // --- what is run ---

  #execute(request: ClientRequest, read: Envelope): void {
    const { frame } = request;
    const execution = this.#executions.read(frame, read);
    if ('faults' in execution)
      return this.#session.answerError(
        read.raw(frame.b, Field.id),
        toolError(badArguments('execute_tool', execution.faults), { server: '', tool: '' }),
      );
    this.#session.asking?.aim(execution);
    const target = this.#targets.get(execution.key);
    const { ready } = this.#context.check;
    if (target !== undefined && isCurrent(target) && ready === undefined)
      return this.#run(target, execution, request, read);
    this.#executeAnew(execution, request, read);
  }

  /** In the fewest steps: nothing is decoded but what is checked. */
  #run(target: Target, execution: Execution, request: ClientRequest, read: Envelope): void {
    const fault = this.#context.check.faultIn(target.tool, request.frame.b, execution.inner);
    if (fault !== undefined && this.#all.lists.mayBeStale(target.joined, 'tools'))
      return this.#executeAnew(execution, request, read);
    if (fault !== undefined)
      return this.#session.answerError(
        read.raw(request.frame.b, Field.id),
        errorFor(target)(wrongArguments(target, fault)),
      );
    const backend = target.joined.leg.use();
    const slot = openSlot(this.#session, request, read, backend);
    if (slot === undefined) return;
    slot.nameText = target.tool.nameText;
    slot.cut = execution.cut;
    slot.errorOf = errorFor(target);
    backend.submit(slot, request, read);
  }

  #executeAnew(execution: Execution, request: ClientRequest, read: Envelope): void {
    const { pending, lists } = this.#all;
    const slot = pending.open(request, read);
    if (slot === undefined) return;
    const joined = this.#joinedFor(slot, execution);
    if (joined === undefined) return;
    const known = Promise.all([lists.learn(joined, 'tools'), this.#context.check.ready]);
    const find = (): Target => this.#targetOf(execution, joined, request.frame.b);
    pending.later(
      slot,
      known.then(() => this.#askedOnce(joined, find)),
      () => {
        const target = find();
        if (this.#targets.size >= MOST_TARGETS) this.#targets.clear();
        this.#targets.set(execution.key, target);
        slot.cut = execution.cut;
        pending.give(slot, request, joined.leg.use(), target.tool.nameText);
      },
    );
  }

  /** Throws why it may not be run. Whether it may be called comes before its arguments. */
  #targetOf(execution: Execution, joined: JoinedLeg, b: Buffer): Target {
    const tool = permittedTool(execution.tool, joined);
    const { leg } = joined;
    const target = { joined, pages: leg.pagesOf('tools') ?? [], gate: leg.server.gate, tool };
    const fault = this.#context.check.faultIn(tool, b, execution.inner);
    if (fault !== undefined) throw wrongArguments(target, fault);
    return target;
  }

  /** What a list from before refuses is looked at once more, when the server has been started and asked. */
  async #askedOnce<Found>(joined: JoinedLeg, find: () => Found): Promise<Found> {
    const { lists } = this.#all;
    try {
      return find();
    } catch (error) {
      if (!isOfList(error) || !lists.mayBeStale(joined, 'tools')) throw error;
    }
    await lists.learnAnew(joined, 'tools');
    return find();
  }

  // --- the rest is as in `all` ---

  listsToldChanged(): void {
    this.#all.listsToldChanged();
  }

  notify(frame: Frame): void {
    this.#all.notify(frame);
  }

  rootsChanged(frame: Frame): void {
    this.#all.rootsChanged(frame);
  }

  serversChanged(servers: ServerDirectory): void {
    this.#targets.clear();
    this.#all.serversChanged(servers);
  }

  backends() {
    return this.#all.backends();
  }

  outwardUri(...of: Parameters<View['outwardUri']>): string {
    return this.#all.outwardUri(...of);
  }

  tidy(nowMs: number): void {
    this.#all.tidy(nowMs);
  }

  leave(): void {
    this.#all.leave();
  }
}

function isOfList(error: unknown): boolean {
  return error instanceof BridgeError && (error.code === 'TOOL_NOT_FOUND' || error.code === 'TOOL_ARGUMENTS_INVALID');
}

function isCurrent({ joined: { leg }, pages, gate }: Target): boolean {
  return leg.pagesOf('tools') === pages && leg.server.gate === gate;
}

function argumentsIn({ frame }: ClientRequest, read: Envelope): Readonly<Record<string, unknown>> | undefined {
  const { arguments: args = {} } = membersOf(read.decode(frame.b, Field.params));
  return isRecord(args) ? args : undefined;
}

function badArguments(tool: MetaTool, faults: readonly string[]): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `${tool}: ${faults.join('; ')}`);
}

function wrongArguments({ joined, tool }: Target, fault: string): BridgeError {
  const { name: server } = joined.leg.server;
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `The arguments do not fit ${server}:${tool.name}: ${fault}`, {
    server,
    hint: `get_tool_details has its schema.${refreshHint(joined)}`,
  });
}

function errorFor({ joined, tool }: Target): (error: BridgeError) => string {
  const wanted = { server: joined.leg.server.name, tool: tool.name };
  return (error) => toolError(error, wanted);
}

/** A result of a tool: one text, which is JSON. */
function textResult(value: unknown): string {
  return JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(value) }] });
}
