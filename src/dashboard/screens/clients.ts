// The clients, what each uses, and the messages between them.

import { useMemo } from 'preact/hooks';
import type { ClientReport } from '../../control/report.ts';
import { membersOf, recordsOf, textOf } from '../data.ts';
import { bytes, clockTime, count, dateTime, plural } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Aside, Empty, Facts, Panel, Screen } from '../parts/elements.ts';
import { type Column, clipped, outcome, rowLink, Table } from '../parts/table.ts';
import { address, route } from '../route.ts';
import { clients } from '../state.ts';
import { text } from '../untrusted.ts';

export function Clients(): Markup {
  const all = clients.value;
  const [id] = route.value.rest;
  const chosen = id === undefined ? undefined : all.find(({ clientId }) => clientId === id);
  const sorted = useMemo(() => all.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1)), [all]);
  return html`<${Screen} title="Clients" note=${`${plural(all.length, 'client')} connected`} fills>
    <div class=${chosen === undefined ? 'split' : 'split split-open'}>
      <${Table} rows=${sorted} columns=${COLUMNS} keyOf=${keyOf} label="Clients" chosen=${id}
        empty=${html`<${Empty} title="No client is connected" text="Put the bridge into the config of one. It starts to appear here when it starts." command="mcp-bridge install" />`} />
      ${chosen === undefined ? null : html`<${Detail} client=${chosen} />`}
    </div>
    <${Messages} />
  </>`;
}

const keyOf = ({ clientId }: ClientReport): string => clientId;

const COLUMNS: readonly Column<ClientReport>[] = [
  {
    title: 'Client',
    width: 'minmax(140px, 1.5fr)',
    sort: ({ clientId }) => clientId,
    cell: ({ clientId, state }) => rowLink(address('clients', clientId), state === 'ready' ? 'ok' : 'quiet', clientId),
  },
  {
    title: 'Program',
    width: 'minmax(100px, 1.2fr)',
    isExtra: true,
    sort: ({ name }) => name,
    cell: ({ name, version }) => clipped(`${name} ${version}`.trim()),
  },
  {
    title: 'View',
    width: 'minmax(90px, 1fr)',
    sort: ({ view }) => view,
    cell: ({ view }) => html`<span class="clip">${text(view)}</span>`,
  },
  {
    title: 'Servers in use',
    width: 'minmax(120px, 1.6fr)',
    isExtra: true,
    sort: ({ servers }) => servers.length,
    cell: ({ servers }) => clipped(servers.length === 0 ? '–' : servers.join(', ')),
  },
  {
    title: 'In flight',
    width: '84px',
    isNumber: true,
    sort: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => (inFlight === 0 ? html`<span class="zero">–</span>` : count(inFlight)),
  },
  {
    title: 'State',
    width: '84px',
    isExtra: true,
    worth: 1,
    sort: ({ state }) => state,
    cell: ({ state }) => outcome(state === 'ready' ? 'ok' : 'quiet', state === 'parked' ? 'away' : state),
  },
  {
    title: 'Since',
    width: '84px',
    isExtra: true,
    isNumber: true,
    sort: ({ connectedAt }) => connectedAt,
    cell: ({ connectedAt }) => html`<span class="faint">${clockTime(connectedAt)}</span>`,
  },
];

function Detail({ client }: { client: ClientReport }): Markup {
  const { clientId, name, version, servers } = client;
  const accepts = client.accepts === true ? 'any method' : client.accepts === false ? null : client.accepts.join(', ');
  return html`<${Aside} label="Client" title=${text(clientId)} screen="clients">
    <${Facts} facts=${[
      ['Program', html`${text(`${name} ${version}`)}`],
      ['MCP', client.protocolVersion === null ? null : text(client.protocolVersion)],
      ['View', text(client.view)],
      ['Directory', client.cwd === null ? null : text(client.cwd)],
      ['Process', client.pid === null ? null : `${client.pid}`],
      ['Token', client.token ? text(client.token) : null],
      ['Since', dateTime(client.connectedAt)],
      ['Calls in flight', count(client.inFlight)],
      ['Listens', client.listening > 0 ? count(client.listening) : null],
      ['Accepts from others', accepts === null || accepts === '' ? null : text(accepts)],
      ['Mailbox', client.mailbox ? 'yes' : null],
      [
        'Servers',
        servers.length === 0
          ? 'none now'
          : html`<span class="chips">${servers.map((server) => html`<a key=${server} class="chip" href=${address('servers', server)}>${text(server)}</a>`)}</span>`,
      ],
    ]} />
  </>`;
}

function Messages(): Markup {
  const { answer, error } = useAsked<unknown>('bridge/messages', {}, 2000);
  if (error && answer === undefined) return null;
  const recent = recordsOf(membersOf(answer).recent).slice(0, 200);
  return html`<${Panel} title="Messages between clients" aside=${recent.length > 0 ? plural(recent.length, 'message') : null} name="messages">
    ${
      recent.length === 0
        ? html`<${Empty} title="No client has written to another one" text="Clients that speak to each other appear here with what they said to whom." command="mcp-bridge send CLIENT --message TEXT" />`
        : html`<ul class="lines scroll">${recent.map(
            (
              one,
              i,
            ) => html`<li key=${i} class="line"><span class="faint time">${typeof one.at === 'number' ? clockTime(one.at) : ''}</span>
            <span class="line-main">${text(one.from ?? '?')} <span class="arrow">→</span> ${text(one.to ?? '?')} <span class="tool">${text(textOf(one.method))}</span></span>
            <span class="line-side">${textOf(one.outcome)}${typeof one.bytes === 'number' ? ` · ${bytes(one.bytes)}` : ''}</span></li>`,
          )}</ul>`
    }
  </>`;
}
