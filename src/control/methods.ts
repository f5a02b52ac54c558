// The methods of the role `control`: commands and other programs use them to ask the daemon about itself and to give it
// orders. They know the daemon only by one interface, and are loaded with the first call.

import { JSONRPCServer } from 'json-rpc-2.0';
import type { ControlPeer } from '../core/router.ts';
import type { Session } from '../core/session.ts';
import type { FederationReport } from '../model/federation-report.ts';
import { type Limits, ownTimeoutMs } from '../model/limits.ts';
import type { ToolAnswers } from '../model/tool-answers.ts';
import { systemClock } from '../util/clock.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { EventFilter } from './event-filter.ts';
import { instancesOf, questionsIn, type RunCopy } from './instances.ts';
import { type CallsHere, callsOf, cancelCall } from './open-calls.ts';
import { refresh } from './refresh.ts';
import type {
  ClientReport,
  ControlAnswer,
  ControlMethod,
  ReloadReport,
  RunningReport,
  SearchReport,
  StatusReport,
} from './report.ts';
import { logsOf, type ServersHere, unknownServer } from './servers-here.ts';
import { accept, changesIn } from './tool-changes.ts';
import { toolsOf } from './tools-here.ts';
import { type WatchedDaemon, Watches } from './watches.ts';

/** The daemon as its methods use it. */
export interface ControlledDaemon {
  readonly pid: number;
  readonly limits: Limits;
  status(cwd?: string): Promise<StatusReport>;
  /** The tools that have answered, most expensive first. */
  answers(): readonly ToolAnswers[];
  clients(): ClientReport[];
  /** Lists the servers that registries report as running: the user's, and those of `cwd`. */
  running(cwd: string | undefined): Promise<RunningReport>;
  /** Reports on other hosts; null if there is no bus. */
  hosts(): Promise<FederationReport> | null;
  serversFor(cwd: string | undefined): Promise<ServersHere>;
  /** Reads the config and all definitions again. */
  reload(): Promise<ReloadReport>;
  requestStop(reason: LeavingReason): void;
  readonly watched: WatchedDaemon;
  /** All sessions of clients. */
  sessions(): readonly Session[];
  readonly suspended: CallsHere['suspended'];
  readonly programsAway: CallsHere['programs'];
  copies(): Iterable<RunCopy>;
  settings(): Promise<ControlAnswer<'bridge/settings'>>;
  /** Searches like a client in `cwd`, and explains the result. */
  search(query: string, options: ExplainOptions): Promise<SearchReport>;
}

/** The options of an explained search. */
export interface ExplainOptions {
  readonly cwd: string | undefined;
  /** Searches only this server; '' for all. */
  readonly server: string;
  readonly limit: number;
}

const LONGEST_QUERY = 1000;
const USUAL_HITS = 20;
const MOST_HITS = 100;

/** Params come from outside, so each method checks what it reads. */
type Params = Readonly<Record<string, unknown>>;
type Answerers = {
  readonly [Method in ControlMethod]: (
    params: Params,
    peer: ControlPeer,
  ) => ControlAnswer<Method> | Promise<ControlAnswer<Method>>;
};

/** Answers the bytes of a request with a response in JSON; a notification gets none. */
export function controlMethods(
  daemon: ControlledDaemon,
): (request: Buffer, peer: ControlPeer) => Promise<string | undefined> {
  const methods = new JSONRPCServer<ControlPeer>({ errorListener: () => undefined });
  for (const [name, answer] of Object.entries(answerersOf(daemon)))
    methods.addMethod(name, (params: unknown, peer: ControlPeer) => answer(isRecord(params) ? params : {}, peer));
  return async (request, peer) => {
    const response = await methods.receiveJSON(request.toString(), peer);
    return response === null ? undefined : JSON.stringify(response);
  };
}

const ESTIMATE =
  'a token for four bytes of the JSON that goes on to clients; none for an answer that begins with an image or a sound';

function answerersOf(daemon: ControlledDaemon): Answerers {
  const here = ({ cwd }: Params): Promise<ServersHere> => daemon.serversFor(directoryIn(cwd));
  const watches = new Watches(daemon.watched);
  const calls = (): CallsHere => ({
    sessions: daemon.sessions(),
    suspended: daemon.suspended,
    programs: daemon.programsAway,
    followed: watches.calls,
    clock: daemon.watched.clock,
  });
  const options = { clock: systemClock, timeoutMs: ownTimeoutMs(daemon.limits) };
  return {
    'bridge/status': ({ cwd }) => daemon.status(directoryIn(cwd)),
    'bridge/connections': () => daemon.clients(),
    'bridge/reload': () => daemon.reload(),
    'bridge/running': ({ cwd }) => daemon.running(directoryIn(cwd)),
    'bridge/hosts': async () => daemon.hosts(),
    'bridge/refresh': async (params) => refresh(await here(params), params.servers, options),
    'bridge/changes': async (params) => changesIn(await here(params), params.server),
    'bridge/accept': async (params) => accept(await here(params), params.server, params.tools),
    'bridge/logs': async (params) => logsOf(await here(params), params.server, params.after),
    'bridge/watch': (params, peer) => watches.open(peer, params),
    'bridge/unwatch': ({ watch }, peer) => ({ ended: watches.close(peer, textOf(watch)) }),
    'bridge/events': (params) => ({ events: daemon.watched.past.last(lastOf(params.last), new EventFilter(params)) }),
    'bridge/calls': ({ limit }) => callsOf(calls(), limit),
    'bridge/cancel': ({ call }) => cancelCall(calls(), textOf(call)),
    'bridge/messages': () => ({ recent: watches.messages, isKept: watches.size > 0 }),
    'bridge/instances': async (params) => {
      const servers = await here(params);
      const name = textOf(params.server);
      const isUnknown = name !== '' && !servers.names.includes(name);
      const { past } = daemon.watched;
      const named = isUnknown ? [] : name === '' ? servers.names : [name];
      return {
        servers: instancesOf(named, daemon.copies(), (instance) => past.numberOf(instance)),
        unknown: isUnknown ? unknownServer(name, servers) : null,
      };
    },
    'bridge/questions': () => ({ questions: questionsIn(daemon.copies()) }),
    'bridge/tools': async (params) => toolsOf(await here(params), params.server),
    'bridge/settings': () => daemon.settings(),
    'bridge/search': ({ query, server, limit, cwd }) =>
      daemon.search(textOf(query).slice(0, LONGEST_QUERY), {
        cwd: directoryIn(cwd),
        server: textOf(server),
        limit: typeof limit === 'number' && limit >= 1 ? Math.min(MOST_HITS, Math.floor(limit)) : USUAL_HITS,
      }),
    'bridge/answers': ({ limit }) => ({
      tools: daemon.answers().slice(0, typeof limit === 'number' && limit >= 0 ? limit : undefined),
      estimate: ESTIMATE,
    }),
    'bridge/stop': ({ reason }) => {
      setImmediate(() => daemon.requestStop(reason === 'restart' ? 'restart' : 'stop')); // after the answer is written
      return { pid: daemon.pid, openCalls: daemon.clients().reduce((sum, { inFlight }) => sum + inFlight, 0) };
    },
  };
}

/** The number of events to return; all that are kept unless fewer are wanted. */
function lastOf(last: unknown): number {
  return typeof last === 'number' && Number.isSafeInteger(last) ? last : Number.MAX_SAFE_INTEGER;
}

function directoryIn(cwd: unknown): string | undefined {
  return textOf(cwd) || undefined;
}
