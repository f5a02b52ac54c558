// The nats-server that the demonstration of other hosts needs: found where packages put it, or asked for in plain words.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { natsProgram } from '../../../src/cli/commands/demo/nats-process.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

test('uses the nats-server in PATH, else in a usual place, else says what to install', () => {
  const dir = temporaryDir();
  const places = ['path', 'usual'].map((name) => join(dir, name));
  for (const place of places) mkdirSync(place);
  const [path = '', usual = ''] = places;
  expect(() => natsProgram(path, [usual])).toThrow('needs a nats-server, and this machine has none');
  const install = (place: string): void => {
    writeFileSync(join(place, 'nats-server'), '');
    chmodSync(join(place, 'nats-server'), 0o755);
  };
  install(usual);
  expect(natsProgram(path, [usual])).toBe(join(usual, 'nats-server'));
  expect(natsProgram(undefined, [usual])).toBe(join(usual, 'nats-server'));
  install(path);
  expect(natsProgram(`/nowhere:${path}`, [usual])).toBe(join(path, 'nats-server'));
});
