// MCP Apps: a tool names a page, the page is a resource of the scheme `ui:`, and what is said of both comes through, in every view,
// for clients and servers of both eras.

import { expect } from 'vitest';
import { BOTH_CONTENTS, ERAS, EraClient } from '../support/era-client.ts';
import { textOf } from '../support/raw-client.ts';
import type { Scenario } from './scenarios.ts';

const SERVERS = [
  ['old', '2025'],
  ['young', '2026'],
] as const;
const pageOf = (era: string): string => `ui://contents-${era}/page.html`;
const MIME = 'text/html;profile=mcp-app';
const UI = { csp: { connectDomains: ['https://example.com'] }, prefersBorder: true };
/** What the tool says in a joined view, where its page has its server in its name. */
const joinedPage = (server: string, era: string): string => `ui://mcp-bridge/${server}/${pageOf(era)}`;
const toolUi = (resourceUri: string): object => ({ resourceUri, visibility: ['model', 'app'] });

interface Listed {
  readonly name: string;
  readonly uri?: string;
  readonly mimeType?: string;
  readonly _meta?: { readonly ui?: object };
}

async function listed(client: EraClient, method: string, member: string): Promise<Listed[]> {
  const { result } = await client.request(method);
  return (result?.[member] ?? []) as Listed[];
}

export const APPS: readonly Scenario[] = [
  {
    title: 'the page of an app, and what its tool says of it, come through `all` and `server:NAME`',
    config: { mcpServers: BOTH_CONTENTS },
    async run(bridge) {
      for (const era of ERAS)
        for (const [server, of] of SERVERS)
          for (const view of ['all', `server:${server}`]) {
            const client = await EraClient.connect(bridge, era, view);
            const name = view === 'all' ? `${server}__show` : 'show';
            const tool = (await listed(client, 'tools/list', 'tools')).find((one) => one.name === name);
            const shown = view === 'all' ? joinedPage(server, of) : pageOf(of);
            expect(tool?._meta?.ui).toEqual(toolUi(shown));
            const page = (await listed(client, 'resources/list', 'resources')).find(({ uri }) => uri === shown);
            expect(page).toMatchObject({ mimeType: MIME, _meta: { ui: UI } });
            const { result } = await client.request('resources/read', { uri: shown });
            const text = '<!doctype html><title>Page</title>';
            expect(result?.contents).toEqual([{ uri: pageOf(of), mimeType: MIME, text, _meta: { ui: UI } }]);
            const called = await client.call(server, 'show');
            expect(called.result).toMatchObject({ structuredContent: { shown: true }, _meta: { ui: { x: 1 } } });
            client.raw.end();
            const later = await EraClient.connect(bridge, era, view); // by now it is known what the servers declare
            const said = later.answer?.result ?? (await later.request('server/discover')).result;
            expect(said?.capabilities).toMatchObject({
              extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [MIME] } },
            });
            later.raw.end();
          }
    },
  },
  {
    title: 'get_tool_details and search_tools show the page of a tool, and execute_tool passes its result on',
    config: { mcpServers: BOTH_CONTENTS, client: { view: 'discover' } },
    async run(bridge) {
      for (const era of ERAS)
        for (const [server, of] of SERVERS) {
          const client = await EraClient.connect(bridge, era, 'discover');
          const details = await client.callTool('get_tool_details', { server, tool: 'show' });
          expect(JSON.parse(textOf(details))).toMatchObject({ _meta: { ui: toolUi(joinedPage(server, of)) } });
          const found = await client.callTool('search_tools', { query: 'show a page', server });
          expect(JSON.parse(textOf(found))).toMatchObject({
            results: [{ tool: 'show', _meta: { ui: toolUi(joinedPage(server, of)) } }],
          });
          const { result } = await client.call(server, 'show');
          expect(result).toMatchObject({ structuredContent: { shown: true }, _meta: { ui: { x: 1 } } });
          const read = await client.request('resources/read', { uri: joinedPage(server, of) });
          expect(read.result?.contents).toMatchObject([{ mimeType: MIME, _meta: { ui: UI } }]);
          client.raw.end();
        }
    },
  },
];
