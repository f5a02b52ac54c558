// The calls of the odd server as they are made in the joined views, where its tools have other names.

import type { Rule } from './comparison.ts';
import { replaced, spelled, without } from './json-places.ts';
import { ERA_2026_ALONE, SAME_ERA } from './rules.ts';
import type { Script } from './script.ts';
import { ODD } from './scripts.ts';

/** Calls that go to one server in each view; what is said of lists, logs and unknown names differs by design. */
const IS_OF_A_CALL = /"tools\\?\/call"|"prompts\/get"|"odd:\/\/a"/;
const IS_OTHERWISE = /resources\/(un)?subscribe|no-such-tool|"name":"(changes|logs)"/;

const CALLS: Script = {
  ...ODD,
  steps: ODD.steps.filter(({ line }) => IS_OF_A_CALL.test(line) && !IS_OTHERWISE.test(line)),
};

const changed = (script: Script, change: (line: string) => string): Script => ({
  ...script,
  steps: script.steps.map((step) => ({ ...step, line: change(step.line) })),
});

/** What a client of a joined view hears of the servers together is the bridge's own. */
const OF_THE_BRIDGE: readonly Rule[] = [
  {
    id: 'G1',
    why: 'The bridge speaks for all servers.',
    leg: 'client',
    of: /initialize|server\/discover|answer to "hello"/,
    kept: () => '',
  },
  {
    id: 'G1',
    why: 'The bridge says that lists of the view have changed.',
    leg: 'client',
    of: /<- notifications\/(tools|prompts|resources)\/list_changed/,
    mayCome: true,
  },
];

const CALL = /"name":"([^"]+)"/;

/** A call of `execute_tool` as the call of the tool that it names; others as they are. */
function asCalled(text: string): string {
  const tool = spelled(text, ['params', 'arguments', 'tool']);
  const args = spelled(text, ['params', 'arguments', 'arguments']);
  if (tool === undefined || args === undefined) return text;
  return replaced(replaced(text, ['params', 'arguments'], args), ['params', 'name'], tool);
}

interface JoinedViewCase {
  readonly view: string;
  /** What is said without the bridge, and what is said in the view. */
  readonly script: Script;
  readonly said: Script;
  readonly rules: readonly Rule[];
}

const ofServers = SAME_ERA.filter(({ leg }) => leg === 'server');
const EXECUTABLE: Script = {
  ...CALLS,
  steps: CALLS.steps.filter(({ line }) => /^\{"jsonrpc".*"tools\/call".*"name":"[^"]+","arguments":/.test(line)),
};

/** The rules of the era of 2026 beside those of a view. The bridge's own answer to `server/discover` is not compared. */
export const IN_2026: readonly Rule[] = [
  {
    id: 'A14',
    why: 'Each request names its view.',
    leg: 'client',
    of: /^-> /,
    kept: (text) => (text === '' ? text : without(text, ['params', '_meta', 'mcp-bridge/view'])),
  },
  ...ERA_2026_ALONE.filter(({ leg, of }) => leg === 'server' || !of.test('<- answer to server/discover')),
];

export const JOINED_VIEWS: readonly JoinedViewCase[] = [
  {
    view: 'all',
    script: CALLS,
    said: changed(CALLS, (line) => (line.includes('resources/') ? line : line.replace(CALL, '"name":"odd__$1"'))),
    rules: [
      {
        id: 'G2',
        why: 'Tools and prompts have the name of their server before their own.',
        leg: 'client',
        of: /^-> (tools|prompts)/,
        kept: (text) => text.replace('"name":"odd__', '"name":"'),
      },
      ...OF_THE_BRIDGE,
      ...ofServers,
    ],
  },
  {
    view: 'discover',
    script: EXECUTABLE,
    said: changed(EXECUTABLE, (line) =>
      line.replace(
        /"name":"([^"]+)","arguments":(.*)\}\}$/,
        '"name":"execute_tool","arguments":{"server":"odd","tool":"$1","arguments":$2}}}',
      ),
    ),
    rules: [
      {
        id: 'G2',
        why: 'Tools are called with execute_tool.',
        leg: 'client',
        of: /^-> tools/,
        kept: asCalled,
      },
      ...OF_THE_BRIDGE,
      ...ofServers,
    ],
  },
];
