// Other hosts for the screens: where a server runs, and if that host can be reached.

import { signal } from '@preact/signals';
import type { ControlAnswer } from '../control/report.ts';

export type HostsReport = NonNullable<ControlAnswer<'bridge/hosts'>>;
export type OtherHost = HostsReport['hosts'][number];

/** The answer of `bridge/hosts`; undefined if this daemon does not connect to other hosts. */
export const hosts = signal<HostsReport | undefined>(undefined);

/** The host on which a server runs, or the host's name if it has gone; undefined for this host's servers. */
export function hostOf(server: string): OtherHost | string | undefined {
  if (hosts.value === undefined) return undefined;
  const at = server.lastIndexOf('@');
  if (at < 0) return undefined;
  const name = server.slice(at + 1);
  return hosts.value.hosts.find(({ host, servers }) => host === name && servers.includes(server.slice(0, at))) ?? name;
}

export function hostName(host: OtherHost | string | undefined): string {
  return typeof host === 'object' ? host.host : (host ?? '');
}

/** The reason why a server of another host is unreachable; '' if it is reachable. */
export function whyUnreachable(host: OtherHost | string): string {
  const [fault] = hosts.value?.faults ?? [];
  if (hosts.value?.nats === null) return fault ?? 'NATS is away';
  if (typeof host === 'string') return `${host} is not there, or does not offer it any more`;
  return host.unreachable === null ? '' : `${host.host}: ${host.unreachable}`;
}
