// What must differ between a conversation through the bridge and a direct one: each rule says why.

import type { Rule } from './comparison.ts';
import { extended, replaced, spelled, treeOf, without } from './json-places.ts';

const keysOf = (object: string): string[] => treeOf(object).children.map(({ key }) => key);

/** The bridge adds these to the answer to `initialize`, and nothing else. */
const SESSION_KEYS = ['mcp-bridge/clientId', 'mcp-bridge/instanceId'];

function withoutSession(text: string): string {
  const meta = spelled(text, ['result', '_meta']);
  return meta !== undefined && keysOf(meta).join() === SESSION_KEYS.join() ? without(text, ['result', '_meta']) : text;
}

const CAPABILITIES = ['params', 'capabilities'];

const respelled = (text: string): string => JSON.stringify(JSON.parse(text));

function withRootsChanging(text: string): string {
  const roots = [...CAPABILITIES, 'roots'];
  return spelled(text, [...roots, 'listChanged']) === undefined ? extended(text, roots, '"listChanged":true') : text;
}

export const SAME_ERA: readonly Rule[] = [
  {
    id: 'ADR 9',
    why: 'The bridge answers initialize from what it keeps of a server: the result has its bytes, the rest is new.',
    leg: 'client',
    of: /<- answer to initialize/,
    kept: (text) => `{"id":${spelled(text, ['id'])},"result":${spelled(text, ['result'])}}`,
  },
  {
    id: 'protocol.md, The handshake',
    why: 'The answer to initialize says who the client is to others, and which instance it has.',
    leg: 'client',
    of: /<- answer to initialize/,
    kept: withoutSession,
  },
  {
    id: 'F5',
    why: 'The bridge makes the handshake with a server itself, once for all clients.',
    leg: 'server',
    of: /-> initialize/,
    kept: (text) => replaced(without(text, ['params', '_meta']), ['params', 'clientInfo'], '{}'),
  },
  {
    id: 'ADR 39',
    why: 'A server is offered the capabilities by their meaning, and roots with listChanged: the bridge itself notifies it.',
    leg: 'server',
    of: /-> initialize/,
    expected: withRootsChanging,
    kept: (text) => replaced(text, CAPABILITIES, respelled(spelled(text, CAPABILITIES) ?? '{}')),
  },
  {
    id: 'protocol.md, What is answered while nothing runs',
    why: 'A client that reads a list before the bridge has read it for the first time is notified once it has.',
    leg: 'client',
    of: /<- notifications\/(tools|prompts|resources)\/list_changed/,
    mayCome: true,
  },
];

/** Differs between any two runs of a server. */
const noise = (why: string, of: RegExp, changing: RegExp, instead: string): Rule => ({
  id: 'of the server',
  why,
  leg: 'both',
  of,
  kept: (text) => text.replace(changing, instead),
});

export const NOISE: Readonly<Record<string, readonly Rule[]>> = {
  everything: [
    {
      id: 'ADR 9',
      why: 'It says that its tools have changed while it starts. A client that has read none need not hear of it.',
      leg: 'client',
      of: /<- notifications\/tools\/list_changed/,
      mayMiss: true,
    },
    noise('Resources hold the time of day.', /<- answer/, /\d+:\d\d:\d\d(\s|\u202f)?[AP]M/g, 'NOW'),
    noise(
      'Encoded resources hold the time of day too; their length stays.',
      /<- answer/,
      /"blob":"[A-Za-z0-9+/=]+"/g,
      '"blob":"…"',
    ),
  ],
};
