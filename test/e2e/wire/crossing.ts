// Conversations of different eras made alike, so that they can be compared: what one era says in a handshake, in questions
// and in answers to them, the other says in its own messages.

import { leavesOf, membersAt, type Path, replaced, spelled, treeOf, without } from './json-places.ts';
import type { Line } from './tap.ts';

const HANDSHAKE = /^"(initialize|server\/discover|notifications\/initialized)"$/;
const HELLO = '"hello"';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

const canonical = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  const entries = Object.entries(value).map(([key, member]) => [key, canonical(member)] as const);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
};

/** The text by its meaning: members in an order of their own, and values as JavaScript spells them. */
export const byValue = (text: string): string => JSON.stringify(canonical(JSON.parse(text)));

/** The text without white space between its tokens. */
export function compact(text: string): string {
  const parts: string[] = [];
  const walk = ({ start, end, children }: ReturnType<typeof treeOf>): void => {
    const isObject = text[start] === '{';
    if (!isObject && text[start] !== '[') return void parts.push(text.slice(start, end));
    parts.push(isObject ? '{' : '[');
    for (const [index, { key, value }] of children.entries()) {
      parts.push(index === 0 ? '' : ',', isObject ? `"${key}":` : '');
      walk(value);
    }
    parts.push(isObject ? '}' : ']');
  };
  walk(treeOf(text));
  return parts.join('');
}

/** What a server says of itself, in either era. */
function saidOfServer(text: string): string {
  const at = (path: Path): string => spelled(text, ['result', ...path]) ?? 'null';
  const info = spelled(text, ['result', 'serverInfo']) ?? at(['_meta', SERVER_INFO]);
  return `{"id":${HELLO},"result":${byValue(`[${at(['capabilities'])},${at(['instructions'])},${info}]`)}}`;
}

/** Leaves of the beginning of a conversation only what the server says of itself. */
export const withoutHandshake = (lines: readonly Line[]): Line[] =>
  lines.flatMap(({ to, text }) => {
    if (HANDSHAKE.test(spelled(text, ['method']) ?? '')) return [];
    const isOfServer = to === 'client' && spelled(text, ['id']) === HELLO && spelled(text, ['method']) === undefined;
    return [{ to, text: isOfServer ? saidOfServer(text) : text }];
  });

const question = (id: string, method: string, params: string | undefined): Line => ({
  to: 'client',
  text: `{"id":${id},"method":${method}${params === undefined ? '' : `,"params":${compact(params)}`}}`,
});
const answer = (id: string, result: string | undefined): Line => ({
  to: 'server',
  text: `{"id":${id},"result":${result === undefined ? 'null' : compact(result)}}`,
});

const isQuestion = ({ to, text }: Line): boolean =>
  to === 'client' && spelled(text, ['id']) !== undefined && spelled(text, ['method']) !== undefined;
const isAnswer = ({ to, text }: Line): boolean =>
  to === 'server' && spelled(text, ['id']) !== undefined && spelled(text, ['method']) === undefined;

/** Each answer behind its question: of several at once a client may answer one before it has read the next. */
function paired(lines: readonly Line[]): Line[] {
  const answers = new Map(lines.filter(isAnswer).map((line) => [spelled(line.text, ['id']), line]));
  return lines.flatMap((line) => {
    if (isAnswer(line)) return [];
    const follows = isQuestion(line) ? answers.get(spelled(line.text, ['id'])) : undefined;
    return follows === undefined ? [line] : [line, follows];
  });
}

/** Questions and their answers, as requests have them, without all but the params and the result. */
export const plainQuestions = (lines: readonly Line[]): Line[] =>
  paired(lines).map((line) => {
    const { to, text } = line;
    const [id, method] = [spelled(text, ['id']), spelled(text, ['method'])];
    if (to === 'client' && id !== undefined && method !== undefined)
      return question(id, method, spelled(text, ['params']));
    return to === 'server' && id !== undefined && method === undefined ? answer(id, spelled(text, ['result'])) : line;
  });

