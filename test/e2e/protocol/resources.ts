// Resources and the subscriptions to them, and log messages.

import { expect } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import type { Message } from '../../support/raw-client.ts';
import type { Peer } from '../../support/ways.ts';
import { type ProtocolScenario, ready, seenBy, untilSeen } from './scenario.ts';

const UPDATED = 'notifications/resources/updated';
const LOG = 'notifications/message';

/** A client that knows whose each resource is. */
async function readyToRead(peer: Peer): Promise<McpClient> {
  const client = await ready(peer);
  await client.listAll('resources');
  return client;
}

const subscribe = (client: McpClient, uri: string): Promise<Message> => client.request('resources/subscribe', { uri });
const unsubscribe = (client: McpClient, uri: string): Promise<Message> =>
  client.request('resources/unsubscribe', { uri });
const setLevel = (client: McpClient, level: string): Promise<Message> => client.request('logging/setLevel', { level });

export const RESOURCE_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'a resource is read by its URI, be it listed or of a template',
    shows: ['resources/read'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const read = async (uri: string): Promise<unknown> => (await client.request('resources/read', { uri })).result;
      const mimeType = 'text/plain';
      expect(await read('test://user/ann')).toEqual({ contents: [{ uri: 'test://user/ann', mimeType, text: 'ann' }] });
      await client.listAll('resources');
      expect(await read('test://text')).toEqual({ contents: [{ uri: 'test://text', mimeType, text: 'text of full' }] });
      expect(await read('test://blob')).toEqual({ contents: [{ uri: 'test://blob', mimeType, blob: 'AAEC' }] });
    },
  },
  {
    title: 'a resource that nobody has gets the error -32002, also when it is subscribed to',
    shows: ['resource-unknown', 'error'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const uri = 'test://nowhere';
      expect((await client.request('resources/read', { uri })).error).toMatchObject({ code: -32002, data: { uri } });
      expect((await subscribe(client, uri)).error).toMatchObject({ code: -32002, data: { uri } });
    },
  },
  {
    title: 'a resource of another server that has the same URI is read by the URI that it is listed under',
    shows: ['resources/read', 'resources/list', 'resources/subscribe', 'resources/unsubscribe'],
    needs: ['company'],
    async run(peer) {
      const client = await readyToRead(peer);
      const listed = (await client.listAll('resources')).filter(({ name }) => name === 'text');
      expect(listed).toHaveLength(2);
      const uri = listed[1]?.uri ?? '';
      const { result } = await client.request('resources/read', { uri });
      expect(result).toMatchObject({ contents: [{ text: 'text of second' }] });
      expect((await subscribe(client, uri)).result).toEqual({});
      await client.callAt('second', 'update', { uri: 'test://text' });
      expect((await client.told(UPDATED)).params).toEqual({ uri });
      await client.call('update', { uri: 'test://text' });
      expect((await unsubscribe(client, uri)).result).toEqual({});
      await client.callAt('second', 'update', { uri: 'test://text' });
      expect(client.untaken(UPDATED)).toEqual([]);
    },
  },
  {
    title: 'a resource that is not listed is subscribed to where it is, and until it is enough',
    shows: ['resources/read', 'resources/subscribe', 'resources/unsubscribe'],
    needs: ['company'],
    async run(peer) {
      const client = await readyToRead(peer);
      const uri = 'test://of/second';
      const update = (): Promise<Message> => client.callAt('second', 'update', { uri });
      const { result } = await client.request('resources/read', { uri });
      expect(result).toMatchObject({ contents: [{ text: 'of/second of second' }] });
      expect((await subscribe(client, uri)).result).toEqual({});
      await update();
      expect((await client.told(UPDATED)).params).toEqual({ uri });
      expect((await unsubscribe(client, uri)).result).toEqual({});
      await update();
      expect(client.untaken(UPDATED)).toEqual([]);
    },
  },
  {
    title: 'who has subscribed hears of updates, also of a part, until it has enough',
    shows: ['resources/subscribe', 'resources/unsubscribe', 'updated-part'],
    async run(peer) {
      const client = await readyToRead(peer);
      await client.call('update', { uri: 'test://text' });
      expect((await subscribe(client, 'test://tree')).result).toEqual({});
      for (const uri of ['test://tree', 'test://tree/leaf', 'test://text']) await client.call('update', { uri });
      expect((await client.told(UPDATED)).params).toEqual({ uri: 'test://tree' });
      expect((await client.told(UPDATED)).params).toEqual({ uri: 'test://tree/leaf' });
      expect((await unsubscribe(client, 'test://tree')).result).toEqual({});
      await client.call('update', { uri: 'test://tree' });
      expect(client.untaken(UPDATED)).toEqual([]);
    },
  },
  {
    title: 'the server is told when the last of those who have subscribed has enough, by word or by leaving',
    shows: ['subscription-counted'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other, third] = [await readyToRead(peer), await readyToRead(peer), await readyToRead(peer)];
      for (const client of [one, other]) await subscribe(client, 'test://text');
      await subscribe(third, 'test://five');
      await unsubscribe(one, 'test://text');
      expect((await seenBy(third)).unsubscribed).toEqual([]);
      await third.call('update', { uri: 'test://text' });
      expect((await other.told(UPDATED)).params).toEqual({ uri: 'test://text' });
      for (const client of [one, third]) {
        await client.text('echo', { text: 'x' });
        expect(client.untaken(UPDATED)).toEqual([]);
      }
      other.raw.destroy();
      await untilSeen(third, ({ unsubscribed }) => unsubscribed.includes('test://text'));
      await unsubscribe(third, 'test://five');
      expect((await seenBy(third)).unsubscribed).toEqual(['test://text', 'test://five']);
    },
  },
  {
    title: 'a server that was started again knows what was subscribed to, and the level of the log',
    shows: ['subscription-restored', 'level-of-all'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await readyToRead(peer), await readyToRead(peer)];
      for (const uri of ['test://text', 'test://five']) await subscribe(one, uri);
      await unsubscribe(one, 'test://five');
      await setLevel(one, 'error');
      await setLevel(other, 'notice');
      expect((await other.call('crash')).error?.code).toBe(-32603);
      const { subscribed, levels } = await seenBy(other);
      expect({ subscribed, levels }).toEqual({ subscribed: ['test://text'], levels: ['notice'] });
      await other.call('update', { uri: 'test://text' });
      expect((await one.told(UPDATED)).params).toEqual({ uri: 'test://text' });
    },
  },
  {
    title: 'log messages pass as they are, from the level on that was asked for',
    shows: ['logging/setLevel', 'log'],
    async run(peer) {
      const client = await ready(peer);
      const data = { deep: [1, { of: null }], text: 'é' };
      await client.call('log', { level: 'info', data });
      expect((await client.told(LOG)).params).toEqual({ level: 'info', logger: 'full', data });
      expect((await setLevel(client, 'warning')).result).toEqual({});
      for (const level of ['notice', 'warning', 'alert']) await client.call('log', { level, data: level });
      expect(client.untaken(LOG).map(({ params }) => params?.data)).toEqual(['warning', 'alert']);
    },
  },
  {
    title: 'a level that is none gets the error -32602',
    shows: ['level-invalid'],
    async run(peer) {
      const client = await ready(peer);
      expect((await setLevel(client, 'loud')).error?.code).toBe(-32602);
    },
  },
  {
    title: 'each client gets the level that it asked for, and the server the most verbose of all',
    shows: ['level-of-all', 'logging/setLevel'],
    needs: ['sharing'],
    async run(peer) {
      const [chatty, terse] = [await ready(peer), await ready(peer)];
      await seenBy(chatty); // a server that a client does not use need not know what it wishes
      await setLevel(terse, 'error');
      expect((await seenBy(terse)).levels).toEqual(['error']);
      await setLevel(chatty, 'debug');
      await setLevel(terse, 'warning');
      expect((await seenBy(chatty)).levels).toEqual(['error', 'debug']);
      for (const level of ['debug', 'warning']) await chatty.call('log', { level, data: level });
      expect(chatty.untaken(LOG).map(({ params }) => params?.data)).toEqual(['debug', 'warning']);
      expect((await terse.told(LOG)).params).toMatchObject({ data: 'warning' });
      chatty.raw.destroy();
      await untilSeen(terse, ({ levels }) => levels.join() === 'error,debug,warning');
    },
  },
];
