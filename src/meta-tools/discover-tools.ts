// The five tools of the view `discover`, with which an agent finds and runs the tools of all servers. Everything else,
// such as prompts and resources, is handled by the joined view.

import type { ClientRequest } from '../core/call.ts';
import type { JoinedView, ToolsInstead } from '../core/joined-view.ts';
import type { ListedItem } from '../core/listed-item.ts';
import { NO_CUTTER, type ResultCutter } from '../core/result-cutter.ts';
import type { Session } from '../core/session.ts';
import { calledErrorOf, INVALID_PARAMS, rpcError, withHint } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { printable, shortened } from '../util/printable.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { ArgumentCheck } from './argument-check.ts';
import type { CodeDesk } from './code-desk.ts';
import { CODE_TOOL_NAMES, codeToolItems } from './code-tools.ts';
import { META_TOOL_ITEMS, META_TOOLS, type MetaTool } from './meta-tools.ts';
import { NamedServers } from './named-servers.ts';
import type { ToolFinder } from './tool-finder.ts';
import { ToolGuide } from './tool-guide.ts';
import { quoted } from './tool-refusal.ts';
import { ToolRunner } from './tool-runner.ts';

export interface DiscoverContext {
  readonly finder: ToolFinder;
  readonly check: ArgumentCheck;
  /** An extra time limit for tools besides their server's; 0 for none. */
  readonly timeoutMs: () => number;
  /** Runs programs; undefined if that is switched off. */
  readonly desk?: CodeDesk | undefined;
  /** Shortens answers that are too long for a model; without it nothing is cut. */
  readonly cutter?: Pick<ResultCutter, 'cutOwn'> | undefined;
}

const META_NAMES: ReadonlyMap<string, MetaTool> = new Map(
  Object.keys(META_TOOLS).map((name) => [JSON.stringify(name), name as MetaTool]),
);

export class DiscoverTools implements ToolsInstead {
  readonly name: 'discover' | 'code';
  readonly items: readonly ListedItem[];
  readonly #view: JoinedView;
  readonly #guide: ToolGuide;
  readonly #runner: ToolRunner;
  readonly #desk: CodeDesk | undefined;

  /** The view `code` has only the tools that run programs. */
  constructor(
    view: JoinedView,
    { finder, check, timeoutMs, desk, cutter = NO_CUTTER }: DiscoverContext,
    isCodeOnly = false,
  ) {
    this.#view = view;
    const servers = new NamedServers(view.pending);
    this.#guide = new ToolGuide({ view, servers, finder, check, cutter });
    this.#runner = new ToolRunner({ view, servers, check, timeoutMs });
    this.#desk = desk;
    desk?.serve({ view, runner: this.#runner, guide: this.#guide });
    this.name = isCodeOnly ? 'code' : 'discover';
    const ofCode = desk === undefined ? [] : codeToolItems(desk.hasPython);
    this.items = isCodeOnly ? ofCode : [...META_TOOL_ITEMS, ...ofCode];
  }

  /** Handles calls of unknown tools too. */
  call(session: Session, request: ClientRequest, envelope: Envelope): true {
    const text = envelope.has(Field.name) ? envelope.raw(request.frame.b, Field.name) : '';
    const name = this.name === 'code' ? undefined : META_NAMES.get(text);
    if (name === 'execute_tool') this.#runner.call(session, request, envelope);
    else if (name !== undefined) this.#guide.call(session, name, request, envelope);
    else if (!this.#runsProgram(session, text, request, envelope)) this.#refuseName(session, request, envelope);
    return true;
  }

  #runsProgram(session: Session, text: string, request: ClientRequest, envelope: Envelope): boolean {
    const desk = this.#desk;
    const tool = desk && CODE_TOOL_NAMES.get(text);
    if (desk === undefined || tool === undefined || (tool === 'run_python' && !desk.hasPython)) return false;
    desk.call(session, tool, request, envelope);
    return true;
  }

  #refuseName(session: Session, { frame: { b } }: ClientRequest, envelope: Envelope): void {
    const name = envelope.has(Field.name) ? envelope.decode(b, Field.name) : undefined;
    const idText = envelope.raw(b, Field.id);
    if (typeof name !== 'string') {
      session.output.fail(idText, rpcError(INVALID_PARAMS, 'params.name is missing'));
      return;
    }
    const names = [...this.items, ...this.#view.ownItems].map(({ key }) => key).join(', ');
    const how =
      this.name === 'code' ? 'Call it in a program.' : 'Find it with search_tools and run it with execute_tool.';
    const error = new BridgeError('TOOL_NOT_FOUND', `There is no tool ${quoted(name)} here`, {
      hint: `${how} The tools here are: ${names}.`,
    });
    session.output.fail(idText, calledErrorOf(withHint(error)));
  }

  serversChanged(): void {
    this.#runner.forget();
  }

  instructions(servers: readonly string[]): string {
    const named = servers.slice(0, MOST_NAMED).map((name) => printable(shortened(name, LONGEST_NAME)));
    const more = servers.length - named.length;
    const isCode = this.name === 'code';
    const rest = more === 0 ? '' : ` and ${more} more, see ${isCode ? 'discovered_servers()' : 'list_mcp_servers'}`;
    return `${isCode ? HOW_IN_CODE : HOW} Servers: ${named.join(', ')}${rest}.`;
  }
}

// --- the instructions, which an agent reads before its first request ---

const MOST_NAMED = 20;
const LONGEST_NAME = 48;

const HOW =
  'The tools here reach the tools of all servers below. For each task: find a tool with search_tools, read its schema ' +
  'with get_tool_details, then run it with execute_tool.';
const HOW_IN_CODE =
  'Programs reach the tools of all servers below. For each task: return await search(task) to find tools, return await ' +
  'describe("NAME.TOOL") to see their types, then write one program that does the whole task.';
