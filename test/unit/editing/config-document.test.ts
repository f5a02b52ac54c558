import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, type Syntax } from '../../../src/discovery/document.ts';
import { ConfigDocument } from '../../../src/editing/config-document.ts';
import { jsonTexts, TOML_TEXTS, YAML_TEXTS } from '../../support/config-texts.ts';
import { runs } from '../../support/runs.ts';

const ENTRY = { command: '/usr/bin/node', args: ['/opt/a b.cjs', 'connect'], env: { A: 'x "quoted" \\ ü', B: '' } };

function document(text: string, syntax: Syntax = 'json', container = ['servers']): Promise<ConfigDocument> {
  return ConfigDocument.parse(text, { path: '/home/me/f', syntax, container });
}

describe('a JSON text', () => {
  test.each<[string, string, string]>([
    ['an empty text', '', '{\n  "servers": {\n    "x": {\n      "a": 1\n    }\n  }\n}\n'],
    ['an empty object', '{}', '{\n  "servers": {\n    "x": {\n      "a": 1\n    }\n  }\n}'],
    ['one line', '{"a":1}', '{"a":1,"servers":{"x":{"a":1}}}'],
    ['one line with air in it', '{ "a": 1 }', '{ "a": 1, "servers": {"x": {"a": 1}} }'],
    ['an empty map in one line', '{"a":1,"servers":{}}', '{"a":1,"servers":{"x":{"a":1}}}'],
    [
      'tabs and CRLF',
      '{\r\n\t"servers": {\r\n\t\t"y": 1\r\n\t}\r\n}',
      '{\r\n\t"servers": {\r\n\t\t"y": 1,\r\n\t\t"x": {\r\n\t\t\t"a": 1\r\n\t\t}\r\n\t}\r\n}',
    ],
    [
      'a comment behind the last member',
      '{\n  "servers": {\n    "y": 1 // mine\n    // and more\n  }\n}',
      '{\n  "servers": {\n    "y": 1, // mine\n    "x": {\n      "a": 1\n    }\n    // and more\n  }\n}',
    ],
    [
      'a trailing comma',
      '{\n  "servers": {\n    "y": 1, /* c */\n  },\n}',
      '{\n  "servers": {\n    "y": 1, /* c */\n    "x": {\n      "a": 1\n    },\n  },\n}',
    ],
    [
      'only a comment in the map',
      '{\n  "servers": { // c\n  }\n}',
      '{\n  "servers": { // c\n    "x": {\n      "a": 1\n    }\n  }\n}',
    ],
    ['a byte order mark', '\ufeff{"servers":{}}', '\ufeff{"servers":{"x":{"a":1}}}'],
  ])('%s gets a server in its own layout', async (_, before, after) => {
    expect((await (await document(before)).with('x', { a: 1 })).text).toBe(after);
  });

  test.each<[string, string, string]>([
    ['the only one', '{"servers":{"x":{}}}', '{"servers":{}}'],
    ['the first of a line', '{ "servers": { "x": {}, "y": 1 } }', '{ "servers": { "y": 1 } }'],
    ['the last of a line', '{"servers":{"y":1,"x":{}}}', '{"servers":{"y":1}}'],
    ['the last with a trailing comma', '{"servers":{"y":1,"x":{},}}', '{"servers":{"y":1,}}'],
    [
      'one between comments',
      '{\n  "servers": {\n    // of y\n    "y": 1, // y\n    // of x\n    "x": {\n      "a": 1\n    } // x\n  }\n}',
      '{\n  "servers": {\n    // of y\n    "y": 1 // y\n    // of x\n    // x\n  }\n}',
    ],
  ])('%s goes and leaves the others and all comments', async (_, before, after) => {
    expect((await (await document(before)).without('x')).text).toBe(after);
  });

  test.each<[string, string, string]>([
    ['a broken text', '{\n  "servers": {,}\n}', ':2:15: a value is expected here'],
    ['the same server twice', '{"servers":{"a":1,\n"a":2}}', ':2:1: this key is there twice'],
    ['two maps of servers', '{"servers":{},\n "servers":{}}', ':2:2: this key is there twice'],
    ['a list for the servers', '{\n"servers":[]}', ':2:11: "servers" must be an object'],
    ['nothing for the servers', '{"servers":null}', ':1:12: "servers" must be an object'],
    ['a list for all of it', '[]', ':1:1: the whole of it must be'],
    ['two documents', '{} {}', ':1:4: there is something behind the end'],
  ])('%s is refused with its place', async (_, text, place) => {
    await expect(document(text)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`/home/me/f${place}`),
      hint: expect.stringContaining('nothing was changed'),
    });
  });

  test('`__proto__` beside the servers is kept, and is no name for one', async () => {
    const text = '{"servers":{"__proto__":{"command":"a"}},"__proto__":1}';
    const after = await (await document(text)).with('x', {});
    expect(after.text).toBe('{"servers":{"__proto__":{"command":"a"},"x":{}},"__proto__":1}');
    await expect(after.with('__proto__', {})).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('any JSON text', () => {
  const file = jsonTexts('servers');

  test('gets a server and loses it again, and nothing else in it changes', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (text) => {
        const before = await document(text);
        const added = await before.with('new one', ENTRY);
        expect(added.entries.get('new one')).toEqual(ENTRY);
        expect([...added.entries.keys()]).toEqual([...before.entries.keys(), 'new one']);
        const gone = await added.without('new one');
        expect(gone.value).toEqual(before.entries.size === 0 ? { ...before.value, servers: {} } : before.value);
        expect(commentsIn(gone.text)).toEqual(commentsIn(text));
        const { value } = await parseJson(added.text.replace('\ufeff', ''));
        expect(value).toEqual(added.value);
      }),
      { numRuns: runs(300) },
    );
  });

  test('loses any of its servers, and keeps the others and every comment', async () => {
    await fc.assert(
      fc.asyncProperty(file, fc.nat(), async (text, n) => {
        const before = await document(text);
        const names = [...before.entries.keys()];
        const name = names[n % names.length];
        if (name === undefined) return;
        const after = await before.without(name);
        expect([...after.entries]).toEqual([...before.entries].filter(([other]) => other !== name));
      }),
      { numRuns: runs(300) },
    );
  });

  function commentsIn(text: string): string[] {
    return text.match(/\/\/ (?:c|"x": \{)$|\/\* (?:, \}|c) \*\//gm) ?? [];
  }
});

