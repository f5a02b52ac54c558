// Runs the four lookup meta-tools: servers, lists, schemas and search results. It starts a server only if its tools are
// needed and unknown.

import type { Call, ClientRequest } from '../core/call.ts';
import { type NamedPlan, namedPlan } from '../core/call-plan.ts';
import type { JoinedLists, JoinedServer } from '../core/joined-lists.ts';
import type { JoinedView } from '../core/joined-view.ts';
import type { ResultCutter } from '../core/result-cutter.ts';
import type { Session } from '../core/session.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { ArgumentCheck } from './argument-check.ts';
import { argumentFaults, givenIn, META_TOOLS, type MetaTool } from './meta-tools.ts';
import type { NamedServers } from './named-servers.ts';
import {
  descriptionOf,
  foundTools,
  notKnownYet,
  permittedTool,
  serversListed,
  toolDetails,
  toolsListed,
} from './tool-answers.ts';
import type { ToolFinder } from './tool-finder.ts';
import { badArguments, noSuchServer, toolError, type Wanted } from './tool-refusal.ts';

export interface ToolGuideContext {
  readonly view: JoinedView;
  readonly servers: NamedServers;
  readonly finder: ToolFinder;
  readonly check: ArgumentCheck;
  /** Shortens answers that are too long for a model. */
  readonly cutter: Pick<ResultCutter, 'cutOwn'>;
}

type LookingTool = Exclude<MetaTool, 'execute_tool'>;
type Arguments = Readonly<Record<string, unknown>>;

export class ToolGuide {
  readonly #context: ToolGuideContext;

  constructor(context: ToolGuideContext) {
    this.#context = context;
  }

  call(session: Session, name: LookingTool, request: ClientRequest, envelope: Envelope): void {
    const { view, check } = this.#context;
    const said = argumentsIn(request, envelope);
    const args = said && givenIn(said, META_TOOLS[name]);
    note(session, args);
    const faults = args === undefined ? ['params.arguments must be an object'] : argumentFaults(name, args);
    if (args === undefined || faults.length > 0)
      return session.output.fail(envelope.raw(request.frame.b, Field.id), rpcErrorOf(badArguments(name, faults)));
    const call = view.pending.open(session, request, envelope, planOfLook(name, args));
    // A client that asks for a schema will run the tool next: load the argument check.
    if (name === 'get_tool_details') void check.ready;
    if (call !== undefined) this.#look(name, args, call, request);
  }

  #look(name: LookingTool, args: Arguments, call: Call, request: ClientRequest): void {
    const { view, servers, cutter } = this.#context;
    const { pending } = view;
    const { session } = call;
    const lists = view.listsFor(session);
    const say = (result: unknown): void =>
      pending.answer(call, () => call.output.answer(call.idText, cutter.cutOwn(session, textResult(result))));
    if (name === 'list_mcp_servers') return say(serversListed(lists.servers));
    if (!isAboutOneServer(name, args))
      return pending.later(call, request, lists.whenListed('tools', isKnown), async () =>
        say(await this.#searched(session, args, lists.servers)),
      );
    const joined = servers.for(call, lists, wantedIn(args));
    if (joined === undefined) return;
    const answer = async () => say(await this.#foundOf(name, args, lists, joined));
    pending.later(call, request, listed(lists, joined), answer);
  }

  async #foundOf(name: LookingTool, args: Arguments, lists: JoinedLists, joined: JoinedServer): Promise<object> {
    const { session } = lists;
    if (name === 'search_tools') return this.#searched(session, args, [joined]);
    const { turns } = this.#context.finder;
    if (name === 'list_tools') return turns.run(session, () => toolsListed(joined, args.includeDisabled === true));
    const find = () => permittedTool(textOf(args.tool), joined);
    const found = await this.#context.servers.askedOnce(lists, joined, find);
    return turns.run(session, () => toolDetails(found, joined));
  }

  /** Searches for a program. Throws for wrong arguments and unknown servers. */
  async search(session: Session, said: Arguments): Promise<object> {
    const args = givenIn(said, META_TOOLS.search_tools);
    const faults = argumentFaults('search_tools', args);
    if (faults.length > 0) throw badArguments('search_tools', faults);
    const lists = this.#context.view.listsFor(session);
    if (args.server === undefined) {
      await lists.whenListed('tools', isKnown);
      return this.#searched(session, args, lists.servers);
    }
    const joined = lists.serverNamed(textOf(args.server));
    if (joined === undefined)
      throw noSuchServer(
        textOf(args.server),
        lists.servers.map(({ name }) => name),
      );
    await listed(lists, joined);
    return this.#searched(session, args, [joined]);
  }

  async #searched(session: Session, args: Arguments, servers: readonly JoinedServer[]): Promise<object> {
    const results = await this.#context.finder.find(textOf(args.query), {
      servers: servers.flatMap((joined) => {
        const pages = joined.lastPagesOf('tools');
        return pages === undefined ? [] : [{ joined, pages, about: () => descriptionOf(joined) }];
      }),
      limit: typeof args.limit === 'number' ? args.limit : undefined,
      owner: session,
    });
    return { results: foundTools(results, servers), ...notKnownYet(servers) };
  }
}

/** Reports which server and tool the call asks about. */
function note(session: Session, args: Arguments = {}): void {
  const about = wantedIn(args);
  if (about.server !== '' || about.tool !== '') session.events.toolLookedUp.tell(session, about);
}

/** Waits for a server's tools. If it cannot be started, its last list is used; a server that is down is not awaited. */
async function listed(lists: JoinedLists, joined: JoinedServer): Promise<void> {
  const isEnough = joined.server.isDown && isKnown(joined);
  const learnt = lists.learn(joined, 'tools').catch((error: unknown) => {
    if (!isEnough && !isKnown(joined)) throw error;
  });
  if (!isEnough) await learnt;
}

/** The plan of a lookup. Errors about a single server name that server. */
function planOfLook(name: LookingTool, args: Arguments): NamedPlan {
  const wanted = wantedIn(args);
  return namedPlan('call', false, isAboutOneServer(name, args) ? (error) => toolError(error, wanted) : rpcErrorOf);
}

function isAboutOneServer(name: LookingTool, args: Arguments): boolean {
  return name !== 'list_mcp_servers' && (name !== 'search_tools' || args.server !== undefined);
}

function wantedIn(args: Arguments): Wanted {
  return { server: textOf(args.server), tool: textOf(args.tool) };
}

function isKnown(joined: JoinedServer): boolean {
  return joined.lastPagesOf('tools') !== undefined;
}

function argumentsIn({ frame }: ClientRequest, envelope: Envelope): Arguments | undefined {
  const { arguments: args = {} } = membersOf(envelope.decode(frame.b, Field.params));
  return isRecord(args) ? args : undefined;
}

/** Makes a tool result of a value: one text with JSON. */
function textResult(value: unknown): string {
  return JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(value) }] });
}
