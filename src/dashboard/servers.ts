// Servers for the screens: all instances of one name as one row, with measurements.

import { computed } from '@preact/signals';
import type { InstanceReport } from '../control/report.ts';
import { answersOf, quantile } from './latency.ts';
import type { Tone } from './parts/elements.ts';
import { instances, type Latency, latencies, memory, rates, status } from './state.ts';

export interface ServerRow {
  readonly name: string;
  /** The name without its host by which it is reached too. */
  readonly alsoAs: string | undefined;
  readonly instances: readonly InstanceReport[];
  readonly state: string;
  readonly tone: Tone;
  readonly running: number;
  readonly sessions: number;
  readonly calls: number;
  readonly inFlight: number;
  readonly restarts: number;
  readonly perSecond: number;
  readonly residentBytes: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly errors: number;
  readonly answers: number;
  readonly lastError: string | null;
  readonly latency: Latency | undefined;
}

export const servers = computed<readonly ServerRow[]>(() => {
  const byName = new Map<string, InstanceReport[]>();
  for (const instance of instances.value) {
    const others = byName.get(instance.server);
    if (others === undefined) byName.set(instance.server, [instance]);
    else others.push(instance);
  }
  const measured = new Map(latencies.value.map((latency) => [latency.server, latency]));
  const bounds = status.value?.latencyBoundsMs ?? [];
  return [...byName].map(([name, own]) => rowOf(name, own, measured.get(name), bounds));
});

function rowOf(
  name: string,
  own: readonly InstanceReport[],
  latency: Latency | undefined,
  bounds: readonly number[],
): ServerRow {
  const sum = (each: (instance: InstanceReport) => number): number => own.reduce((total, one) => total + each(one), 0);
  const state = stateOf(own);
  return {
    name,
    alsoAs: own[0]?.alsoAs,
    instances: own,
    state,
    tone: toneOf(state),
    running: own.filter(isRunning).length,
    sessions: sum(({ sessions }) => sessions),
    calls: sum(({ calls }) => calls),
    inFlight: sum(({ inFlight }) => inFlight),
    restarts: sum(({ restarts }) => restarts),
    perSecond: rates.value.get(name) ?? 0,
    residentBytes: sum(({ pid }) => (pid === null ? 0 : (memory.value[pid] ?? 0))),
    p50: latency === undefined ? null : quantile(0.5, latency, bounds),
    p95: latency === undefined ? null : quantile(0.95, latency, bounds),
    errors: latency === undefined ? 0 : latency.errors + latency.unanswered,
    answers: latency === undefined ? 0 : answersOf(latency),
    lastError: own.find(({ lastError }) => lastError !== null)?.lastError ?? null,
    latency,
  };
}

function isRunning({ state }: InstanceReport): boolean {
  return state === 'ready' || state === 'starting' || state === 'stopping';
}

/** The worst state, if a person should see it, else the most active one. */
function stateOf(own: readonly InstanceReport[]): string {
  const order = ['broken', 'failed', 'starting', 'ready', 'stopping', 'idle', 'stopped'];
  return order.find((state) => own.some((one) => one.state === state)) ?? own[0]?.state ?? 'idle';
}

export function toneOf(state: string): Tone {
  switch (state) {
    case 'ready':
      return 'ok';
    case 'starting':
    case 'stopping':
      return 'warn';
    case 'broken':
    case 'failed':
      return 'bad';
    default:
      return 'quiet';
  }
}

/** Servers in trouble that a sign-in does not fix. */
export const failing = computed(() =>
  servers.value.filter(
    ({ tone, instances }) =>
      tone === 'bad' && !instances.some(({ errorCode }) => WANTS_SIGN_IN.includes(errorCode ?? '')),
  ),
);
const WANTS_SIGN_IN = ['SERVER_AUTH_REQUIRED', 'AUTH_FAILED'];

/** The present savings of sharing: processes that each client would have started for itself. */
export const saved = computed(() => {
  let processes = 0;
  let bytes = 0;
  for (const { sessions, running, residentBytes } of servers.value) {
    const spared = running === 0 ? 0 : Math.max(0, sessions - running);
    processes += spared;
    if (running > 0) bytes += (residentBytes / running) * spared;
  }
  return { processes, bytes };
});
