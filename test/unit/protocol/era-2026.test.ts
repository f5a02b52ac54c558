// The table of the revision 2026-07-28, compared with its specification, and with the era before.

import { describe, expect, test } from 'vitest';
import type { Era, Method } from '../../../src/protocol/era.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026, REQUEST_MEMBERS } from '../../../src/protocol/era-2026.ts';
import { eraOf } from '../../../src/protocol/eras.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';
import { frameAt } from '../../support/json-text.ts';

const REQUESTS = [
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'subscriptions/listen',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
];
const REMOVED = [
  'initialize',
  'notifications/initialized',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
  'tasks/list',
  'notifications/tasks/status',
  'notifications/roots/list_changed',
  'notifications/elicitation/complete',
];
const NOTIFICATIONS = [
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/resources/updated',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
];

function methodIn(era: Era, name: string): Method {
  const { b, end } = frameAt(`{"jsonrpc":"2.0","id":1,"method":"${name}"}`);
  const envelope = new Envelope(era.keys);
  envelope.scan(b, 0, end, 128);
  return era.methods.of(b, envelope);
}
const having = (has: (method: Method) => boolean): string[] =>
  REQUESTS.filter((name) => has(methodIn(ERA_2026, name))).sort();

describe('the era of 2026-07-28', () => {
  test('is that of its version alone', () => {
    expect(eraOf('2026-07-28')).toBe(ERA_2026);
    for (const version of [...ERA_2025.versions, '2024-10-07', 'x', '']) expect(eraOf(version)).toBe(ERA_2025);
  });

  test('knows each of its requests, which all want an answer and are judged by their envelope', () => {
    for (const name of REQUESTS) {
      const { role, wantsAnswer, reads } = methodIn(ERA_2026, name);
      expect([name, wantsAnswer, role === 'other' || role === 'removed']).toEqual([name, true, false]);
      for (const field of [
        Field.meta,
        Field.protocolVersion,
        Field.clientCapabilities,
        Field.clientInfo,
        Field.logLevel,
      ])
        expect([name, field, reads.includes(field)]).toEqual([name, field, true]);
    }
  });

  test('passes methods on that it does not know, by their envelope too', () => {
    const { role, isCall, reads } = methodIn(ERA_2026, 'com.example/x');
    expect([role, isCall, reads.includes(Field.protocolVersion)]).toEqual(['other', true, true]);
  });

  test.each(REMOVED)('has removed %s, which the era before has', (name) => {
    const wantsAnswer = !name.startsWith('notifications/');
    expect(methodIn(ERA_2026, name)).toMatchObject({ role: 'removed', wantsAnswer, isCall: false });
    expect(['other', 'removed']).not.toContain(methodIn(ERA_2025, name).role);
  });

  test.each(NOTIFICATIONS)('means by %s what the era before does', (name) => {
    expect(methodIn(ERA_2026, name)).toEqual(methodIn(ERA_2025, name));
  });

  test('names what a request is about in one member', () => {
    const named = REQUESTS.flatMap((name) => {
      const field = methodIn(ERA_2026, name).name;
      return field === undefined ? [] : [[name, field]];
    });
    expect(named).toEqual([
      ['tools/call', Field.name],
      ['prompts/get', Field.name],
      ['resources/read', Field.uri],
      ['tasks/get', Field.taskId],
      ['tasks/update', Field.taskId],
      ['tasks/cancel', Field.taskId],
    ]);
  });

  test('lets a server ask during three requests only', () => {
    expect(having(({ mayAsk }) => mayAsk)).toEqual(['prompts/get', 'resources/read', 'tools/call']);
  });

  test('has results that may be kept for a while', () => {
    expect(having(({ isCacheable }) => isCacheable)).toEqual([
      ...['prompts/list', 'resources/list', 'resources/read', 'resources/templates/list', 'server/discover'],
      'tools/list',
    ]);
  });

  test('makes no call of a tool twice, and no answer to a task', () => {
    expect(having(({ isRepeatable }) => !isRepeatable)).toEqual(['tasks/update', 'tools/call']);
  });

  test('asks for the capability of which a request is a part', () => {
    const needs = (name: string): string | undefined => methodIn(ERA_2026, name).needs?.join(' ');
    expect(
      ['tools/call', 'resources/read', 'completion/complete', 'tasks/get', 'elicitation/create'].map(needs),
    ).toEqual(['tools', 'resources', 'completions', 'extensions io.modelcontextprotocol/tasks', 'elicitation']);
  });

  test('says in each request by four members of _meta who asks, where the era before has a handshake', () => {
    expect(REQUEST_MEMBERS.map(({ key }) => key)).toEqual([
      'io.modelcontextprotocol/protocolVersion',
      'io.modelcontextprotocol/clientInfo',
      'io.modelcontextprotocol/clientCapabilities',
      'io.modelcontextprotocol/logLevel',
    ]);
    expect([ERA_2026.hasHandshake, ERA_2025.hasHandshake]).toEqual([false, true]);
  });

  test('has its own error codes, and keeps them from servers', () => {
    const { errors } = ERA_2026;
    expect([errors.headerMismatch, errors.missingClientCapability, errors.unsupportedVersion]).toEqual([
      -32020, -32021, -32022,
    ]);
    const isReserved = (code: number): boolean =>
      errors.reserved.some(({ least, most }) => code >= least && code <= most);
    for (const code of [-32002, -32042, -32023, -32099]) expect([code, isReserved(code)]).toEqual([code, true]);
    for (const code of [-32020, -32021, -32022, -32600, -32603, -32700, -32000, -32001, 7])
      expect([code, isReserved(code)]).toEqual([code, false]);
    expect([errors.noSuchResource, ERA_2025.errors.noSuchResource]).toEqual([-32602, -32002]);
  });
});

describe('the era before', () => {
  test('lets a server ask during every request but lists and those about tasks', () => {
    const never = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
    for (const name of [...never, 'tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/list'])
      expect([name, methodIn(ERA_2025, name).mayAsk]).toEqual([name, false]);
    for (const name of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete', 'com.example/x'])
      expect([name, methodIn(ERA_2025, name).mayAsk]).toEqual([name, true]);
  });

  test('makes no call of a tool twice, and nothing that it does not know', () => {
    expect(
      ['tools/call', 'com.example/x', 'tools/list', 'prompts/get'].map((name) => methodIn(ERA_2025, name).isRepeatable),
    ).toEqual([false, false, true, true]);
  });

  test('wants no answer to messages between clients, nor to what it does not know', () => {
    for (const name of ['bridge/send', 'bridge/post', 'bridge/clients', 'com.example/x', 'notifications/initialized'])
      expect([name, methodIn(ERA_2025, name).wantsAnswer]).toEqual([name, false]);
    for (const name of ['initialize', 'ping', 'server/discover', 'tools/call', 'sampling/createMessage', 'roots/list'])
      expect([name, methodIn(ERA_2025, name).wantsAnswer]).toEqual([name, true]);
  });
});
