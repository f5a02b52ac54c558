// Everything that the page knows about the daemon, as signals: the live stream's last message, and sums over some
// minutes. Screens read it; only the live stream writes it.

import { batch, signal } from '@preact/signals';
import type { ClientReport, InstanceReport, StatusReport } from '../control/report.ts';
import type { DaemonPresence, LiveMessage } from '../ui/page-protocol.ts';
import { CallBook } from './call-book.ts';
import { ask } from './connection.ts';
import { type JsonFields, membersOf } from './data.ts';
import { type HostsReport, hosts } from './hosts.ts';
import { type HistoryOwner, keptSeconds, keptText, type Second } from './kept-history.ts';

export type Status = Omit<StatusReport, 'instances' | 'latencies' | 'counters' | 'errors'>;
export type Latency = StatusReport['latencies'][number];

export const canWrite = signal(false);
export const version = signal('');
export const daemon = signal<DaemonPresence>({ isUp: false, generation: 0, reason: '' });
export const status = signal<Status | undefined>(undefined);
export const instances = signal<readonly InstanceReport[]>([]);
export const latencies = signal<readonly Latency[]>([]);
export const memory = signal<Readonly<Record<string, number>>>({});
/** The bytes of all tools' definitions. */
export const toolBytes = signal(0);
export const clients = signal<readonly ClientReport[]>([]);

export const calls = new CallBook();
/** Counts up when `calls` has changed. */
export const callsChanged = signal(0);
/** The number of calls and events that this page did not get: there were too many, or it was too slow. */
export const callsLeftOut = signal(0);
export const eventsLost = signal(0);
/** The time at which another daemon replaced the one this page followed. */
export const restartedAt = signal<number | undefined>(undefined);

const MOST_SECONDS = 300;
export const history = signal<readonly Second[]>([]);
/** Requests per second by server, at the last look. */
export const rates = signal<ReadonlyMap<string, number>>(new Map());

type EventListener = (event: JsonFields) => void;
const listeners = new Set<EventListener>();

/** Calls back for each event; returns the function that ends that. */
export function onEvent(listener: EventListener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function hear(message: LiveMessage): void {
  batch(() => {
    if (message.hello !== undefined) {
      canWrite.value = message.hello.canWrite;
      version.value = message.hello.version;
    }
    if (message.daemon !== undefined) takePresence(message.daemon);
    if (message.parts !== undefined) takeParts(message.parts);
    if (message.events !== undefined) takeEvents(message.events);
    callsLeftOut.value += message.callsLeftOut ?? 0;
    eventsLost.value += message.lost ?? 0;
  });
  if (message.hello !== undefined || message.lost !== undefined) void listCalls();
}

function takePresence(presence: DaemonPresence): void {
  const before = daemon.value;
  daemon.value = presence;
  if (!presence.isUp || before.generation === presence.generation) return;
  last = undefined;
  calls.clear();
  callsChanged.value += 1;
  callsLeftOut.value = 0;
  history.value = [];
  if (before.generation > 0) restartedAt.value = Date.now();
  void listCalls();
}

let isListing = false;

async function listCalls(): Promise<void> {
  isListing = true;
  // Fails without a daemon; the calls are listed when it comes back.
  const answer = await ask('bridge/calls').catch(() => undefined);
  isListing = false;
  if (answer === undefined) return;
  calls.takeList(answer);
  callsChanged.value += 1;
}

function takeParts(parts: Readonly<Record<string, unknown>>): void {
  if (parts.instances !== undefined) instances.value = parts.instances as InstanceReport[];
  if (parts.latencies !== undefined) latencies.value = parts.latencies as Latency[];
  if (parts.hosts !== undefined) hosts.value = (parts.hosts ?? undefined) as HostsReport | undefined;
  if (parts.memory !== undefined) memory.value = parts.memory as Record<string, number>;
  if (typeof parts.toolBytes === 'number') toolBytes.value = parts.toolBytes;
  if (parts.clients !== undefined)
    clients.value = (parts.clients as ClientReport[]).filter(({ view }) => view !== 'control');
  if (parts.status === undefined) return;
  const before = awayIn(status.value);
  status.value = parts.status as Status;
  // No event reports the end of a wait: the call continues under another name.
  if (hasSuspended || awayIn(status.value) !== before) void listCalls();
  hasSuspended = false;
  if (last === undefined && history.value.length === 0) takeKeptHistory(status.value);
  addSecond(status.value.uptimeMs);
  if (calls.hasUnfollowed && !isListing) void listCalls();
}

/** The calls and programs that wait for their clients. */
function awayIn(now: Status | undefined): number {
  return (now?.suspended ?? 0) + (now?.waitingPrograms ?? 0);
}

/** True if a call was answered with a question since the last look. */
let hasSuspended = false;

interface Totals {
  readonly uptimeMs: number;
  readonly byServer: ReadonlyMap<string, number>;
  readonly failed: number;
}

let last: Totals | undefined;

const KEPT = 'mcp-bridge-history';

function ownerOf({ pid, uptimeMs }: Status): HistoryOwner {
  return { pid, startedMs: Date.now() - uptimeMs };
}

/** Saves the history for the next page in this tab. */
export function keepHistory(): void {
  if (status.value !== undefined) sessionStorage.setItem(KEPT, keptText(ownerOf(status.value), history.value));
}

/** Loads the history that the previous page saved. */
function takeKeptHistory(now: Status): void {
  const to = Date.now() / 1000;
  const text = sessionStorage.getItem(KEPT) ?? '';
  sessionStorage.removeItem(KEPT);
  history.value = keptSeconds(text, ownerOf(now), to - MOST_SECONDS, to);
}

/** Computes the rates, by the daemon's clock. */
function addSecond(uptimeMs: number): void {
  const byServer = new Map<string, number>();
  let inFlight = 0;
  for (const { server, requests, inFlight: open } of instances.value) {
    byServer.set(server, (byServer.get(server) ?? 0) + requests);
    inFlight += open;
  }
  const failed = latencies.value.reduce((sum, { errors, unanswered }) => sum + errors + unanswered, 0);
  const seconds = last === undefined ? 0 : (uptimeMs - last.uptimeMs) / 1000;
  if (last !== undefined && seconds > 0) {
    const before = last;
    const perSecond = (now: number, then: number | undefined): number => Math.max(0, now - (then ?? 0)) / seconds;
    rates.value = new Map(
      [...byServer].map(([server, total]) => [server, perSecond(total, before.byServer.get(server))]),
    );
    const callsPerSecond = [...rates.value.values()].reduce((sum, rate) => sum + rate, 0);
    const second = {
      at: Date.now() / 1000,
      callsPerSecond,
      errorsPerSecond: perSecond(failed, before.failed),
      inFlight,
    };
    history.value = [...history.value.slice(1 - MOST_SECONDS), second];
  }
  last = { uptimeMs, byServer, failed };
}

function takeEvents(events: readonly unknown[]): void {
  let isAboutCalls = false;
  for (const event of events) {
    if (calls.take(event)) isAboutCalls = true;
    const fields = membersOf(event);
    if (fields.kind === 'call.suspended') hasSuspended = true;
    for (const listener of listeners) listener(fields);
  }
  if (isAboutCalls) callsChanged.value += 1;
}
