// `bridge/refresh`: has servers list everything again, and reports the changes. It starts servers that do not run, a
// few at a time; unused ones end again later. It reports only fresh answers.

import { definitionsIn } from '../catalog/tool-definitions.ts';
import type { Instance } from '../core/instance.ts';
import { failureIn } from '../core/lists.ts';
import type { Server } from '../core/server.ts';
import type { ListPage } from '../core/server-knowledge.ts';
import { LIST_KINDS, LISTS, type ListKind } from '../protocol/era.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers } from '../wire/json-members.ts';
import type { RefreshReport, ServerRefresh } from './report.ts';
import { type ServersHere, unknownServer } from './servers-here.ts';

export interface RefreshOptions {
  readonly clock: Clock;
  /** The time in which a running server must list everything. */
  readonly timeoutMs: number;
}

/** Refreshes the servers in `wanted`, or all if it names none. */
export async function refresh(here: ServersHere, wanted: unknown, options: RefreshOptions): Promise<RefreshReport> {
  const named = Array.isArray(wanted) ? wanted.filter((name) => typeof name === 'string') : [];
  const names = named.length === 0 ? here.names : [...new Set(named)];
  return { servers: await Promise.all(names.map((name) => refreshOne(here, name, options))) };
}

async function refreshOne(here: ServersHere, name: string, options: RefreshOptions): Promise<ServerRefresh> {
  const server = here.names.includes(name) ? here.find(name) : undefined;
  if (server === undefined) return { ...NOTHING, server: name, error: unknownServer(name, here) };
  try {
    const before = server.known.lastTools;
    return report(server, await listedAnew(server, options), before);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return { ...NOTHING, server: name, error: { message: error.message, hint: error.hint ?? '' } };
  }
}

/** An instance that has just listed everything, with the reason for each failed list. */
interface Listed {
  readonly instance: Instance;
  readonly failures: ReadonlyMap<ListKind, string>;
}

async function listedAnew(server: Server, options: RefreshOptions): Promise<Listed> {
  const mayBeGone = server.ownInstance().isOpen;
  // A long-running instance may turn out to be dead only now: then a new one is asked.
  const listed = (await listedBy(server, options)) ?? (mayBeGone ? await listedBy(server, options) : undefined);
  if (listed === undefined)
    throw new BridgeError('SERVER_CRASHED', `Server ${server.name} ended while it listed its tools`);
  const why = failureOf(listed);
  if (why === undefined) return listed;
  const isSentence = why.startsWith(`Server ${server.name} `);
  throw new BridgeError(
    'SERVER_UNREACHABLE',
    isSentence ? why : `Server ${server.name} could not list its tools: ${why}`,
  );
}

/** Makes an instance list everything. Undefined if it ends meanwhile. */
async function listedBy(server: Server, { clock, timeoutMs }: RefreshOptions): Promise<Listed | undefined> {
  const instance = server.ownInstance();
  const wasOpen = instance.isOpen;
  await instance.whenOpen(); // within its startTimeoutMs
  let timer = { cancel: (): void => undefined };
  const tooLate = new Promise<never>((_, reject) => {
    timer = clock.after(timeoutMs, () => reject(listTimedOut(server.name, timeoutMs)));
  });
  const failures = await Promise.race([failuresOf(instance, wasOpen), tooLate]).finally(() => timer.cancel());
  return instance.isOpen ? { instance, failures } : undefined;
}

/** Waits for the lists of a fresh instance, or reads an older one's again. An instance without lists is pinged. */
async function failuresOf(instance: Instance, wasOpen: boolean): Promise<ReadonlyMap<ListKind, string>> {
  if (!wasOpen) return instance.lists.whenListed();
  if (LIST_KINDS.some((kind) => isListedBy(instance, kind))) return instance.lists.readAllAgain();
  const failure = await pingFailure(instance);
  return failure === undefined ? new Map() : new Map([['tools', failure]]);
}

function isListedBy({ profile }: Instance, kind: ListKind): boolean {
  return profile?.declares(LISTS[kind].capability) === true;
}

/** Checks a server by a ping. A server of an era without pings has answered at its start, and that must do. */
function pingFailure(instance: Instance): Promise<string | undefined> {
  const { ping } = instance.era.own;
  if (ping === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    instance.ask(ping, {}, (answer, read) =>
      resolve(answer === undefined ? 'it did not answer' : failureIn(answer.b, read)),
    );
  });
}

/** The reason why a server's refresh failed. Only a failed list of tools counts; other lists are shown as unknown. */
function failureOf({ instance, failures }: Listed): string | undefined {
  const isAnyListed = LIST_KINDS.some((kind) => isListedBy(instance, kind) && !failures.has(kind));
  const [first] = failures.values();
  return failures.get('tools') ?? (isAnyListed ? undefined : first);
}

function listTimedOut(name: string, timeoutMs: number): BridgeError {
  const hint = 'limits.callTimeoutMs in the config file sets the time.';
  return new BridgeError('CALL_TIMED_OUT', `Server ${name} did not finish its lists within ${timeoutMs} ms`, {
    hint,
  });
}

const NOTHING: Omit<ServerRefresh, 'server' | 'error'> = {
  tools: null,
  prompts: null,
  resources: null,
  templates: null,
  newTools: [],
  goneTools: [],
  changedTools: [],
};

function report(server: Server, listed: Listed, before: readonly ListPage[] | undefined): ServerRefresh {
  const { instance } = listed;
  const now = definitionsIn(instance.lists.pagesOf('tools') ?? []);
  const old = before === undefined ? now : definitionsIn(before);
  return {
    server: server.name,
    tools: countOf('tools', listed),
    prompts: countOf('prompts', listed),
    resources: countOf('resources', listed),
    templates: countOf('templates', listed),
    newTools: [...now.keys()].filter((tool) => !old.has(tool)),
    goneTools: [...old.keys()].filter((tool) => !now.has(tool)),
    changedTools: [...now].filter(([tool, text]) => old.has(tool) && old.get(tool) !== text).map(([tool]) => tool),
    error: null,
  };
}

function countOf(kind: ListKind, { instance, failures }: Listed): number | null {
  const { member } = LISTS[kind];
  if (!isListedBy(instance, kind)) return 0;
  if (failures.has(kind)) return null;
  return instance.lists.pagesOf(kind)?.reduce((sum, { result }) => sum + itemsIn(result, member), 0) ?? null;
}

function itemsIn(result: Buffer, member: string): number {
  const list = findMembers(result, 0, [member])?.spans.get(member);
  return (list && findItems(result, list.from))?.length ?? 0;
}