describe('a TOML text', () => {
  const codex = (text: string) => document(text, 'toml', ['mcp_servers']);

  test.each<[string, string, string]>([
    ['an empty text', '', '[mcp_servers.x]\na = 1\n'],
    ['a text without a last line end', 'model = "m"', 'model = "m"\n\n[mcp_servers.x]\na = 1\n'],
    ['CRLF', 'm = 1 # c\r\n', 'm = 1 # c\r\n\r\n[mcp_servers.x]\r\na = 1\r\n'],
    ['an array of tables at the end', '[[p]]\na = 2\n', '[[p]]\na = 2\n\n[mcp_servers.x]\na = 1\n'],
  ])('%s gets a table at its end', async (_, before, after) => {
    const added = await (await codex(before)).with('x', { a: 1 });
    expect(added.text).toBe(after);
    expect((await added.without('x')).text).toBe(before === 'model = "m"' ? `${before}\n` : before);
  });

  test('a server goes with its sub-tables, wherever they are', async () => {
    const text =
      'm = """\n[mcp_servers.x]\n"""\n\n# of x\n[mcp_servers.x] # c\ncommand = "a"\n\n[other]\nk = 1\n\n[mcp_servers.x.env]\nA = "1"\n\n[mcp_servers.xy]\ncommand = "b"\n';
    const after = await (await codex(text)).without('x');
    expect(after.text).toBe(
      'm = """\n[mcp_servers.x]\n"""\n\n# of x\n\n[other]\nk = 1\n\n[mcp_servers.xy]\ncommand = "b"\n',
    );
  });

  test('dotted keys and inline tables of a line go with their line', async () => {
    const text = 'mcp_servers.x.command = "a"\nmcp_servers.y = { command = "b" }\n[mcp_servers]\n';
    await expect(codex(text)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const dotted = await codex('mcp_servers.x.command = "a"\nmcp_servers.y = { command = "b" }\n');
    expect((await dotted.without('x')).text).toBe('mcp_servers.y = { command = "b" }\n');
    const lines = await codex('[mcp_servers]\nx = { command = "a" }\ny.command = "b" # c\n');
    expect((await lines.without('y')).text).toBe('[mcp_servers]\nx = { command = "a" }\n');
  });

  test('a single inline table for all servers is refused, with what to do', async () => {
    const inline = await codex('mcp_servers = { x = { command = "a" } }\n');
    for (const change of [inline.with('y', { a: 1 }), inline.without('x')])
      await expect(change).rejects.toMatchObject({ hint: expect.stringContaining('a table of its own') });
  });

  test.each<[string, string]>([
    ['a = \n', ':1:'],
    ['a = 1\na = 2\n', ':2:'],
  ])('%j is refused with its place', async (text, place) => {
    await expect(codex(text)).rejects.toMatchObject({ message: expect.stringContaining(`/home/me/f${place}`) });
  });

  test('any entry comes back as it was written', async () => {
    const scalar = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean());
    const entry = fc.dictionary(
      fc.string().filter((k) => k !== '__proto__'),
      fc.oneof(
        scalar,
        fc.array(scalar),
        fc.dictionary(
          fc.string().filter((k) => k !== '__proto__'),
          scalar,
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.string().filter((n) => n !== '__proto__'),
        entry,
        async (name, value) => {
          const plain = JSON.parse(JSON.stringify(value)) as unknown;
          const added = await (await codex('# c\nm = 1\n')).with(name, plain);
          expect(added.entries.get(name)).toEqual(plain);
          expect((await added.without(name)).text).toBe('# c\nm = 1\n');
        },
      ),
      { numRuns: runs(200) },
    );
  });
});

describe('a YAML text', () => {
  const goose = (text: string) => document(text, 'yaml', ['extensions']);

  test.each<[string, string, string]>([
    ['an empty text', '', 'extensions:\n  x:\n    a: 1\n'],
    ['a comment', '# c', '# c\nextensions:\n  x:\n    a: 1\n'],
    ['another key', 'k: v\n', 'k: v\nextensions:\n  x:\n    a: 1\n'],
    ['an empty map', 'extensions: {} # c\nk: v\n', 'extensions: # c\n  x:\n    a: 1\nk: v\n'],
    ['no value', 'extensions:\nk: v\n', 'extensions:\n  x:\n    a: 1\nk: v\n'],
    [
      'four spaces and CRLF',
      'extensions:\r\n    y:\r\n        b: 2 # c\r\n    # d\r\nk: v\r\n',
      'extensions:\r\n    y:\r\n        b: 2 # c\r\n    x:\r\n        a: 1\r\n    # d\r\nk: v\r\n',
    ],
    ['braces', '{"k": 1}', '{"k": 1, "extensions": {"x":{"a":1}}}'],
    ['a map in braces', 'extensions: {y: {b: 2}}\n', 'extensions: {y: {b: 2}, "x": {"a":1}}\n'],
  ])('%s gets a server in its own layout', async (_, before, after) => {
    expect((await (await goose(before)).with('x', { a: 1 })).text).toBe(after);
  });

  test('a server goes, and comments, anchors and the others stay', async () => {
    const text =
      '# top\nextensions:\n  y: &y # c\n    cmd: a\n  # of x\n  x:\n    cmd: >-\n      long\n      text\n    envs:\n      A: b\n  z: *y\n\nk: v # end\n';
    const after = await (await goose(text)).without('x');
    expect(after.text).toBe('# top\nextensions:\n  y: &y # c\n    cmd: a\n  # of x\n  z: *y\n\nk: v # end\n');
  });

  test('the last server leaves an empty map', async () => {
    const after = await (await goose('extensions: # c\n  x:\n    cmd: a\nk: v\n')).without('x');
    expect(after.text).toBe('extensions: {} # c\nk: v\n');
  });

  test('an anchor that another part refers to is not removed', async () => {
    const text = 'extensions:\n  x: &x\n    cmd: a\n  y: *x\n';
    await expect((await goose(text)).without('x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test.each<[string, string, string]>([
    ['two documents', 'a: 1\n---\nb: 2\n', 'a second document'],
    ['a broken text', 'a: [1\nb: }\n', 'not YAML'],
    ['a list of servers', 'extensions:\n  - a\n', ':2:3: there must be a map here'],
    ['the same server twice', 'extensions:\n  a: 1\n  a: 2\n', ':3:3: this key is there twice'],
    ['a text', 'hello', ':1:1:'],
  ])('%s is refused', async (_, text, problem) => {
    await expect(goose(text)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(problem),
    });
  });

  test('any entry comes back as it was written', async () => {
    const text = fc.string({ unit: 'grapheme' });
    const entry = fc.dictionary(
      text.filter((k) => k !== '__proto__' && k !== '<<'),
      fc.oneof(text, fc.integer(), fc.boolean(), fc.array(text)),
    );
    await fc.assert(
      fc.asyncProperty(entry, fc.constantFrom('\n', '\r\n'), async (value, eol) => {
        const file = `# c${eol}extensions:${eol}  y:${eol}    b: 2${eol}k: v # e${eol}`;
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        const added = await (await goose(file)).with('x', plain);
        expect(added.entries.get('x')).toEqual(plain);
        expect((await added.without('x')).text).toBe(file);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('any TOML or YAML text', () => {
  const files = fc.oneof(
    TOML_TEXTS.map((text) => ({ text, syntax: 'toml' as const, container: ['mcp_servers'] })),
    YAML_TEXTS.map((text) => ({ text, syntax: 'yaml' as const, container: ['extensions'] })),
  );

  test('gets a server and loses it again, and nothing else in it changes', async () => {
    await fc.assert(
      fc.asyncProperty(files, async ({ text, syntax, container }) => {
        const before = await document(text, syntax, container);
        const added = await before.with('new one', ENTRY);
        expect([...added.entries]).toEqual([...before.entries, ['new one', ENTRY]]);
        const gone = await added.without('new one');
        expect([...gone.entries]).toEqual([...before.entries]);
        const lines = (all: string): string[] =>
          all
            .replace('\ufeff', '')
            .split(/\r?\n/)
            .filter((line) => !/^\s*$|^extensions:/.test(line));
        expect(lines(gone.text)).toEqual(lines(text));
      }),
      { numRuns: runs(300) },
    );
  });

  test('loses each of its servers, and keeps every line of the others', async () => {
    await fc.assert(
      fc.asyncProperty(files, async ({ text, syntax, container }) => {
        let now = await document(text, syntax, container);
        for (const name of now.entries.keys()) {
          const rest = [...now.entries].filter(([other]) => other !== name);
          now = await now.without(name);
          expect([...now.entries]).toEqual(rest);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
