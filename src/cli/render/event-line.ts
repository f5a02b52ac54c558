// An event of the daemon as one line for people. All texts in it come from outside and are escaped.

import type { DaemonEvent } from '../../client/control-client.ts';
import { printable } from './table.ts';

/** The time, the kind, and the details. */
export function eventLine(event: DaemonEvent): string {
  const time = new Date(event.at).toISOString().slice(11, 23);
  return printable(`${time}  ${event.kind.padEnd(17)} ${saying(event)}`);
}

function saying(event: DaemonEvent): string {
  switch (event.kind) {
    case 'client.ready':
      return `${who(event)} sees ${event.view}`;
    case 'client.refused':
    case 'client.cutOff':
      return `${who(event)}: ${event.reason}`;
    case 'client.away':
    case 'client.back':
    case 'client.left':
      return who(event);
    case 'instance.starting':
    case 'instance.ready':
    case 'instance.stopped':
      return copy(event);
    case 'instance.failed':
    case 'instance.died':
      return `${copy(event)}: ${event.message}`;
    case 'server.connected':
      return event.server;
    case 'call.begun':
      return `${event.call} ${of(event)}`;
    case 'call.waiting':
      return `${event.call} ${of(event)}: waits for its ${event.for}`;
    case 'call.sent':
    case 'call.answered':
    case 'call.suspended':
      return `${event.call} ${of(event)}`;
    case 'call.progress':
      return `${event.call} ${of(event)}: ${event.count}`;
    case 'call.ended':
      return `${event.call} ${of(event)}: ${event.outcome}${event.code === null ? '' : ` (${event.code})`}, ${times(event)}`;
    case 'question.asked':
      return `${event.server} asks ${event.client}: ${event.about}`;
    case 'question.ended':
      return `${event.server} asked ${event.client}: ${event.end}`;
    case 'tools.changed':
      return `${event.server}: ${event.tools.length === 0 ? 'as they were accepted' : event.tools.join(', ')}`;
    case 'approvals.wanted':
      return `${event.count} in ${event.cwd}`;
    case 'message.sent':
      return `${event.from} to ${event.to ?? '?'}: ${[event.outcome, event.method].filter((one) => one !== null).join(' ')}`;
    case 'incident':
      return incident(event);
  }
}

const who = ({ client, name }: { readonly client: string; readonly name: string }): string =>
  client === '' ? name || 'a client' : name === '' || name === client ? client : `${client} (${name})`;

const copy = ({ server, instance }: { readonly server: string; readonly instance: number }): string =>
  `${server} #${instance}`;

const of = ({ client, server, tool }: { client: string; server: string | null; tool: string | null }): string =>
  `${client} → ${server ?? '?'}${tool === null ? '' : ` ${tool}`}`;

function times({ totalMs, waitedMs }: Extract<DaemonEvent, { kind: 'call.ended' }>): string {
  const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return waitedMs === 0 ? ms(totalMs) : `${ms(totalMs)}, of these ${ms(waitedMs)} waiting`;
}

function incident({ name, client, server, limit, times: count }: Extract<DaemonEvent, { kind: 'incident' }>): string {
  const about = client ?? server;
  const often = count > 1 ? ` ${count} times` : '';
  return `${name}${about === null ? '' : ` of ${about}`}${often}${limit ? ', a limit was reached' : ''}`;
}
