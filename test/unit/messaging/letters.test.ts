// Language models write to each other: letters wait in a mailbox of their reader until they are read, once.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { MESSAGING_TOOLS } from '../../../src/messaging/messaging-tools.ts';
import { definitionsOf, META_TOOLS } from '../../../src/meta-tools/meta-tools.ts';
import type { MessagingSettings } from '../../../src/model/messaging-settings.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

/** The results of `tools/list` in the view `discover`, without and with the tools for messages. */
const META_TOOL_LIST = JSON.stringify({ tools: definitionsOf(META_TOOLS) });
const DISCOVER_TOOL_LIST = JSON.stringify({ tools: [...definitionsOf(META_TOOLS), ...definitionsOf(MESSAGING_TOOLS)] });

const VIEWS = ['all', 'discover'] as const;

interface Told {
  readonly note?: string;
  readonly messages: {
    readonly id: string;
    readonly from: string;
    readonly text: string;
    readonly inReplyTo?: string;
  }[];
  readonly left: number;
}

class Agent {
  readonly client: TestClient;
  readonly #core: CoreInMemory;
  #asked = 0;

  constructor(core: CoreInMemory, client: TestClient) {
    this.#core = core;
    this.client = client;
  }

  begin(name: string, args: object = {}): number {
    const id = ++this.#asked;
    this.client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    return id;
  }
  async call(name: string, args: object = {}): Promise<Message> {
    const id = this.begin(name, args);
    await this.#core.settle();
    const answers = this.client.answersTo(id);
    expect(answers).toHaveLength(1);
    return answers[0] as Message;
  }
  async read(args: object = {}): Promise<Told> {
    return told(await this.call('read_messages', args));
  }
}

function told(answer: Message | undefined): Told {
  const content = answer?.result?.content as { text: string }[] | undefined;
  return JSON.parse(content?.[0]?.text ?? '') as Told;
}

async function agents(view: string, settings: Partial<MessagingSettings> = {}) {
  const core = new CoreInMemory({ agents: { isEnabled: true, ...settings } });
  const agent = async (id: string): Promise<Agent> =>
    new Agent(core, await core.ready({ _meta: { 'mcp-bridge/clientId': id, 'mcp-bridge/view': view } }));
  return { core, agent, a: await agent('a'), b: await agent('b') };
}

describe.each(VIEWS)('in the view %s', (view) => {
  test('an agent sees the others, writes to one, and is answered', async () => {
    const { a, b } = await agents(view);
    expect(told(await a.call('list_agents'))).toEqual({ you: 'a', agents: [{ id: 'b', name: 'test' }] });
    const sent = told(await a.call('send_message', { to: 'b', text: 'Is the build green?' })) as unknown;
    expect(sent).toEqual({ id: 'm-1', to: 'b' });
    const { messages, note, left } = await b.read();
    expect(messages).toMatchObject([{ id: 'm-1', from: 'a', text: 'Is the build green?' }]);
    expect(note).toContain('untrusted');
    expect(left).toBe(0);
    await b.call('send_message', { to: 'a', text: 'Yes', inReplyTo: 'm-1' });
    expect((await a.read()).messages).toMatchObject([{ from: 'b', text: 'Yes', inReplyTo: 'm-1' }]);
    expect(await a.read()).toEqual({ messages: [], left: 0 });
  });

  test('tools/list has the three tools beside what it would have', async () => {
    const { core, a } = await agents(view);
    core.server().has({ tools: [{ name: 'tool' }] });
    a.client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    const tools = a.client.answersTo('list')[0]?.result?.tools as { name: string }[] | undefined;
    const names = (tools ?? []).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(MESSAGING_TOOLS)));
    expect(names).toContain(view === 'all' ? 'memory__tool' : 'execute_tool');
    expect(names).toHaveLength(view === 'all' ? 4 : 9);
  });

  test('waiting ends with the first message, and after its time without one', async () => {
    const { core, a, b } = await agents(view);
    const waiting = b.begin('read_messages', { wait: 30 });
    await core.pass(5000);
    expect(b.client.answersTo(waiting)).toEqual([]);
    await a.call('send_message', { to: 'b', text: 'now' });
    await core.settle();
    expect(told(b.client.answersTo(waiting)[0]).messages).toMatchObject([{ text: 'now' }]);
    const inVain = b.begin('read_messages', { wait: 3 });
    await core.pass(4000);
    expect(told(b.client.answersTo(inVain)[0])).toEqual({ messages: [], left: 0 });
  });

  test('a wait that is cancelled takes no message', async () => {
    const { core, a, b } = await agents(view);
    const waiting = b.begin('read_messages', { wait: 30 });
    await core.settle();
    b.client.cancel(waiting);
    await a.call('send_message', { to: 'b', text: 'kept' });
    expect(b.client.answersTo(waiting)).toEqual([]);
    expect((await b.read()).messages).toMatchObject([{ text: 'kept' }]);
    expect(core.openCalls).toBe(0);
  });

  test('who waits when its client goes is forgotten', async () => {
    const { core, b } = await agents(view);
    b.begin('read_messages', { wait: 30 });
    await core.settle();
    b.client.link.destroy();
    await core.pass(31_000);
    expect(core.openCalls).toBe(0);
  });
});

