import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServerOutput } from '../../../src/downstream/server-output.ts';

const KEY = '-----BEGIN KEY-----\nMIIB0123\nxyzxyzxyz\n-----END KEY-----';
const TOKEN = 's3cr3t-tok3n';
const ENV = { KEY, TOKEN };

function outputOf(...texts: string[]): ServerOutput {
  const output = new ServerOutput({ env: ENV, args: ['--password', 'hunter22'] }, 7);
  for (const text of texts) output.push(Buffer.from(text));
  return output;
}

describe('the output of a process', () => {
  test('is shown without secrets, even when the process has gone', () => {
    const output = outputOf(`token ${TOKEN}, password hunter22\n`, `${KEY}\nready`);
    const text = 'token [TOKEN], password [password]\n[KEY]\nready';
    expect(output.after(0)).toEqual({ pid: 7, running: true, from: 0, to: 100, text });
    output.end();
    expect(output.after(0)).toMatchObject({ running: false, text });
  });

  test('marks a line that is longer than the kept text', () => {
    const output = outputOf(`${'x'.repeat(20_000)}${TOKEN}`);
    expect(output.after(0).text).toBe('[the last line is too long to be kept]\n');
    expect(output.after(0, true).text).toBe('');
    output.push(Buffer.from('\nnext\n'));
    expect(output.after(0).text).toBe('next\n');
  });

  test('ends before the rest of a secret that is not there yet', () => {
    expect(outputOf(`the token is ${TOKEN.slice(0, 9)}`).after(0).text).toBe('the token is [TOKEN]');
  });

  test('begins with a line that is there from its beginning, and not within a secret', () => {
    for (let shift = 0; shift < 60; shift++) {
      const output = outputOf(`${KEY}\n`, `${'.'.repeat(16_384 - shift - 2)}\n.`);
      const { text } = output.after(0);
      expect(text).toMatch(/^(?:\[KEY\]\n)?(?:-{0,3}\n)?\.*\n?\.$/);
    }
  });

  test('is kept up to 16 KiB, and its start position shows what is missing', () => {
    const output = outputOf(...Array.from({ length: 3000 }, (_, i) => `${i}`.padStart(15, '.').concat('\n')));
    const { from, to, text } = output.after(16, true);
    expect([to - from, to]).toEqual([Buffer.byteLength(text), 48_000]);
    expect(from).toBeGreaterThan(48_000 - 16 * 1024);
  });
});

describe('a follower', () => {
  test('gets the same as a reader of everything, in whatever pieces it was written', () => {
    const piece = fc.constantFrom(TOKEN, KEY, 'hunter22', '\n', 'é', 'plain text', ' ', 'tok', '-----BEGIN');
    const cut = fc.integer({ min: 1, max: 30 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(cut, { minLength: 1 }), (pieces, cuts) => {
        const bytes = Buffer.from(`${pieces.join('')} .\n`);
        const output = outputOf();
        let told = '';
        let at = 0;
        const look = (): void => {
          const { from, to, text } = output.after(at, true);
          expect(from).toBe(at);
          told += text;
          at = to;
        };
        for (let i = 0, start = 0; start < bytes.length; i++) {
          const end = start + (cuts[i % cuts.length] ?? 1);
          output.push(bytes.subarray(start, end));
          start = end;
          look();
        }
        output.end();
        look();
        expect(told).toBe(output.after(0).text);
        expect(at).toBe(bytes.length);
      }),
    );
  });

  test('learns nothing of a secret by asking from the middle of it on', () => {
    const text = `a ${TOKEN} b\n${KEY}\nc\n`;
    for (let position = 1; position < text.length; position++) {
      const told = outputOf(text).after(position).text;
      for (const secret of [TOKEN.slice(3), 'MIIB', 'xyzxyz']) expect(told).not.toContain(secret);
    }
  });

  test('of a restarted process begins with it', () => {
    expect(outputOf('new\n').after(4711, true).text).toBe('new\n');
  });
});

test('no reader, at any time, learns a line of a secret of several lines, however short its first line is', () => {
  const CREDS = JSON.stringify({ type: 'service_account', key_id: 'abcdef0123456789', key: 'MIIEvQIBADANBg' }, null, 2);
  const written = `${CREDS}\nready\n${'x'.repeat(90)}\n${CREDS}\nand on\n`;
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 40 }), fc.boolean(), (cuts, isFollowed) => {
      const output = new ServerOutput({ env: { CREDS }, args: [] }, 1);
      let told = '';
      let at = 0;
      for (let i = 0, start = 0; start < written.length; i++) {
        const end = start + 1 + (cuts[i % cuts.length] ?? 0);
        output.push(Buffer.from(written.slice(start, end)));
        start = end;
        const { text, to } = output.after(isFollowed ? at : 0, isFollowed);
        told += text;
        at = to;
      }
      for (const part of ['service_account', 'abcdef0123456789', 'MIIEvQIBADANBg']) expect(told).not.toContain(part);
      expect(told).toContain('ready');
    }),
  );
});
