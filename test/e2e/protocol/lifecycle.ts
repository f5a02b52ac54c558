// The beginning of a conversation, and what belongs to the whole of it.

import { expect } from 'vitest';
import { textOf } from '../../support/raw-client.ts';
import { type ProtocolScenario, ready, seenBy } from './scenario.ts';

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

export const LIFECYCLE_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'initialize is answered with what the server says of itself',
    shows: ['initialize', 'icons'],
    needs: ['transparency'],
    async run(peer) {
      const client = await peer.connect();
      const { result } = await client.initialize();
      expect(result).toMatchObject({
        serverInfo: { name: 'full', title: 'All there is', icons: [{ src: 'data:,', sizes: ['any'] }] },
        instructions: 'Ask full.',
      });
    },
  },
  ...VERSIONS.map(
    (version): ProtocolScenario => ({
      title: `a client of the version ${version} is answered in it`,
      shows: ['version', 'initialize'],
      async run(peer) {
        const client = await peer.connect();
        const { result } = await client.initialize({}, version);
        expect(result).toMatchObject({ protocolVersion: version, serverInfo: { name: expect.any(String) } });
        expect(await client.text('echo', { text: version })).toBe(version);
      },
    }),
  ),
  {
    title: 'a version that nobody knows is answered with one that is known',
    shows: ['version-unknown'],
    async run(peer) {
      const client = await peer.connect();
      const { result } = await client.initialize({}, '1999-12-31');
      expect(VERSIONS).toContain(result?.protocolVersion);
      expect(await client.text('echo', { text: 'fine' })).toBe('fine');
    },
  },
  {
    title: 'a client of the latest version uses a server of the first one, and the other way round',
    shows: ['version-of-binding', 'initialize-once'],
    needs: ['sharing'],
    setup: { env: { FULL_VERSIONS: '2024-11-05' } },
    async run(peer) {
      for (const version of ['2025-11-25', '2024-11-05']) {
        const client = await peer.connect();
        const { result } = await client.initialize({}, version);
        expect(result?.protocolVersion).toBe(version);
        expect(await client.text('echo', { text: version })).toBe(version);
        const { notifications } = await seenBy(client);
        expect(notifications).toEqual(['notifications/initialized']);
      }
    },
  },
  {
    title: 'initialize is not cancelled by a cancel of its id',
    shows: ['cancel-initialize'],
    async run(peer) {
      const client = await peer.connect();
      const answer = client.initialize();
      client.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
      expect((await answer).result).toMatchObject({ protocolVersion: '2025-11-25' });
      expect(await client.text('echo', { text: 'fine' })).toBe('fine');
    },
  },
  {
    title: 'what the server can do is declared, and lists are said to change',
    shows: ['capabilities'],
    isIndependent: true,
    needs: ['listing'],
    async run(peer) {
      await (await ready(peer)).listAll('tools'); // from here on it is known
      const client = await peer.connect();
      const { result } = await client.initialize();
      expect(result?.capabilities).toMatchObject({
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      });
    },
  },
  {
    title: 'a server is offered what its client can honour, and no more',
    shows: ['offers'],
    async run(peer) {
      const offers = { roots: { listChanged: true }, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };
      const unable = await ready(peer);
      expect((await seenBy(unable)).initialize.capabilities).toEqual({});
      const able = await ready(peer, offers);
      expect((await seenBy(able)).initialize.capabilities).toEqual(offers);
    },
  },
  {
    title: 'a server is told who its client is, and which extensions, experiments and tasks that has',
    shows: ['client-info', 'offers-more'],
    async run(peer) {
      const capabilities = {
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
        experimental: { 'example.com/x': { n: [1] } },
        tasks: { cancel: {}, requests: { sampling: { createMessage: {} } } },
      };
      const { initialize } = await seenBy(await ready(peer, capabilities));
      expect(initialize.capabilities).toEqual(capabilities);
      expect(initialize.clientInfo).toEqual({ name: 'scenario', version: '1' });
    },
  },
  {
    title: 'extensions of a server are declared',
    shows: ['extensions'],
    isIndependent: true,
    needs: ['listing'],
    async run(peer) {
      await (await ready(peer)).listAll('tools'); // from here on it is known
      const { result } = await (await peer.connect()).initialize();
      const extensions = { 'example.com/full': { n: 1 }, 'io.modelcontextprotocol/ui': {} };
      expect(result?.capabilities).toMatchObject({ extensions });
    },
  },
  {
    title: 'extensions of several servers are declared together',
    shows: ['extensions'],
    isIndependent: true,
    needs: ['company', 'listing'],
    async run(peer) {
      await (await ready(peer)).listAll('tools');
      const { result } = await (await peer.connect()).initialize();
      expect(result?.capabilities).toMatchObject({
        extensions: { 'example.com/full': { n: 1 }, 'example.com/second': { n: 1 }, 'io.modelcontextprotocol/ui': {} },
      });
    },
  },
  {
    title: 'pings are answered, the client’s and the server’s',
    shows: ['ping'],
    async run(peer) {
      const client = await ready(peer);
      client.raw.answerQuestions(() => ({ result: {} }));
      expect((await client.request('ping')).result).toEqual({});
      expect(await client.text('ask', { method: 'ping' })).toBe('{}');
    },
  },
  {
    title: 'a client of the version 2025-03-26 may send a batch',
    shows: ['batch'],
    isIndependent: true,
    async run(peer) {
      const client = await peer.connect();
      await client.initialize({}, '2025-03-26');
      const call = (id: string): object => {
        const params = client.paramsOf('echo', { text: id });
        return { jsonrpc: '2.0', id, method: 'tools/call', params };
      };
      client.raw.send([call('a'), { jsonrpc: '2.0', method: 'notifications/x' }, call('b')]);
      expect(textOf(await client.answerTo('b'))).toBe('b');
      expect(textOf(await client.answerTo('a'))).toBe('a');
    },
  },
  {
    title: 'a client of the version 2025-03-26 may send one behind an initialize that is not answered',
    shows: ['batch'],
    async run(peer) {
      const client = await peer.connect();
      const call = { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: client.paramsOf('echo', { text: 'soon' }) };
      const initialized = client.initialize({}, '2025-03-26');
      client.raw.send([call, { jsonrpc: '2.0', id: 'b', method: 'ping' }]);
      await initialized;
      expect(textOf(await client.answerTo('a'))).toBe('soon');
      expect((await client.answerTo('b')).result).toEqual({});
    },
  },
  {
    title: 'a batch of another version is refused',
    shows: ['batch'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      client.raw.send([{ jsonrpc: '2.0', id: 'a', method: 'ping' }]);
      expect((await client.answerTo(null)).error?.code).toBe(-32600);
      expect((await client.request('ping')).result).toEqual({});
    },
  },
  {
    title: 'the batch of a server reaches a client that knows none message by message',
    shows: ['batch'],
    needs: ['sharing'],
    setup: { env: { FULL_VERSIONS: '2025-03-26' } },
    async run(peer) {
      const client = await ready(peer);
      expect(await client.text('batch')).toBe('in a batch');
      expect((await client.told('notifications/message')).params).toMatchObject({ data: 'in a batch' });
      expect(client.raw.lines.filter((line) => line.startsWith('['))).toEqual([]);
    },
  },
];