test('nobody waits for a letter of a bridge that is going', async () => {
  const { core, b } = await agents('discover');
  const waiting = b.begin('read_messages', { wait: 50 });
  await core.settle();
  const drained = core.manager.drain();
  await core.settle();
  expect(told(b.client.answersTo(waiting)[0])).toEqual({ messages: [], left: 0 });
  await drained;
});

test('what other servers’ tools are called is not touched', async () => {
  const { core, a } = await agents('all');
  core.server().has({ tools: [{ name: 'read_messages' }] });
  core.server().answers = ({ method }) =>
    method === 'tools/list' ? { result: { tools: [{ name: 'read_messages' }] } } : { result: { from: 'the server' } };
  expect((await a.call('memory__read_messages')).result).toEqual({ from: 'the server' });
});

test('a mailbox takes so many and no more, and loses nothing', async () => {
  const { a, b } = await agents('discover', { mailbox: { maxMessages: 3, maxBytes: 10_000 }, maxPerSecond: 1000 });
  for (let n = 0; n < 3; n++) await a.call('send_message', { to: 'b', text: `${n}` });
  expect((await a.call('send_message', { to: 'b', text: '3' })).error?.data?.code).toBe('MAILBOX_FULL');
  expect(await b.read({ limit: 2 })).toMatchObject({ messages: [{ text: '0' }, { text: '1' }], left: 1 });
  await a.call('send_message', { to: 'b', text: '4' });
  expect((await b.read()).messages.map(({ text }) => text)).toEqual(['2', '4']);
});

test('a mailbox takes so many bytes and no more', async () => {
  const { a, b } = await agents('discover', { mailbox: { maxMessages: 100, maxBytes: 5000 }, maxPerSecond: 1000 });
  const sent: unknown[] = [];
  for (let n = 0; n < 5; n++)
    sent.push((await a.call('send_message', { to: 'b', text: 'é'.repeat(600) })).error?.data?.code);
  expect(sent).toEqual([undefined, undefined, undefined, 'MAILBOX_FULL', 'MAILBOX_FULL']);
  expect((await b.read()).messages).toHaveLength(3);
});

test('an exchange of answers ends at the number of hops', async () => {
  const { a, b } = await agents('discover', { maxHops: 4, maxPerSecond: 1000 });
  let [writer, reader, to] = [a, b, 'b'];
  let inReplyTo: string | undefined;
  const codes: unknown[] = [];
  for (let n = 0; n < 6; n++) {
    const answer = await writer.call('send_message', { to, text: 'thanks!', ...(inReplyTo && { inReplyTo }) });
    codes.push(answer.error?.data?.code);
    if (answer.error !== undefined) break;
    inReplyTo = (await reader.read()).messages[0]?.id;
    [writer, reader, to] = [reader, writer, to === 'b' ? 'a' : 'b'];
  }
  expect(codes).toEqual([undefined, undefined, undefined, undefined, 'MESSAGE_LOOP']);
});

