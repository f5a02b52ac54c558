import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Syntax } from '../../../src/discovery/document.ts';
import { shownDiff } from '../../../src/editing/edit-report.ts';
import { lineDiff } from '../../../src/editing/line-diff.ts';

function shown(syntax: Syntax, text: string): Promise<string> {
  return shownDiff({ path: '/f', syntax, before: undefined, after: text });
}

const added = (text: string): string => text.replace(/^(?=.)/gm, '+');
const head = (text: string): string => `--- /dev/null\n+++ /f\n@@ -0,0 +1,${text.split('\n').length - 1} @@\n`;

describe('a difference that is shown', () => {
  test.each<[Syntax, string]>([
    [
      'json',
      '{\n\t// mine\n\t"theme": "One Dark",\n\t"a": { "command": "npx", "args": ["-y", "@scope/pkg@1.2.3", "--port", "80"], "n": 1 }\n}\n',
    ],
    [
      'toml',
      '# mine\nmodel = "o1" # best\n[mcp_servers.a]\ncommand = \'npx\'\nargs = [\n  "-y",\n  "pkg",\n]\nd = 2024-01-01\n',
    ],
    [
      'yaml',
      '# mine\nmodel: o1 # best\nextensions:\n  a:\n    cmd: npx\n    args: [-y, pkg]\n    note: |\n      # two\n      lines\n',
    ],
  ])('has what is in a file of %s as it is', async (syntax, text) => {
    expect(await shown(syntax, text)).toBe(head(text) + added(text));
  });

  test('keeps names of servers and clients, whatever they are, and hides no more for them', async () => {
    const value = {
      mcpServers: {
        tokens: { command: 'npx', args: ['-y', 'pkg'], env: { NAME: 'memory-claude-code', MY_KEY: 'memory' } },
      },
      clients: [{ match: { client: 'claude-code' }, names: { tokens: 'tokens-cursor', memory: 'memory-claude-code' } }],
    };
    const text = `${JSON.stringify(value, undefined, 2)}\n`;
    const hidden = text
      .replace('"NAME": "memory-claude-code"', '"NAME": "***"')
      .replace('"MY_KEY": "memory"', '"MY_KEY": "***"');
    expect(await shown('json', text)).toBe(head(text) + added(hidden));
  });

  test('keeps what is nothing but a variable', async () => {
    const text = `{"env":{"A":"\${env:A}","B":"$sekrit"},"headers":{"X":"Bearer \${B}","Y":"x-\${B}"}}\n`;
    expect(await shown('json', text)).toContain(
      `{"env":{"A":"\${env:A}","B":"***"},"headers":{"X":"Bearer \${B}","Y":"***"}}`,
    );
  });

  test.each<[Syntax, string]>([
    ['json', '{"env":{"A":"sekrit"},"headers":{"A":"Bearer sekrit"},"url":"https://me:sekrit@x/?token=sekrit"}'],
    ['json', '{"args":["--token=sekrit","--token","sekrit","-e","A=sekrit"],"apiKey":"sekrit"}'],
    ['json', '{"environment":{"A":["sekrit"]},"tokens":{"a":{"b":"sekrit"}}}'],
    ['json', '\ufeff{"a":1, // token: sekrit\n/* "env": {\n "FOO": "sekrit"\n} */ "password" : "sekrit\\""\n}'],
    ['json', '{"env":{"API_KEY":"sekrit"},"args":["x","is-sekrit"],"note":"sekrit" // sekrit\n}'],
    ['toml', 'token = "sekrit" # key=sekrit\nsecret = """\nsekrit\nc = sekrit\n"""\n[x.env]\nA = \'sekrit\'\n'],
    [
      'toml',
      'env = { A = "sekrit" }\nx.http_headers.a = "sekrit"\nargs = ["--token=sekrit", \'--token\', \'sekrit\']\n',
    ],
    ['toml', '[[x]]\nenv."a b" = "sekrit"\n'],
    ['yaml', 'envs:\n  A: sekrit\n  B: "sekrit"\n  C: >-\n    sekrit\n    more sekrit\n'],
    [
      'yaml',
      'env: {A: sekrit}\napi_key: &a |\n  sekrit: sekrit2 sekrit\n# PASSWORD: sekrit\nargs:\n- --k\n- --secret=sekrit\n',
    ],
  ])('of %s hides the secrets of %j', async (syntax, text) => {
    expect(await shown(syntax, text)).not.toContain('sekrit');
  });

  test('never has a value of a variable or a header, whatever it is', async () => {
    const secret = fc.string({ minLength: 5, maxLength: 20 }).map((text) => `${text}a§`);
    const map = fc.dictionary(fc.constantFrom('a', 'K', '__proto__'), fc.oneof(secret, fc.array(secret)));
    const json = fc.dictionary(fc.constantFrom('env', 'headers', 'token', 'environment'), fc.oneof(secret, map));
    await fc.assert(
      fc.asyncProperty(json, fc.constantFrom<Syntax>('json', 'yaml'), async (value, syntax) => {
        const text = syntax === 'json' ? JSON.stringify(value) : stringify(value);
        expect(await shown(syntax, text)).not.toContain('§');
      }),
    );
  });
});

describe('the difference of two texts', () => {
  test('has three lines around what goes and comes', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `${i}`);
    const after = [...lines.slice(0, 9), 'new', ...lines.slice(10)];
    expect(lineDiff(lines.join('\n'), after.join('\n'))).toBe('@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-9\n+new\n 10\n 11\n 12\n');
    expect(lineDiff('same', 'same')).toBe('');
  });

  test('makes the one of the other', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 20 });
    fc.assert(
      fc.property(text, text, (from, to) => {
        const [before, after] = [from, to].map((lines) => lines.map((line) => `${line}\n`).join(''));
        expect(patched(before ?? '', lineDiff(before ?? '', after ?? ''))).toBe(after);
      }),
    );
  });
});

/** As `patch` would do it. */
function patched(text: string, diff: string): string {
  const from = text.split('\n').slice(0, -1);
  const to: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const [, start, count] = /^@@ -(\d+),(\d+)/.exec(line) ?? [];
    if (start !== undefined) {
      const until = Number(start) - (count === '0' ? 0 : 1);
      to.push(...from.slice(at, until));
      at = until;
      continue;
    }
    if (!line.startsWith('+')) expect(from[at++]).toBe(line.slice(1));
    if (!line.startsWith('-')) to.push(line.slice(1));
  }
  return [...to, ...from.slice(at)].map((line) => `${line}\n`).join('');
}
