// The picture of the demonstration with other hosts: the nats-servers in a row, and a box for each host with its
// processes. It draws its input, in 80 columns.

import type { Colours } from '../../render/colour.ts';
import type { HostView } from './hosts-stage.ts';

/** The width of the text within a box. */
const INNER = 20;
const BOX = INNER + 4;
const GAP = '  ';

interface NatsView {
  readonly name: string;
  readonly pid: number;
  readonly isKilled: boolean;
}

export function hostsPicture(
  nats: readonly NatsView[],
  hosts: readonly HostView[],
  colours: Colours | undefined,
): string[] {
  const boxes = hosts.map(boxOf);
  const rows = boxes[0]?.map((_, row) => boxes.map((box) => box[row] ?? '').join(GAP)) ?? [];
  return [clusterLine(nats, colours), ...rows];
}

/** The nats-servers, each above the host that first connected to it. */
function clusterLine(nats: readonly NatsView[], colours: Colours | undefined): string {
  const cells = nats.map(({ name, pid, isKilled }, i) => {
    const label = isKilled ? `${name}, killed` : `${name}, process ${pid}`;
    const line = i === nats.length - 1 ? '' : ` ${'─'.repeat(BOX + GAP.length - label.length - 4)} `;
    const sign = isKilled ? '✗' : '●';
    return `${colours?.state(sign) ?? sign} ${label}${line}`;
  });
  return cells.join('');
}

function boxOf({ name, daemon, nats, server, uses }: HostView): string[] {
  const lines =
    daemon === undefined
      ? ['daemon killed', '', '', '', '']
      : [
          `daemon ${daemon}`,
          nats === undefined ? 'looks for NATS' : `on NATS by ${nats}`,
          server === undefined ? 'runs no server' : `runs example ${server}`,
          ...(uses.length === 0 ? ['uses no other host', ''] : [`uses ${uses[0] ?? ''}`, `     ${uses[1] ?? ''}`]),
        ];
  return [
    `┌─ ${name} ${'─'.repeat(BOX - name.length - 5)}┐`,
    ...lines.map((line) => `│ ${line.slice(0, INNER).padEnd(INNER)} │`),
    `└${'─'.repeat(BOX - 2)}┘`,
  ];
}
