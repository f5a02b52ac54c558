// `bridge/instances` and `bridge/questions`: the instances of each server, their clients, the reason why there are
// several, and their open questions. It only reads.

import type { Instance } from '../core/instance.ts';
import { NO_ROOTS_KEY, ROOTS_DISAGREED, ROOTS_IN_DOUBT, ROOTS_UNDECIDED } from '../core/instance-key.ts';
import type { Server } from '../core/server.ts';
import type { InstanceRunner } from '../downstream/instance-runner.ts';
import { bounded } from './bounded-text.ts';
import type { InstanceDetail, QuestionReport, ServerInstances } from './report.ts';

/** The maximum number of clients named per instance. */
const MOST_CLIENTS = 100;
const MOST_QUESTIONS = 1000;

/** An instance with its server and runner. */
export interface RunCopy {
  readonly server: Server;
  readonly instance: Instance;
  readonly runner: InstanceRunner;
}

/** Answers `bridge/instances` for these servers. */
export function instancesOf(
  names: readonly string[],
  copies: Iterable<RunCopy>,
  numberOf: (instance: Instance) => number,
): ServerInstances[] {
  const byName = new Map<string, RunCopy[]>(names.map((name) => [name, []]));
  for (const copy of copies) byName.get(copy.server.name)?.push(copy);
  return [...byName].map(([name, own]) => ({
    server: name,
    sharing: own[0]?.server.sharing ?? null,
    reason: own.length > 1 ? reasonFor(own) : null,
    instances: own.map((copy) => detailOf(copy, numberOf(copy.instance))),
  }));
}

function detailOf({ server, instance, runner }: RunCopy, number: number): InstanceDetail {
  const { lastFailure } = runner;
  const clients = [...instance.sessions].slice(0, MOST_CLIENTS).map(({ clientId }) => clientId);
  return {
    instance: number,
    pid: runner.pid ?? null,
    state:
      lastFailure !== undefined && (runner.state === 'idle' || runner.state === 'waiting') ? 'failed' : runner.state,
    for: purposeOf(server, instance),
    dedicatedTo: instance.key.owner?.clientId ?? null,
    clients,
    clientCount: instance.sessions.size,
    restarts: runner.restarts,
    inFlight: instance.openCalls,
    calls: instance.toolCallsSent,
    requests: instance.requestsSent,
    isEngaged: instance.isEngaged,
    protocolVersion: instance.protocolVersion ?? null,
    lastError: lastFailure === undefined ? null : bounded(lastFailure.message, 1000),
    errorCode: lastFailure?.code ?? null,
  };
}

/** A description of the clients that an instance is for. */
function purposeOf(server: Server, { key, server: name }: Instance): string {
  if (key.owner !== undefined) return `one client alone: ${name} keeps what clients do apart only by its process`;
  if (server.known.asksForRoots && server.sharing !== 'shared') {
    switch (key.rootsKey) {
      case undefined:
        break;
      case NO_ROOTS_KEY:
        return 'clients without roots';
      case ROOTS_IN_DOUBT:
      case ROOTS_DISAGREED:
      case ROOTS_UNDECIDED:
        return 'the clients that it has; their roots are not the same, or not certain';
      default:
        return 'clients with the same roots';
    }
  }
  const offered = Object.keys(key.capabilities).toSorted();
  return offered.length === 0 ? 'all clients' : `all clients; it was offered ${bounded(offered.join(', '))}`;
}

/** The reason why a server has several instances. */
function reasonFor(copies: readonly RunCopy[]): string {
  const reasons: string[] = [];
  const different = (of: (instance: Instance) => unknown): boolean =>
    new Set(copies.map(({ instance }) => of(instance))).size > 1;
  if (new Set(copies.map(({ server }) => server)).size > 1)
    reasons.push('it is defined differently in different directories');
  if (copies.some(({ instance }) => instance.key.owner !== undefined))
    reasons.push('each client needs one of its own (sharing is "dedicated", or the server keeps state for one client)');
  else if (different(({ key }) => key.rootsKey))
    reasons.push('clients have different roots, which the server asks for');
  if (different(({ key }) => JSON.stringify(Object.keys(key.capabilities).toSorted())))
    reasons.push('clients can answer different questions of it');
  if (reasons.length === 0)
    reasons.push('the server may ask questions during a call, and clients would wait for each other');
  return reasons.join('; ');
}

/** Answers `bridge/questions`. */
export function questionsIn(copies: Iterable<RunCopy>): QuestionReport[] {
  const questions: QuestionReport[] = [];
  for (const { server, instance } of copies) {
    for (const { about, client } of instance.questions.waiting())
      questions.push({
        server: server.name,
        about,
        client: client?.clientId ?? null,
        state: client === undefined ? 'held' : 'asked',
      });
    for (const { session } of instance.rounds.waiting())
      questions.push({ server: server.name, about: 'input', client: session.clientId, state: 'asked' });
    if (questions.length >= MOST_QUESTIONS) break;
  }
  return questions.slice(0, MOST_QUESTIONS);
}
