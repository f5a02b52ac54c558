// `bridge/refresh`: fills the catalog anew. Servers that do not run are started, a few at a time as always, and end again
// when nobody uses them; what is different from what was known is said of each.

import { definitionsIn } from '../catalog/tool-definitions.ts';
import type { Backend } from '../core/backend.ts';
import { LISTS, type ListKind } from '../core/era/era-2025.ts';
import type { ListPage } from '../core/known-server.ts';
import type { Server } from '../core/server.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { RefreshReport, ServerRefresh } from '../wire/control-report.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers } from '../wire/json-members.ts';
import type { ServersHere } from './servers-here.ts';
import { unknownServer } from './tool-changes.ts';

export interface RefreshOptions {
  readonly clock: Clock;
  /** How long a server may take to list all that it has, once it runs. */
  readonly timeoutMs: number;
}

/** All of them, if none is named. */
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
    const backend = server.ownBackend();
    await listed(backend, server, options);
    return report(server, backend, before);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return { ...NOTHING, server: name, error: { message: error.message, hint: error.hint ?? '' } };
  }
}

async function listed(backend: Backend, server: Server, { clock, timeoutMs }: RefreshOptions): Promise<void> {
  const wasOpen = backend.isOpen;
  await backend.whenOpen(); // within its startTimeoutMs
  const reading = wasOpen ? backend.lists.readAllAgain() : backend.lists.whenListed();
  let timer = { cancel: (): void => undefined };
  const tooLate = new Promise<never>((_, reject) => {
    timer = clock.after(timeoutMs, () => reject(listTimedOut(server.name, timeoutMs)));
  });
  await Promise.race([reading, tooLate]).finally(() => timer.cancel());
  if (!backend.isOpen) throw new BridgeError('SERVER_CRASHED', `Server ${server.name} has ended while it was asked`);
}

function listTimedOut(name: string, timeoutMs: number): BridgeError {
  const hint = 'limits.callTimeoutMs allows more.';
  return new BridgeError('CALL_TIMED_OUT', `Server ${name} has not listed what it has within ${timeoutMs} ms`, {
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

function report(server: Server, backend: Backend, before: readonly ListPage[] | undefined): ServerRefresh {
  const now = definitionsIn(backend.lists.pagesOf('tools') ?? []);
  const old = before === undefined ? now : definitionsIn(before);
  return {
    server: server.name,
    tools: countOf('tools', backend),
    prompts: countOf('prompts', backend),
    resources: countOf('resources', backend),
    templates: countOf('templates', backend),
    newTools: [...now.keys()].filter((tool) => !old.has(tool)),
    goneTools: [...old.keys()].filter((tool) => !now.has(tool)),
    changedTools: [...now].filter(([tool, text]) => old.has(tool) && old.get(tool) !== text).map(([tool]) => tool),
    error: null,
  };
}

function countOf(kind: ListKind, backend: Backend): number | null {
  const { capability, member } = LISTS[kind];
  if (backend.face?.declares(capability) !== true) return 0;
  return backend.lists.pagesOf(kind)?.reduce((sum, { result }) => sum + itemsIn(result, member), 0) ?? null;
}

function itemsIn(result: Buffer, member: string): number {
  const list = findMembers(result, 0, [member])?.spans.get(member);
  return (list && findItems(result, list.from))?.length ?? 0;
}
