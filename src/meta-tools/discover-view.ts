// The view `discover`: five tools, with which an agent finds and runs the tools of all servers. Everything else, prompts
// and resources for instance, it leaves to the view `all`.

import type { ClientRequest } from '../core/call.ts';
import type { JoinedView } from '../core/joined-view.ts';
import type { Session } from '../core/session.ts';
import type { InitializeAnswer, ServerDirectory, View } from '../core/view.ts';
import { methodOf } from '../protocol/era-2025.ts';
import { calledErrorOf, INVALID_PARAMS, rpcError, withHint } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { printable } from '../util/printable.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ArgumentCheck } from './argument-check.ts';
import { META_TOOL_LIST, META_TOOLS, type MetaTool } from './meta-tools.ts';
import { NamedServers } from './named-servers.ts';
import type { ToolFinder } from './tool-finder.ts';
import { ToolGuide } from './tool-guide.ts';
import { quoted } from './tool-refusal.ts';
import { ToolRunner } from './tool-runner.ts';

export interface DiscoverContext {
  readonly finder: ToolFinder;
  readonly check: ArgumentCheck;
  /** A time limit for tools beside the one of their server; 0 for none. */
  readonly timeoutMs: () => number;
}

const META_NAMES: ReadonlyMap<string, MetaTool> = new Map(
  Object.keys(META_TOOLS).map((name) => [JSON.stringify(name), name as MetaTool]),
);

export class DiscoverView implements View {
  readonly name = 'discover';
  readonly isTransparent = false;
  readonly #session: Session;
  readonly #all: JoinedView;
  readonly #guide: ToolGuide;
  readonly #runner: ToolRunner;

  constructor(session: Session, all: JoinedView, { finder, check, timeoutMs }: DiscoverContext) {
    this.#session = session;
    this.#all = all;
    const servers = new NamedServers(all);
    this.#guide = new ToolGuide({ session, all, servers, finder, check });
    this.#runner = new ToolRunner({ session, all, servers, check, timeoutMs });
  }

  async initializeAnswer(): Promise<InitializeAnswer> {
    const answer = await this.#all.initializeAnswer();
    if (answer.of !== 'bridge') return answer;
    const servers = this.#all.lists.bindings.map(({ binding }) => binding.name);
    return {
      of: 'bridge',
      capabilities: { ...answer.capabilities, tools: {} },
      instructions: servers.length === 0 ? answer.instructions : discoverInstructions(servers),
    };
  }

  submit(request: ClientRequest, envelope: Envelope): void {
    const { role, frame } = request;
    if (role === 'call') return this.#call(request, envelope);
    if (role === 'list' && methodOf(frame.b, envelope).lists[0] === 'tools')
      return this.#session.output.answer(envelope.raw(frame.b, Field.id), META_TOOL_LIST);
    this.#all.submit(request, envelope);
  }

  #call(request: ClientRequest, envelope: Envelope): void {
    const name = META_NAMES.get(envelope.has(Field.name) ? envelope.raw(request.frame.b, Field.name) : '');
    if (name === 'execute_tool') return this.#runner.call(request, envelope);
    if (name === undefined) return this.#refuseName(request, envelope);
    this.#guide.call(name, request, envelope);
  }

  #refuseName({ frame: { b } }: ClientRequest, envelope: Envelope): void {
    const name = envelope.has(Field.name) ? envelope.decode(b, Field.name) : undefined;
    const idText = envelope.raw(b, Field.id);
    if (typeof name !== 'string') {
      this.#session.output.fail(idText, rpcError(INVALID_PARAMS, 'params.name is missing'));
      return;
    }
    const error = new BridgeError('TOOL_NOT_FOUND', `There is no tool ${quoted(name)} here`, {
      hint: `Find it with search_tools and run it with execute_tool. The tools here are: ${Object.keys(META_TOOLS).join(', ')}.`,
    });
    this.#session.output.fail(idText, calledErrorOf(withHint(error)));
  }

  // --- everything else is left to the view `all` ---

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
    this.#runner.forget();
    this.#all.serversChanged(servers);
  }

  instances() {
    return this.#all.instances();
  }

  outwardUri(...of: Parameters<View['outwardUri']>): string {
    return this.#all.outwardUri(...of);
  }

  tick(nowMs: number): void {
    this.#all.tick(nowMs);
  }

  leave(): void {
    this.#all.leave();
  }
}

// --- the instructions, which an agent reads before it has asked for anything ---

const MOST_NAMED = 20;
const LONGEST_NAME = 48;

const HOW =
  'The five tools here reach the tools of all servers below. For each task: find a tool with search_tools, read its schema ' +
  'with get_tool_details, then run it with execute_tool.';

function discoverInstructions(servers: readonly string[]): string {
  const named = servers.slice(0, MOST_NAMED).map((name) => printable(shortened(name)));
  const more = servers.length - named.length;
  return `${HOW} Servers: ${named.join(', ')}${more === 0 ? '' : ` and ${more} more, see list_mcp_servers`}.`;
}

const shortened = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
