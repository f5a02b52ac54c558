// A person is asked on a terminal: for the value of an input, and for what a server wants to know during a call.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type LastingCommand, onTerminal, onTerminalIn } from '../support/lasting-command.ts';
import { screenLines } from '../support/screen.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const WIDTHS = [40, 80, 120];
const FORM = {
  message: 'Before the release goes out, tell us who signs it and whether everybody agrees with that.',
  requestedSchema: {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', title: 'Your full name' }, agreed: { type: 'boolean', default: false } },
  },
};

const typed = (shown: LastingCommand, text: string): void => void shown.child.stdin.write(`type ${text}\\r\n`);

async function ends(shown: LastingCommand): Promise<{ readonly code: number | null; readonly isRestored: boolean }> {
  let told = '';
  shown.child.stderr.on('data', (chunk: Buffer) => {
    told += String(chunk);
  });
  const code = await shown.ended;
  return { code, isRestored: told.includes('restored') && !told.includes('not restored') };
}

test.each(WIDTHS)(
  'a form is filled in on a terminal of %i columns, and nothing is written over it',
  async (columns) => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
    const args = ['call', 'fixture', 'ask', `params:=${JSON.stringify(FORM)}`, '--mcp-bridge-socket', daemon.path];
    const shown = onTerminal(30, columns, ...args);
    await shown.until(/Answer it\?[^:]*: /);
    // Another command takes longer than the line that says what is waited for needs to appear.
    await runCommand(['status', '--mcp-bridge-socket', daemon.path]);
    typed(shown, 'y');
    await shown.until(/Your full name[^>]*> /);
    typed(shown, 'Ann Example');
    await shown.until(/agreed[^>]*> /);
    typed(shown, 'yes');
    await shown.until(/"agreed":true/);
    expect(await ends(shown)).toEqual({ code: 0, isRestored: true });
    const lines = screenLines(shown.said(), columns).filter((line) => line !== '');
    const message = lines.indexOf('Answer it? [Y]es, [n]o, [c]ancel: y');
    expect(lines.slice(0, message).join(' ')).toBe(FORM.message);
    expect(lines.slice(message, message + 5)).toEqual([
      'Answer it? [Y]es, [n]o, [c]ancel: y',
      'Your full name',
      '  (text) > Ann Example',
      'agreed',
      '  (yes or no, else false) > yes',
    ]);
    expect(lines.slice(message + 5).join('')).toBe(
      '{"action":"accept","content":{"name":"Ann Example","agreed":true}}',
    );
    await daemon.stop();
  },
);

test('Ctrl-C at a question cancels it, and the server learns that', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const args = ['call', 'fixture', 'ask', `params:=${JSON.stringify(FORM)}`, '--mcp-bridge-socket', daemon.path];
  const shown = onTerminal(30, 80, ...args);
  await shown.until(/Answer it\?[^:]*: /);
  shown.child.stdin.write('type \\x03\n');
  await shown.until(/"action\\?":\\?"cancel/);
  expect(await ends(shown)).toEqual({ code: 0, isRestored: true });
  await daemon.stop();
});

test.each(WIDTHS)('the value of an input is asked for on %i columns and never shown', async (columns) => {
  const home = tempDir();
  const env = { HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const shown = onTerminalIn({ cwd: home, env, columns }, 'input', 'set', 'api-key');
  await shown.until(/api-key: /);
  typed(shown, 'sekrit-value');
  await shown.until(/is kept in /);
  expect(await ends(shown)).toEqual({ code: 0, isRestored: true });
  expect(shown.said()).not.toContain('sekrit');
  const kept = readFileSync(join(home, '.local/state/mcp-bridge/inputs.json'), 'utf8');
  expect(JSON.parse(kept)).toMatchObject({ inputs: { 'api-key': 'sekrit-value' } });
});
