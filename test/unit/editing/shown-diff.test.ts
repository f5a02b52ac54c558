import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Syntax } from '../../../src/discovery/document.ts';
import { lineDiff } from '../../../src/editing/line-diff.ts';
import { shownDiff } from '../../../src/editing/shown-diff.ts';

const KNOWN = new Set(['/usr/bin/node', 'connect']);

function shown(syntax: Syntax, text: string): string {
  return shownDiff({ path: '/f', syntax, before: undefined, after: text, known: KNOWN });
}

describe('a difference that is shown', () => {
  test('has what is ours and what things are called, and no values', () => {
    const text =
      '{\n  // key: sekrit\n  "a": { "command": "npx", "args": ["-y", "sekrit", "connect"], "n": 1234 }\n}\n';
    expect(shown('json', text)).toBe(
      '--- /dev/null\n+++ /f\n@@ -0,0 +1,4 @@\n+{\n+  // …\n+  "a": { "command": "npx", "args": ["-y", "…", "connect"], "n": … }\n+}\n',
    );
  });

  test.each<[Syntax, string]>([
    ['json', '{"env":{"A":"sekrit"},"headers":{"A":"Bearer sekrit"},"url":"https://me:sekrit@x/?k=sekrit"}'],
    ['json', '{"args":["--token=sekrit","--token","sekrit"],"command":"A=sekrit x","x":[["sekrit"]]}'],
    ['json', '{"a" : "sekrit\\"", /* sekrit\n sekrit */ "b": 1 // sekrit\n}'],
    ['json', '{"command":"sekrit0123456789012345678901234567890"}'],
    ['toml', 'a = "sekrit" # sekrit\nb = """\nsekrit\nc = sekrit\n"""\n[x.env]\nA = \'sekrit\'\n# sekrit\n'],
    ['toml', 'env = { A = "sekrit" }\nargs = ["--token=sekrit", \'sekrit\', "sekrit"]\nargs = [\n  "sekrit",\n]\n'],
    ['toml', 'args = ["sekrit"]\ncommand = ["npx", "sekrit"]\nlist = [\n["sekrit"],\n[\'sekrit\']\n]\n'],
    ['json', '{"command":["npx","sekrit"],"type":{"a":"sekrit"}}'],
    ['yaml', 'cmd: [sekrit]\ncmd:\n  - sekrit\n'],
    ['toml', '"a b" = "sekrit"\na.b."c" = "sekrit"\nd=2024-sekrit\n'],
    [
      'yaml',
      'envs:\n  A: sekrit\n  B: "sekrit"\n  C: >-\n    sekrit\n    more sekrit\nargs: [-y, sekrit]\n- sekrit\n- --k=sekrit\n',
    ],
    [
      'yaml',
      'a: |\n  sekrit: sekrit2 sekrit\nb: {A: sekrit}\n? sekrit\n: sekrit\n# sekrit\nc: d # sekrit\n- a: sekrit\n',
    ],
  ])('of %s hides every value of %j', (syntax, text) => {
    expect(shown(syntax, text).replaceAll('sekrit:', '')).not.toContain('sekrit');
  });

  test('never has a value of a JSON text, whatever it is', () => {
    const secret = fc.string({ minLength: 5, maxLength: 20 }).map((text) => `${text}§`);
    const json = fc.dictionary(
      fc.constantFrom('a', 'env', 'args', 'command'),
      fc.oneof(secret, fc.array(secret), fc.dictionary(fc.constant('k'), secret)),
    );
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        expect(shown('json', JSON.stringify(value, undefined, indent))).not.toContain('§');
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
