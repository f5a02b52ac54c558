// Pages that a user is to visit outside the protocol, and who hears of it.

import { expect } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import type { Peer } from '../../support/ways.ts';
import { type ProtocolScenario, ready } from './scenario.ts';

const COMPLETE = 'notifications/elicitation/complete';
const CAPABILITIES = { elicitation: { form: {}, url: {} } };

async function pairOf(peer: Peer): Promise<[McpClient, McpClient]> {
  return [await ready(peer, CAPABILITIES), await ready(peer, CAPABILITIES)];
}

async function isShownPage(client: McpClient, elicitationId: string): Promise<void> {
  const url = `https://example.com/${elicitationId}`;
  const params = { mode: 'url', elicitationId, url, message: 'Sign in' };
  const call = client.beginCall('ask', { method: 'elicitation/create', params });
  const question = await client.told('elicitation/create');
  expect(question.params).toEqual(params);
  client.send({ id: question.id, result: { action: 'accept' } });
  expect((await client.answerTo(call)).result).toMatchObject({ content: [{ text: '{"action":"accept"}' }] });
}

export const ELICITATION_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'who is shown a page hears of the end of the visit',
    shows: ['elicitation-url', 'elicitation-complete'],
    async run(peer) {
      const client = await ready(peer, CAPABILITIES);
      await isShownPage(client, 'page-1');
      await client.call('visited', { elicitationId: 'page-1' });
      expect((await client.told(COMPLETE)).params).toEqual({ elicitationId: 'page-1' });
    },
  },
  {
    title: 'nobody else hears of it',
    shows: ['elicitation-complete'],
    needs: ['sharing'],
    setup: { sharing: 'shared' },
    async run(peer) {
      const [one, other] = await pairOf(peer);
      await isShownPage(one, 'page-1');
      await isShownPage(other, 'page-2');
      for (const elicitationId of ['page-1', 'page-2', 'page-3']) await other.call('visited', { elicitationId });
      expect((await one.told(COMPLETE)).params).toEqual({ elicitationId: 'page-1' });
      expect((await other.told(COMPLETE)).params).toEqual({ elicitationId: 'page-2' });
      for (const client of [one, other]) {
        await client.text('echo', { text: 'x' });
        expect(client.untaken(COMPLETE)).toEqual([]);
      }
    },
  },
  {
    title: 'an error that asks for a visit passes untouched, and who got it hears of the end of the visit',
    shows: ['elicitation-required', 'elicitation-complete', 'error'],
    async run(peer) {
      const client = await ready(peer, CAPABILITIES);
      const elicitation = {
        mode: 'url',
        elicitationId: 'page-1',
        url: 'https://example.com/page-1',
        message: 'Sign in',
      };
      expect((await client.call('visit', { elicitationId: 'page-1' })).error).toEqual({
        code: -32042,
        message: 'This request requires more information.',
        data: { elicitations: [elicitation] },
      });
      await client.call('visited', { elicitationId: 'page-1' });
      expect((await client.told(COMPLETE)).params).toEqual({ elicitationId: 'page-1' });
    },
  },
  {
    title: 'nobody but who got such an error hears of the end of the visit',
    shows: ['elicitation-required', 'elicitation-complete'],
    needs: ['sharing'],
    setup: { sharing: 'shared' },
    async run(peer) {
      const [one, other] = await pairOf(peer);
      await one.call('visit', { elicitationId: 'page-1' });
      await other.call('visited', { elicitationId: 'page-1' });
      expect((await one.told(COMPLETE)).params).toEqual({ elicitationId: 'page-1' });
      expect(await other.text('echo', { text: 'x' })).toBe('x');
      expect(other.untaken(COMPLETE)).toEqual([]);
    },
  },
];
