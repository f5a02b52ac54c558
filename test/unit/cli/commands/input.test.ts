// `input`: the values that definitions ask for.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { input } from '../../../../src/cli/commands/input.ts';
import { fakeHost } from '../../../support/cli-host.ts';
import { writeFiles } from '../../../support/file-tree.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

const terminal = (answer: string) => ({ columns: 80, answer });

async function set(home: string, name: string): Promise<{ readonly said: string; readonly complaints: string }> {
  const host = fakeHost(home, home, terminal('sekrit'));
  expect(await input({ action: 'set', name }, host)).toBe(0);
  return { said: host.said(), complaints: host.complaints() };
}

test('an input that nothing asks for is kept, and a note says which ones are missing', async () => {
  const home = temporaryDir();
  expect((await set(home, 'nosuch')).complaints).toBe(
    'mcp-bridge: No server here asks for nosuch. No input is missing\n',
  );
  const asking = { command: 'node', env: { KEY: `\${input:api-key}` } };
  writeFiles(home, { '.config/Code/User/mcp.json': { servers: { asking } } });
  expect((await set(home, 'apikey')).complaints).toBe('mcp-bridge: No server here asks for apikey. Missing: api-key\n');
  const { said, complaints } = await set(home, 'api-key');
  expect([said, complaints]).toEqual([
    `api-key: \napi-key is kept in ${join(home, '.local/state/mcp-bridge/inputs.json')}, readable for you alone\n`,
    '',
  ]);
  expect((await set(home, 'api-key')).complaints).toBe('');
});
