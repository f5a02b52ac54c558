// What must differ between a conversation through the bridge and a direct one: each rule says why.

import type { Rule } from './comparison.ts';
import { askerOf, byValue, compact, withObjectsOnly, withoutAsker, withoutCompletion } from './crossing.ts';
import { extended, membersAt, replaced, spelled, treeOf, without } from './json-places.ts';

const keysOf = (object: string): string[] => treeOf(object).children.map(({ key }) => key);

/** The bridge adds these to the answer to `initialize`, and nothing else. */
const SESSION_KEYS = ['mcp-bridge/clientId', 'mcp-bridge/instanceId'];

function withoutSession(text: string): string {
  const meta = spelled(text, ['result', '_meta']);
  return meta !== undefined && keysOf(meta).join() === SESSION_KEYS.join() ? without(text, ['result', '_meta']) : text;
}

/** A list of tools for clients that know no tasks of 2025. */
const withoutExecution = (text: string): string =>
  membersAt(text, ['result', 'tools']).reduceRight((rest, index) => {
    const tool = ['result', 'tools', index];
    const support = spelled(rest, [...tool, 'execution', 'taskSupport']);
    return without(rest, support === '"required"' ? tool : [...tool, 'execution']);
  }, text);

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
      leg: 'both',
      of: /<- notifications\/tools\/list_changed/,
      isLeftOut: true,
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

const OWN_SUBSCRIPTION: Rule = {
  id: 'D9',
  why: 'The bridge has one subscription of its own at each server.',
  leg: 'server',
  of: /<- notifications\/subscriptions\/acknowledged/,
  mayCome: true,
};

/** Both sides of 2026. */
export const ERA_2026_ALONE: readonly Rule[] = [
  {
    id: 'D1, E5',
    why: 'The bridge answers server/discover from what it keeps of a server: by its meaning, and without members that nobody knows.',
    leg: 'client',
    of: /<- answer to server\/discover/,
    kept: (text) => byValue(without(`{"result":${spelled(text, ['result'])}}`, ['result', 'x-more'])),
  },
  {
    id: 'A14, E1',
    why: 'What a client says to the bridge does not reach a server.',
    leg: 'server',
    of: /^-> /,
    expected: (text) => without(text, ['params', '_meta', 'mcp-bridge/view']),
  },
  {
    id: 'C16, E6',
    why: 'The bridge confirms subscriptions itself, and names them by the value of their ids.',
    leg: 'client',
    of: /<- notifications\/subscriptions\/acknowledged/,
    kept: (text) => byValue(without(text, ['x-more'])),
  },
  {
    id: 'E6',
    why: 'A server has the one subscription of the bridge instead of those of its clients.',
    leg: 'server',
    of: /-> subscriptions\/listen|<- notifications\/subscriptions\/acknowledged/,
    mayMiss: true,
  },
  {
    id: 'E6',
    why: 'So the server names that one.',
    leg: 'server',
    of: /<- notifications\/[a-z]+\/list_changed/,
    kept: (text) => without(text, ['params', '_meta', 'io.modelcontextprotocol/subscriptionId']),
  },
  OWN_SUBSCRIPTION,
  ...SAME_ERA.filter(({ mayCome }) => mayCome),
];

/** Clients of 2026 before a server of 2025. */
export const FROM_2026_TO_2025: readonly Rule[] = [
  {
    id: 'C1',
    why: 'Tasks are another thing in 2026, so a server is shown without its own.',
    leg: 'client',
    of: /<- answer to "hello"/,
    expected: (text) => without(text, ['result', '0', 'tasks']),
  },
  {
    id: 'C2',
    why: 'Each request says who asks. A server of 2025 has heard it in the handshake.',
    leg: 'client',
    of: /^-> /,
    kept: withoutAsker,
  },
  {
    id: 'C3',
    why: 'A result says its type and its server, and how long it may be kept.',
    leg: 'client',
    of: /^<- answer/,
    kept: (text) => compact(withoutCompletion(text)),
  },
  {
    id: 'C19',
    why: 'A client of 2026 knows no tasks of 2025: nothing says how a tool runs as one, and a tool that only does so is left out.',
    leg: 'client',
    of: /^<- answer/,
    expected: withoutExecution,
  },
  {
    id: 'C12',
    why: 'The error for a resource that is not there has another code in 2026.',
    leg: 'client',
    of: /^<- answer/,
    expected: (text) =>
      spelled(text, ['error', 'code']) === '-32002' ? replaced(text, ['error', 'code'], '-32602') : text,
  },
  {
    id: 'C15',
    why: 'A client of 2026 gets the log messages that its request has asked for, and no others.',
    leg: 'client',
    of: /<- notifications\/message/,
    mayMiss: true,
  },
  {
    id: 'protocol.md, What is answered while nothing runs',
    why: 'No notice comes outside a subscription.',
    leg: 'client',
    of: /<- notifications\/[a-z]+\/list_changed/,
    mayMiss: true,
  },
  ...SAME_ERA.filter(({ leg }) => leg === 'server'),
];

/** Clients of 2025 before a server of 2026. */
export const FROM_2025_TO_2026: readonly Rule[] = [
  {
    id: 'D1, D2',
    why: 'A client of 2025 says who it is in the handshake.',
    leg: 'client',
    of: /^-> /,
    expected: withoutAsker,
  },
  {
    id: 'D2',
    why: 'The bridge adds to each request who asks, by its meaning, without notices of changed roots.',
    leg: 'server',
    of: /^-> /,
    kept: (text) => `${compact(withoutAsker(text))} ${askerOf(text)}`,
  },
  {
    id: 'D3',
    why: 'A client of 2025 gets results without what only the era of 2026 has.',
    leg: 'client',
    of: /^<- answer/,
    expected: withoutCompletion,
    kept: compact,
  },
  {
    id: 'D4',
    why: 'For a client of 2025 what a tool answers is an object.',
    leg: 'client',
    of: /^<- answer/,
    expected: withObjectsOnly,
  },
  {
    id: 'D5',
    why: 'A page that a client of 2025 is to open has an id.',
    leg: 'client',
    of: /<- elicitation\/create/,
    kept: (text) => without(text, ['params', 'elicitationId']),
  },
  OWN_SUBSCRIPTION,
  ...SAME_ERA.filter(({ mayCome }) => mayCome),
];
