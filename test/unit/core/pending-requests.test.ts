// Requests that wait for what has to be known of a server first: they are charged to their client, go on as they were
// said, and leave nothing when nobody wants them any more.

import { beforeAll, describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const MIB = 1 << 20;

// It is loaded when it is first needed, which takes longer than a test lets things happen.
beforeAll(() => import('../../../src/meta-tools/schema-compiler.ts'));

/** In both views the server has to list its tools before one is called. */
const CALLS = {
  all: (args: object) => ({ name: 'slow__tool', arguments: args }),
  discover: (args: object) => ({ name: 'execute_tool', arguments: { server: 'slow', tool: 'tool', arguments: args } }),
} as const;
type ViewName = keyof typeof CALLS;
const VIEWS = Object.keys(CALLS) as ViewName[];

async function waiting(view: ViewName): Promise<{ core: CoreInMemory; client: TestClient }> {
  const core = new CoreInMemory({ servers: ['slow', 'fine'] });
  core.server('slow').opensByItself = false;
  core.server('slow').has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': view } });
  return { core, client };
}

const callsOf = (core: CoreInMemory): Message[] =>
  core.server('slow').requests.filter(({ method }) => method === 'tools/call');

/** Opens the server, and lets happen what follows. */
async function opened(core: CoreInMemory, calls: number): Promise<Message[]> {
  core.server('slow').open();
  for (let n = 0; n < 200 && callsOf(core).length < calls; n++) await core.settle();
  return callsOf(core);
}

describe.each(VIEWS)('in the view %s', (view) => {
  const call = (client: TestClient, id: number, text: string): void =>
    client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: CALLS[view]({ text }) });

  test('a client with more than its share waiting is not read until it has gone on', async () => {
    const { core, client } = await waiting(view);
    let sent = 0;
    for (; sent < 100 && !client.link.isPaused; sent++) {
      call(client, sent + 1, 'x'.repeat(MIB / 4));
      await core.settle();
    }
    expect(sent).toBe(4);
    expect(core.counters.clientsPaused).toBe(1);
    expect(await opened(core, sent)).toHaveLength(sent);
    expect(client.link.isPaused).toBe(false);
    expect(core.sessionOf(client)?.waitingBytes).toBe(0);
  });

  test('cancelled requests make room', async () => {
    const { core, client } = await waiting(view);
    for (let id = 1; id <= 100; id++) {
      call(client, id, 'x'.repeat(MIB / 4));
      client.cancel(id);
      await core.settle();
    }
    expect([client.link.isPaused, core.sessionOf(client)?.waitingBytes]).toEqual([false, 0]);
  });

  test('goes on as it was said, however small a part of its chunk it was', async () => {
    const { core, client } = await waiting(view);
    const said = [1, 2, 3].map((id) => ({ id, text: `"\\u00fc\\n${id}` }));
    const lines = said.map(({ id, text }) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: CALLS[view]({ text }) }),
    );
    client.link.push(Buffer.from(`${lines.join(`\n${' '.repeat(20_000)}\n`)}\n`));
    await core.settle();
    const got = await opened(core, said.length);
    expect(got.map(({ params }) => params)).toEqual(said.map(({ text }) => ({ name: 'tool', arguments: { text } })));
    for (const request of got) core.server('slow').answer(request);
    await core.settle();
    for (const { id } of said) expect(client.answersTo(id)).toHaveLength(1);
  });
});

test('resources, prompts and completions go on as they were said too', async () => {
  const core = new CoreInMemory({ servers: ['slow', 'fine'] });
  const slow = core.server('slow');
  slow.opensByItself = false;
  slow.has({ prompts: [{ name: 'review' }], resources: [{ name: 'a', uri: 'x:1' }] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  const said = [
    { method: 'prompts/get', params: { name: 'slow__review', arguments: { a: 'b' } } },
    { method: 'resources/read', params: { uri: 'x:1' } },
    {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'slow__review' }, argument: { name: 'a', value: 'b' } },
    },
  ];
  const lines = said.map((request, id) => JSON.stringify({ jsonrpc: '2.0', id, ...request }));
  client.link.push(Buffer.from(`${lines.join(`\n${' '.repeat(20_000)}\n`)}\n`));
  await core.settle();
  slow.open();
  const methods = new Set(said.map(({ method }) => method));
  const got = (): Message[] => slow.requests.filter(({ method }) => methods.has(method ?? ''));
  for (let n = 0; n < 200 && got().length < said.length; n++) await core.settle();
  const inOrder = said.map(({ method }) => got().find((request) => request.method === method)?.params);
  expect(inOrder).toEqual([
    { name: 'review', arguments: { a: 'b' } },
    { uri: 'x:1' },
    { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'a', value: 'b' } },
  ]);
});