/** Rounds of questions made into questions and answers as requests have them. */
export function roundsAsQuestions(lines: readonly Line[]): Line[] {
  /** By the id of a request that was made again, the id of the first. */
  const firstIds = new Map<string, string>();
  let asked = 0;
  /** The request that was answered with questions, and their keys. */
  let round: { readonly firstId: string; readonly from: number; readonly keys: readonly string[] } | undefined;
  const translated = ({ to, text }: Line): Line[] => {
    const id = spelled(text, ['id']) ?? '';
    const firstId = firstIds.get(id) ?? id;
    if (to === 'client' && spelled(text, ['result', 'resultType']) === '"input_required"') {
      const path = ['result', 'inputRequests'];
      const keys = membersAt(text, path);
      round = { firstId, from: asked, keys };
      asked += keys.length;
      const { from } = round;
      return keys.map((key, index) =>
        question(
          `"q${from + index}"`,
          spelled(text, [...path, key, 'method']) ?? '',
          spelled(text, [...path, key, 'params']),
        ),
      );
    }
    if (to === 'server' && round !== undefined && spelled(text, ['params', 'inputResponses']) !== undefined) {
      const { firstId: first, from, keys } = round;
      firstIds.set(id, first);
      return keys.map((key, index) => answer(`"q${from + index}"`, spelled(text, ['params', 'inputResponses', key])));
    }
    const isResponse = to === 'client' && spelled(text, ['method']) === undefined;
    return [{ to, text: isResponse && firstId !== id ? replaced(text, ['id'], firstId) : text }];
  };
  return paired(lines.flatMap(translated));
}

/** Takes a member out if it has this value. */
const withoutIf = (text: string, path: Path, value: string): string =>
  spelled(text, path) === value ? without(text, path) : text;

/** A result without what the era of 2026 adds to it. */
export function withoutCompletion(text: string): string {
  const bare = withoutIf(text, ['result', 'resultType'], '"complete"');
  const uncached = withoutIf(withoutIf(bare, ['result', 'ttlMs'], '0'), ['result', 'cacheScope'], '"private"');
  const meta = without(uncached, ['result', '_meta', SERVER_INFO]);
  return withoutIf(meta, ['result', '_meta'], '{}');
}

/** A list of tools in which what a tool answers is always an object. */
export function withObjectsOnly(text: string): string {
  const tools = membersAt(text, ['result', 'tools']);
  return tools.reduce((rest, index) => {
    const path = ['result', 'tools', index, 'outputSchema'];
    const [schema, type] = [spelled(rest, path), spelled(rest, [...path, 'type'])];
    if (schema === undefined || type === '"object"') return rest;
    const dialect = spelled(schema, ['$schema']);
    const head = dialect === undefined ? '' : `"$schema":${dialect},`;
    const inner = without(schema, ['$schema']);
    return replaced(rest, path, `{${head}"type":"object","properties":{"result":${inner}},"required":["result"]}`);
  }, text);
}

const WHO = ['protocolVersion', 'clientInfo', 'clientCapabilities'].map((name) => `io.modelcontextprotocol/${name}`);

/** A request without what it says of who asks. */
export const withoutAsker = (text: string): string =>
  [...WHO, 'mcp-bridge/view'].reduce((rest, key) => without(rest, ['params', '_meta', key]), text);

/** What a request says of who asks, by its meaning. */
export function askerOf(text: string): string {
  const said = WHO.map((key) => spelled(text, ['params', '_meta', key]) ?? 'null');
  const roots = leavesOf(said[2] ?? '{}').some(([path]) => path === 'roots.listChanged');
  const capabilities = roots ? without(said[2] ?? '{}', ['roots', 'listChanged']) : (said[2] ?? '{}');
  return byValue(`[${said[0]},${said[1]},${capabilities}]`);
}
