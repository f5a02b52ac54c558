// A command line that is none: what is said of it, by the real parser, without any verb having run.

import { describe, expect, test } from 'vitest';
import { runCommand } from '../../../src/cli/commands.ts';
import { lineFor } from '../../../src/cli/exit-code.ts';
import { VERBS } from '../../../src/cli/usage.ts';
import { VERB_TABLE } from '../../../src/cli/verb-table.ts';
import { fakeHost } from '../../support/cli-host.ts';

async function complaint(...args: string[]): Promise<string> {
  const host = fakeHost('/home/me', '/home/me');
  return runCommand(args, host).then(
    () => 'none',
    (error: unknown) => lineFor(error).slice('mcp-bridge: '.length),
  );
}

describe('what is wrong with a command line is said in one line, with what was meant', () => {
  test.each([
    [
      'completion bsh',
      'bsh is none of bash, zsh, fish, servers, tools, pending, connected. Did you mean bash? See: mcp-bridge completion',
    ],
    [
      'completion csh',
      'csh is none of bash, zsh, fish, servers, tools, pending, connected. See: mcp-bridge completion --help',
    ],
    ['service instal', 'instal is none of install, uninstall, status. Did you mean install? See: mcp-bridge service'],
    ['add a --url http://x --type foo', '--type is one of http, sse, ws, auto, and not foo. See: mcp-bridge add'],
    [
      'start --log-level wran',
      '--log-level is one of debug, info, warn, error, silent, and not wran. Did you mean warn?',
    ],
    ['status now', 'Too many words: now. See: mcp-bridge status --help'],
    ['metrics --json', 'Unknown option --json. See: mcp-bridge metrics --help'],
    [
      'add memory --dir x',
      'Unknown option --dir. If it belongs to the command, put -- before the command: mcp-bridge add',
    ],
    ['attach notes node x.js', 'Too many words: node x.js. If it belongs to the command, put -- before the command:'],
    ['describe one', 'Name a server and one of its tools: mcp-bridge describe SERVER TOOL.'],
    ['list', 'There is no verb list. Did you mean servers? See: mcp-bridge --help'],
    ['ls', 'There is no verb ls. Did you mean servers?'],
    ['ps', 'There is no verb ps. Did you mean status?'],
    ['info', 'There is no verb info. Did you mean status?'],
    ['version', 'There is no verb version. Did you mean --version?'],
    ['run', 'There is no verb run. Did you mean call?'],
    ['init', 'There is no verb init. Did you mean install?'],
    ['setup', 'There is no verb setup. Did you mean install?'],
    ['statsu', 'There is no verb statsu. Did you mean status?'],
    ['serv', 'There is no verb serv. Did you mean serve or servers?'],
    ['config chekc', 'There is no verb config chekc. Did you mean config check?'],
    ['frobnicate', 'There is no verb frobnicate. See: mcp-bridge --help'],
    ['constructor', 'There is no verb constructor. See: mcp-bridge --help'],
    ['status --json=maybe', '--json takes no value, and not maybe. See: mcp-bridge status --help'],
    ['config check --json=', '--json takes no value, and not an empty one. See: mcp-bridge config check --help'],
    ['search x --limit abc', '--limit is a whole number from 1 to 999999, and not abc. See: mcp-bridge search --help'],
    ['remove', 'Name a server, such as: mcp-bridge remove memory'],
  ])('%s', async (line, said) => {
    const shown = await complaint(...line.split(' '));
    expect(shown).toContain(said);
    expect(shown.trimEnd()).not.toContain('\n');
  });

  test('every option of every verb is known when it is mistyped', async () => {
    for (const [verb, { options }] of Object.entries(VERB_TABLE)) {
      if (verb === 'serve' || verb === 'connect') continue; // they have a parser of their own
      for (const option of Object.keys(options).filter((name) => name.length > 4)) {
        const wrong = `--${option.slice(0, -1)}`;
        const shown = await complaint(...verb.split(' '), ...wordsFor(verb), wrong);
        expect(shown, `${verb} ${wrong}`).toMatch(new RegExp(`Unknown option ${wrong}\\. Did you mean --`));
      }
    }
  });

  test.each([[['', 'next']], [['']], [[]]])(
    'an option of any verb that takes a text is given one, and not %j',
    async (value) => {
      for (const [verb, { options }] of Object.entries(VERB_TABLE)) {
        if (verb === 'serve' || verb === 'connect') continue; // they have a parser of their own
        for (const [name] of Object.entries(options).filter(([, { type }]) => type === 'string')) {
          const again = value.length > 1 ? [`--${name}`, 'next'] : [];
          const shown = await complaint(
            ...verb.split(' '),
            ...wordsFor(verb),
            `--${name}`,
            ...value.slice(0, 1),
            ...again,
          );
          expect(shown).toBe(`--${name} needs a value. Give it one, or leave it out. See: mcp-bridge ${verb} --help\n`);
        }
      }
    },
  );

  test('an option before its verb, too', async () => {
    expect(await complaint('--config', '', 'policy', 'explain', 'x')).toMatch(/^--config needs a value/);
  });
});

/** What it cannot do without, of which one hears first. */
function wordsFor(verb: string): readonly string[] {
  if (verb === 'completion') return ['bash'];
  if (verb === 'service') return ['status'];
  if (['input', 'resources', 'prompts'].includes(verb)) return ['list'];
  return (VERBS[verb]?.split(' --')[0] ?? '').split(' ').filter((word) => /^[A-Z]+$/.test(word));
}
