import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSameProgram, programMark } from '../../../src/downstream/program-mark.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

/** A directory with a program on the PATH, a script, and data. */
class Place {
  readonly dir = temporaryDir();
  #written = 0;

  constructor() {
    mkdirSync(join(this.dir, 'bin'));
    for (const file of ['bin/run', 'server.js', 'data.db']) this.writes(file);
    chmodSync(join(this.dir, 'bin/run'), 0o755);
  }

  writes(file: string): void {
    writeFileSync(join(this.dir, file), `${++this.#written}`);
  }

  /** The mark, once the clock of the file system has gone on. */
  async settledMark(command: string, ...args: string[]): Promise<string> {
    for (;;) {
      const mark = this.mark(command, ...args);
      if (isSameProgram(mark, mark)) return mark;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  mark(command: string, ...args: string[]): string {
    const definition: StdioServer = {
      ...{ name: 's', description: '', transport: 'stdio', command, args, env: {}, cwd: this.dir, dir: undefined },
      ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined },
      ...{ sharing: 'auto', trustHints: false, tools: NO_FILTER },
    };
    return programMark(definition, { PATH: `/nowhere:${join(this.dir, 'bin')}` }, '/');
  }
}

test('a program is another one when its own file, or a script that it runs, was written', async () => {
  const place = new Place();
  const before = await place.settledMark('run', 'server.js');
  expect(await place.settledMark('run', 'server.js')).toBe(before);
  place.writes('server.js');
  const after = await place.settledMark('run', 'server.js');
  expect(after).not.toBe(before);
  place.writes('bin/run');
  expect(await place.settledMark('run', 'server.js')).not.toBe(after);
});

test('a server’s data files are not part of its program', async () => {
  const place = new Place();
  const args = ['--db', 'data.db', '.', 'https://example.org/x.js', 'not-there.js', ''];
  const before = await place.settledMark('run', ...args);
  place.writes('data.db');
  mkdirSync(join(place.dir, 'more'));
  expect(place.mark('run', ...args)).toBe(before);
});

test('a program may be named by a path, and may be missing', () => {
  const place = new Place();
  expect(place.mark('./bin/run')).toBe(place.mark('run'));
  expect(place.mark('not-there', 'x'.repeat(5000))).toBe('none');
  expect(place.mark('./server.js/x')).toBe('none');
});

test('a program that was written at this very moment may be another one', () => {
  expect(isSameProgram('1 2 3', '1 2 3')).toBe(true);
  expect(isSameProgram('1 2 3', '1 2 4')).toBe(false);
  expect(isSameProgram('uncertain; 1', 'uncertain; 1')).toBe(false);
});
