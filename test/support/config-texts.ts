// Texts of config files as people and programs write them: any layout, comments, line ends and values, with a map of
// servers in them or without.

import fc from 'fast-check';

const KEYS = ['a', 'b', 'c d', 'x-y', 'ü', '"', '__proto__', 'constructor', 'env'];
const key = fc.constantFrom(...KEYS);
const gap = fc.constantFrom('', ' ', '\n', '\r\n', '\n\t', '\n    ', ' // c\n  ', ' /* , } */ ', '\n// "x": {\n');

interface Members {
  readonly members: readonly (readonly [name: string, value: string])[];
  readonly space: string;
  readonly trailing: boolean;
}

function objectText({ members, space, trailing }: Members): string {
  const written = members.map(([name, value]) => `${space}${JSON.stringify(name)}:${space}${value}`);
  return `{${written.join(`${space},`)}${trailing && members.length > 0 ? ',' : ''}${space}}`;
}

function objects(names: fc.Arbitrary<string>, values: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const members = fc.uniqueArray(fc.tuple(names, values), { selector: ([name]) => name, maxLength: 4 });
  return fc.record({ members, space: gap, trailing: fc.boolean() }).map(objectText);
}

const scalar = fc.constantFrom('1', 'null', 'true', '"t"', '"a // b"', '"a, b: {"', '-1.50e+3', '"\\u00e9\\n"');
const value = fc.letrec<{ any: string; list: string; map: string }>((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('map')),
  list: fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
  map: objects(key, tie('any')),
})).any;

/** Entries that clients know, those that none can use, and nonsense. */
const server = fc.oneof(
  fc.constantFrom(
    '{"command":"npx","args":["-y","some-server"],"env":{"TOKEN":"sekrit"}}',
    '{ "type": "stdio", "command": "/bin/server" /* c */ }',
    '{"url":"https://example.com/mcp","type":"http","headers":{"Authorization":"Bearer sekrit"}}',
    '{"command":"off","disabled":true}',
    '{"type":"local","command":["npx","some"],"enabled":true}',
    `{"command":"\${input:what}"}`,
    '{}',
  ),
  value,
);

/** JSON with comments whose servers are under this key, if there are any. */
export function jsonTexts(container: string): fc.Arbitrary<string> {
  const parts = {
    servers: fc.oneof(objects(fc.oneof(key, fc.constantFrom('github', 'files')), server), fc.constant(undefined)),
    other: objects(key, value),
    space: gap,
    mark: fc.constantFrom('', '\ufeff'),
    end: fc.constantFrom('', '\n', '\r\n'),
  };
  return fc.record(parts).map(({ servers, other, space, mark, end }) => {
    const map = servers === undefined ? '' : `,${space}${JSON.stringify(container)}:${space}${servers}`;
    return `${mark}{${space}"o": ${other}${map}${space},"z": 1${space}}${end}`;
  });
}

export const PLAIN_JSON: readonly string[] = [
  '',
  '\n',
  '{}',
  '{ }\n',
  '\ufeff{}',
  '{\r\n}\r\n',
  '{"a":1}',
  '{\n\t"a": 1,\n}',
];

const TOML_PIECES = [
  '# a comment',
  '[mcp_servers.github]\ncommand = "npx" # why\nargs = [\n  "-y", # yes\n  "github",\n]\n[mcp_servers.github.env]\nTOKEN = "sekrit"',
  '[mcp_servers."with space"]\nurl = \'https://example.com/mcp\'\nhttp_headers = { Authorization = "sekrit" }',
  '[mcp_servers.off]\ncommand = "x"\nenabled = false',
  '[other]\ntext = """\n[mcp_servers.no]\ncommand = "no"\n"""',
  '[[list]]\na = 1979-05-27T07:32:00Z\n[[list]]\nb = 0x10',
  '[projects."/home/me"]\ntrust_level = "trusted"',
];

export const TOML_TEXTS: fc.Arbitrary<string> = fc
  .record({
    top: fc.subarray(['model = "m"', '# c', 'a.b = 1', "s = '''\n[x]\n'''"]),
    pieces: fc.shuffledSubarray(TOML_PIECES),
    between: fc.constantFrom('\n', '\n\n'),
    end: fc.constantFrom('', '\n'),
    isCrlf: fc.boolean(),
    mark: fc.constantFrom('', '\ufeff'),
  })
  .map(({ top, pieces, between, end, isCrlf, mark }) => {
    const text = [...top, ...pieces].join(between) + end;
    return mark + (isCrlf ? text.replaceAll('\n', '\r\n') : text);
  });

const YAML_SERVERS = [
  '  github:\n    type: stdio\n    cmd: npx # why\n    args: [-y, github]\n    envs:\n      TOKEN: sekrit\n    enabled: true',
  '  developer:\n    type: builtin\n    enabled: true\n    bundled: true',
  '  # a comment of its own\n  web:\n    type: streamable_http\n    uri: https://example.com/mcp\n    headers: {Authorization: sekrit}',
  '  "with space":\n    type: stdio\n    cmd: >-\n      long\n    args:\n    - a\n    - b',
];

export const YAML_TEXTS: fc.Arbitrary<string> = fc
  .record({
    top: fc.subarray(['GOOSE_MODEL: m', '# c', 'list:\n- 1\n-   2', 'text: |\n  extensions:\n    a: b\n']),
    servers: fc.shuffledSubarray(YAML_SERVERS),
    hasServers: fc.boolean(),
    bottom: fc.subarray(['last: 1 # c', '# end']),
    end: fc.constantFrom('', '\n', '\n\n'),
    isCrlf: fc.boolean(),
    mark: fc.constantFrom('', '\ufeff'),
  })
  .map(({ top, servers, hasServers, bottom, end, isCrlf, mark }) => {
    const map = servers.length === 0 ? ['extensions: {}'] : ['extensions: # mine', ...servers];
    const text = [...top, ...(hasServers ? map : []), ...bottom].join('\n') + end;
    return mark + (isCrlf ? text.replaceAll('\n', '\r\n') : text);
  });
