// Whatever stands where the router expects something else: a text, an object, a list. Nobody but its sender may notice.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const ODD: readonly unknown[] = [
  null,
  7,
  '',
  [],
  {},
  [null],
  { toString: 1, valueOf: 1 },
  { uri: { toString: 1 } },
  { tasks: [null], roots: [null], tools: [null], task: null, contents: 7 },
];
const BOTH = { capabilities: { roots: {}, sampling: {}, elicitation: {} } };

const CLIENT_METHODS = [
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/list',
  'no/such',
];
const CLIENT_MEMBERS = ['name', 'uri', 'cursor', 'level', 'ref', 'taskId', 'task', 'arguments', '_meta'];
const SERVER_METHODS = [
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  'notifications/message',
  'notifications/progress',
  'notifications/cancelled',
  'notifications/resources/updated',
  'notifications/tools/list_changed',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
];
const SERVER_MEMBERS = ['uri', 'level', 'taskId', 'status', 'elicitationId', 'requestId', 'progressToken', '_meta'];

describe.each(['server:memory', 'all'])('in the view %s', (view) => {
  const meta = { _meta: { 'mcp-bridge/view': view } };

  test('a client may put anything anywhere, and others are served', async () => {
    const core = new CoreInMemory();
    core.server().hello = '{"capabilities":{"tools":{},"prompts":{},"resources":{},"tasks":{},"logging":{}}}';
    const [odd, other] = [await core.ready({ ...BOTH, ...meta }), await core.ready(meta)];
    let id = 0;
    for (const method of CLIENT_METHODS)
      for (const value of ODD) {
        odd.say({ jsonrpc: '2.0', id: ++id, method, params: value });
        for (const member of CLIENT_MEMBERS)
          odd.say({ jsonrpc: '2.0', id: ++id, method, params: { name: 'x', uri: 'x:y', [member]: value } });
      }
    await core.settle();
    expect(core.counters.internalErrors).toBe(0);
    other.say({ jsonrpc: '2.0', id: 'fine', method: 'ping' });
    await core.settle();
    expect(other.answersTo('fine')).toHaveLength(1);
  });

  test('a server may say anything, in its notices, its questions and its answers', async () => {
    const core = new CoreInMemory();
    core.server().hello = '{"capabilities":{"tools":{},"resources":{},"tasks":{}}}';
    const client = await core.ready({ ...BOTH, ...meta });
    client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    const server = core.server();
    let id = 0;
    for (const method of SERVER_METHODS)
      for (const value of ODD) {
        server.say({ jsonrpc: '2.0', id: ++id, method, params: value });
        server.say({ jsonrpc: '2.0', method, params: value });
        for (const member of SERVER_MEMBERS) server.say({ jsonrpc: '2.0', method, params: { [member]: value } });
      }
    await core.settle();
    for (const value of ODD) {
      for (const { id: asked } of server.requests) {
        server.say({ jsonrpc: '2.0', id: asked, result: value });
        server.say({ jsonrpc: '2.0', id: asked, error: value });
      }
      client.say({ jsonrpc: '2.0', id: `again-${id++}`, method: 'tasks/list' });
      client.call(`task-${id++}`);
      await core.settle();
    }
    expect(core.counters.internalErrors).toBe(0);
  });

  test('a client may answer anything', async () => {
    const core = new CoreInMemory();
    const client = await core.ready({ ...BOTH, ...meta });
    const other = await core.ready({ ...BOTH, ...meta });
    client.call(1);
    other.call(1);
    await core.settle();
    for (const value of ODD) {
      core.server().say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
      await core.settle();
      for (const who of [client, other])
        for (const { id, method } of who.received)
          if (method !== undefined && id !== undefined) who.say({ jsonrpc: '2.0', id, result: value });
      await core.settle();
    }
    expect(core.counters.internalErrors).toBe(0);
  });
});
