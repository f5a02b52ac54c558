// What a server asks its clients: roots, sampling, and forms to fill in.

import { expect } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import { type Message, textOf } from '../../support/raw-client.ts';
import type { Peer } from '../../support/ways.ts';
import { type ProtocolScenario, ready, type Seen, seenBy } from './scenario.ts';

const SAMPLING = 'sampling/createMessage';
const ELICITATION = 'elicitation/create';
const ROOTS = { roots: { listChanged: true } };

/** Answers all that it is asked in one way; what it was asked. */
function answering(client: McpClient, answer: object): Message[] {
  const asked: Message[] = [];
  client.raw.answerQuestions((question) => {
    asked.push(question);
    return answer;
  });
  return asked;
}

const ask = async (client: McpClient, method: string, params?: object): Promise<unknown> =>
  JSON.parse(await client.text('ask', { method, params })) as unknown;

async function rooted(peer: Peer, ...uris: string[]): Promise<McpClient> {
  const client = await ready(peer, ROOTS);
  answering(client, { result: { roots: uris.map((uri) => ({ uri })) } });
  return client;
}

const tokenIn = (params: Message['params']): unknown =>
  (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;

const sampled = (text: string): object => ({ role: 'assistant', content: { type: 'text', text }, model: 'a model' });

/** Two clients that answer differently, and call at once, again and again. */
async function eachAnswersItsOwn(peer: Peer, capability: string, method: string): Promise<void> {
  const clients = [];
  for (const by of ['one', 'other']) {
    const client = await ready(peer, { [capability]: {} });
    client.raw.answerQuestions(({ params }) => ({ result: { by, about: params?.about } }));
    clients.push({ client, by });
  }
  const rounds = [1, 2, 3, 4, 5, 6, 7, 8];
  const asked = clients.map(({ client, by }) =>
    Promise.all(rounds.map((n) => ask(client, method, { about: `${by}:${n}` }))),
  );
  for (const [n, { by }] of clients.entries())
    expect(await asked[n]).toEqual(rounds.map((round) => ({ by, about: `${by}:${round}` })));
}

export const QUESTION_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'a server gets the roots of its client, and hears that they are others now',
    shows: ['roots/list', 'roots-changed'],
    async run(peer) {
      const client = await rooted(peer, 'file:///a', 'file:///b');
      expect(await ask(client, 'roots/list')).toEqual({ roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] });
      answering(client, { result: { roots: [{ uri: 'file:///c', name: 'C' }] } });
      client.send({ method: 'notifications/roots/list_changed' });
      expect((await seenBy(client)).notifications).toContain('notifications/roots/list_changed');
      expect(await ask(client, 'roots/list')).toEqual({ roots: [{ uri: 'file:///c', name: 'C' }] });
    },
  },
  {
    title: "one client's roots are not shown to another",
    shows: ['roots-own'],
    needs: ['sharing'],
    async run(peer) {
      const one = await rooted(peer, 'file:///one');
      expect(await ask(one, 'roots/list')).toEqual({ roots: [{ uri: 'file:///one' }] });
      const other = await rooted(peer, 'file:///other');
      expect(await ask(other, 'roots/list')).toEqual({ roots: [{ uri: 'file:///other' }] });
      const none = await ready(peer);
      expect(JSON.stringify(await ask(none, 'roots/list'))).not.toContain('file:///');
      expect(await ask(one, 'roots/list')).toEqual({ roots: [{ uri: 'file:///one' }] });
    },
  },
  {
    title: 'a server gets what its client has sampled, and the client what the server asked, untouched',
    shows: ['sampling/createMessage', 'unknown-fields', 'meta'],
    async run(peer) {
      const client = await ready(peer, { sampling: {} });
      const result = { ...sampled('Paris'), stopReason: 'endTurn', unknown: [1], _meta: { 'example.com/x': null } };
      const asked = answering(client, { result });
      const messages = [{ role: 'user', content: { type: 'text', text: 'The capital of France?' } }];
      const params = { messages, maxTokens: 100, unknown: { a: 1 }, _meta: { 'example.com/y': [] } };
      expect(await ask(client, SAMPLING, params)).toEqual(result);
      expect(asked.map((question) => question.params)).toEqual([params]);
    },
  },
  {
    title: 'the error of a client reaches the server as it is',
    shows: ['sampling-error'],
    async run(peer) {
      const client = await ready(peer, { sampling: {} });
      const error = { code: -1, message: 'User rejected sampling request', data: { why: ['é'] } };
      answering(client, { error });
      expect(await ask(client, SAMPLING, { messages: [] })).toEqual({ error });
    },
  },
  {
    title: 'two clients that sample at once each do it for their own calls',
    shows: ['sampling-own'],
    run: (peer) => eachAnswersItsOwn(peer, 'sampling', SAMPLING),
  },
  {
    title: 'two clients whose users are asked at once are each asked about their own calls, also on one process',
    shows: ['elicitation-own'],
    setup: { sharing: 'shared' },
    run: (peer) => eachAnswersItsOwn(peer, 'elicitation', ELICITATION),
  },
  {
    title: 'nobody is asked what it has not said that it can do',
    shows: ['sampling-tools', 'elicitation-mode', 'offers'],
    needs: ['sharing'],
    async run(peer) {
      const client = await ready(peer, { sampling: {}, elicitation: { form: {} } });
      const asked = answering(client, { result: {} });
      const url = { mode: 'url', elicitationId: 'e', url: 'https://example.com', message: 'Visit' };
      expect(await ask(client, ELICITATION, url)).toMatchObject({ error: { code: -32602 } });
      expect(await ask(client, SAMPLING, { messages: [], tools: [] })).toMatchObject({ error: { code: -32602 } });
      expect(await ask(client, 'roots/list')).toMatchObject({ error: { code: -32601 } });
      expect(asked).toEqual([]);
    },
  },
  {
    title: 'a form is filled in, declined, or cancelled',
    shows: ['elicitation/create'],
    async run(peer) {
      const client = await ready(peer, { elicitation: {} });
      const requestedSchema = { type: 'object', properties: { name: { type: 'string', default: 'x' } } };
      const params = { mode: 'form', message: 'Who?', requestedSchema };
      for (const result of [
        { action: 'accept', content: { name: 'Ann' } },
        { action: 'decline' },
        { action: 'cancel' },
      ]) {
        const asked = answering(client, { result });
        expect(await ask(client, ELICITATION, params)).toEqual(result);
        expect(asked.map((question) => question.params)).toEqual([params]);
      }
    },
  },
  {
    title: 'a server that wants to know no more says so under the id that its client knows',
    shows: ['cancel-back'],
    async run(peer) {
      const client = await ready(peer, { elicitation: {} });
      expect(await client.text('withdraw', { method: ELICITATION })).toBe('withdrawn');
      const { id } = await client.told(ELICITATION);
      const { params } = await client.told('notifications/cancelled');
      expect(params).toEqual({ requestId: id, reason: 'no more' });
      client.send({ id, result: { action: 'accept' } }); // too late
      expect(await client.text('echo', { text: 'x' })).toBe('x');
    },
  },
  {
    title:
      'a client tells of its progress with a question under the token that it was given, and nobody else hears of it',
    shows: ['progress-back'],
    async run(peer) {
      const client = await ready(peer, { sampling: {} });
      const _meta = { progressToken: 'theirs' };
      const call = client.beginCall('ask', { method: SAMPLING, params: { messages: [], _meta } });
      const { id, params } = await client.told(SAMPLING);
      const progress = { progress: 0.5, message: 'half' };
      client.send({ method: 'notifications/progress', params: { progressToken: tokenIn(params), ...progress } });
      client.send({ id, result: sampled('x') });
      await client.answerTo(call);
      expect((await seenBy(client)).progress).toEqual([{ progressToken: 'theirs', ...progress }]);
    },
  },
  {
    title: 'of several servers only the one that has asked hears of the progress with its question',
    shows: ['progress-back'],
    needs: ['company'],
    async run(peer) {
      const client = await ready(peer, { sampling: {} });
      const seenBySecond = async (): Promise<Seen> => JSON.parse(textOf(await client.callAt('second', 'seen'))) as Seen;
      await seenBySecond(); // from here on the client uses it
      const asks = { messages: [], _meta: { progressToken: 'theirs' } };
      const call = client.beginCall('ask', { method: SAMPLING, params: asks });
      const { id, params } = await client.told(SAMPLING);
      client.send({ method: 'notifications/progress', params: { progressToken: tokenIn(params), progress: 1 } });
      client.send({ id, result: sampled('x') });
      await client.answerTo(call);
      expect((await seenBySecond()).progress).toEqual([]);
    },
  },
];