test.each([
  ['send_message', {}, 'to is missing'],
  ['send_message', { to: 'b', text: 'x', extra: 1 }, '"extra" is not known'],
  ['send_message', { to: 'b', text: '' }, 'params.text must be a text'],
  ['read_messages', { limit: 0 }, 'limit must be from 1 to 100'],
  ['read_messages', { wait: 51 }, 'wait must be from 0 to 50'],
  ['read_messages', { wait: 'long' }, 'wait must be a number'],
])('%s %j is refused: %s', async (tool, args, problem) => {
  const { a } = await agents('discover');
  const { error } = await a.call(tool, args);
  expect(error?.code).toBe(-32602);
  expect(error?.message).toContain(problem);
});

test('nobody has a mailbox who sees one server alone, who wants none, or where agents are not enabled', async () => {
  const { core, a } = await agents('discover');
  await core.ready({ _meta: { 'mcp-bridge/clientId': 'one', 'mcp-bridge/view': 'server:memory' } });
  await core.ready({ _meta: { 'mcp-bridge/clientId': 'none', 'mcp-bridge/view': 'all', 'mcp-bridge/accepts': false } });
  for (const to of ['one', 'none'])
    expect((await a.call('send_message', { to, text: 'x' })).error?.data?.code).toBe('MESSAGE_NOT_ACCEPTED');
  expect(told(await a.call('list_agents'))).toMatchObject({ agents: [{ id: 'b' }] });

  const without = new CoreInMemory();
  const client = await without.ready({ _meta: { 'mcp-bridge/view': 'discover', 'mcp-bridge/clientId': 'x' } });
  await without.ready({ _meta: { 'mcp-bridge/view': 'discover', 'mcp-bridge/clientId': 'y' } });
  client.say(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 2, method: 'bridge/post', params: { to: 'y', text: 'x' } },
    { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'list_agents', arguments: {} } },
  );
  await without.settle();
  expect(client.answersTo(1)[0]?.result?.tools).toHaveLength(6);
  expect(client.answersTo(2)[0]?.error?.data?.code).toBe('MESSAGE_NOT_ACCEPTED');
  expect(client.answersTo(3)[0]?.error?.data?.code).toBe('TOOL_NOT_FOUND');
});

test('any client may post a letter, also one that has no mailbox', async () => {
  const { core, b } = await agents('discover');
  const one = await core.ready({ _meta: { 'mcp-bridge/clientId': 'one', 'mcp-bridge/view': 'server:memory' } });
  one.say({ jsonrpc: '2.0', id: 1, method: 'bridge/post', params: { to: 'b', text: 'hello' } });
  await core.settle();
  expect(one.answersTo(1)).toMatchObject([{ result: { id: 'm-1', to: 'b' } }]);
  expect((await b.read()).messages).toMatchObject([{ from: 'one', text: 'hello' }]);
  expect(core.counters.letters).toBe(1);
});

test('the three tools cost an agent at most 160 tokens, and all eight at most 450', () => {
  expect(countTokens(DISCOVER_TOOL_LIST) - countTokens(META_TOOL_LIST)).toBeLessThanOrEqual(160);
  expect(countTokens(DISCOVER_TOOL_LIST)).toBeLessThanOrEqual(450);
});

test('a client that is away while a letter comes is given it when it is back, and not before', async () => {
  const { core, a } = await agents('all');
  const client = await ResumingClient.ready(wireInMemory(core), {
    'mcp-bridge/clientId': 'c',
    'mcp-bridge/view': 'all',
  });
  client.call('long', 'read_messages', { wait: 20 });
  client.call('short', 'read_messages', { wait: 5 });
  await core.settle();
  client.drop();
  await core.settle();
  await a.call('send_message', { to: 'c', text: 'Are you there?' });
  await core.pass(8_000);
  expect(core.messaging.unread()).toMatchObject([{ clientId: 'c', letters: [{ text: 'Are you there?' }] }]);
  await client.resume(wireInMemory(core));
  await core.pass(1_000);
  client.take();
  const answers = client.messages.filter(({ method }) => method === undefined);
  expect(answers.map(({ id }) => id)).toEqual(['short', 'long']);
  expect(told(answers[0])).toEqual({ messages: [], left: 1 });
  expect(told(answers[1])).toMatchObject({ messages: [{ text: 'Are you there?' }], left: 0 });
});
