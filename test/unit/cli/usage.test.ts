// A command line that is none: what is said of it, by the real parser, without any command having run.

import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { runCommand } from '../../../src/cli/dispatch.ts';
import { exitCodeOf, lineFor } from '../../../src/cli/exit-code.ts';
import { run } from '../../../src/cli/run.ts';
import { fakeHost } from '../../support/cli-host.ts';

async function complaint(...args: string[]): Promise<string> {
  const host = fakeHost('/home/me', '/home/me');
  return runCommand(args, host).then(
    () => 'none',
    (error: unknown) => lineFor(error).slice('mcp-bridge: '.length),
  );
}

describe('a wrong command line gets a single line, with the probable meaning', () => {
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
    ['list', 'There is no command list. Did you mean servers? See: mcp-bridge --help'],
    ['ls', 'There is no command ls. Did you mean servers?'],
    ['ps', 'There is no command ps. Did you mean status?'],
    ['info', 'There is no command info. Did you mean status?'],
    ['version', 'There is no command version. Did you mean --version?'],
    ['run', 'There is no command run. Did you mean call?'],
    ['init', 'There is no command init. Did you mean install?'],
    ['setup', 'There is no command setup. Did you mean install?'],
    ['statsu', 'There is no command statsu. Did you mean status?'],
    ['serv', 'There is no command serv. Did you mean serve or servers?'],
    ['config chekc', 'There is no command config chekc. Did you mean config check?'],
    ['frobnicate', 'There is no command frobnicate. See: mcp-bridge --help'],
    ['constructor', 'There is no command constructor. See: mcp-bridge --help'],
    ['status --json=maybe', '--json takes no value, and not maybe. See: mcp-bridge status --help'],
    ['config check --json=', '--json takes no value, and not an empty one. See: mcp-bridge config check --help'],
    ['search x --limit abc', '--limit is a whole number from 1 to 999999, and not abc. See: mcp-bridge search --help'],
    ['remove', 'Name a server, such as: mcp-bridge remove memory'],
    [
      'config',
      'Name what to do: mcp-bridge config check, mcp-bridge config path, or mcp-bridge config synonym. See: mcp-bridge config --help',
    ],
    ['policy', 'Name what to do: mcp-bridge policy explain NAME'],
    ['status -- x', '`status` takes no command line behind --. See: mcp-bridge status --help'],
  ])('%s', async (line, said) => {
    const shown = await complaint(...line.split(' '));
    expect(shown).toContain(said);
    expect(shown.trimEnd()).not.toContain('\n');
  });

  test('every option of every command is known when it is mistyped', async () => {
    for (const [name, { options }] of Object.entries(COMMANDS)) {
      if (name === 'serve' || name === 'connect') continue; // they have a parser of their own
      for (const option of Object.keys(options).filter((name) => name.length > 4)) {
        const wrong = `--${option.slice(0, -1)}`;
        const shown = await complaint(...name.split(' '), ...wordsFor(name), wrong);
        expect(shown, `${name} ${wrong}`).toMatch(new RegExp(`Unknown option ${wrong}\\. Did you mean --`));
      }
    }
  });

  test.each([[['', 'next']], [['']], [[]]])(
    'an option of any command that takes a text is given one, and not %j',
    async (value) => {
      for (const [name, { options }] of Object.entries(COMMANDS)) {
        if (name === 'serve' || name === 'connect') continue; // they have a parser of their own
        for (const [option] of Object.entries(options).filter(([, { type }]) => type === 'string')) {
          const again = value.length > 1 ? [`--${option}`, 'next'] : [];
          const shown = await complaint(
            ...name.split(' '),
            ...wordsFor(name),
            `--${option}`,
            ...value.slice(0, 1),
            ...again,
          );
          expect(shown).toBe(
            `--${option} needs a value. Give it one, or leave it out. See: mcp-bridge ${name} --help\n`,
          );
        }
      }
    },
  );

  test('an option before its command, too', async () => {
    const words = ['--config', '', 'policy', 'explain', 'x'];
    await expect(run(words, fakeHost('/home/me', '/home/me'))).rejects.toThrow(/^--config needs a value/);
  });
});

describe('a command line is wrong usage, whichever parser reads it', () => {
  test.each([
    [['stauts'], /There is no command stauts. Did you mean status/],
    [['status', '--jsn'], /jsn/],
    [['serve', '--port', '1'], /Unknown option '--port'.*mcp-bridge serve --help/],
    [['serve', '--log-level', 'loud'], /--log-level is one of debug, info, warn, error, silent/],
    [['connect', 'extra'], /mcp-bridge connect --help/],
    [['statsu'], /There is no command statsu\. Did you mean status/],
    [['status', '--jsno'], /Unknown option --jsno\. Did you mean --json\?/],
    [['config', 'check', '--cofnig=x'], /Unknown option --cofnig\. Did you mean --config\?/],
    [['connect', '--vew', 'all'], /Unknown option '--vew'\. Did you mean --view\?/],
    [['serve', '--log-levl=debug'], /Unknown option '--log-levl'\. Did you mean --log-level\?/],
    [['stat'], /There is no command stat\. Did you mean start or status\? See: mcp-bridge --help/],
    [['frobnicate'], /There is no command frobnicate\. See/],
    [['constructor'], /There is no command constructor/],
    [['policy', 'explane', 'x'], /There is no command policy explane\. Did you mean policy explain\?/],
    [['policy'], /Name what to do: mcp-bridge policy explain NAME/],
    [['policy', 'explain'], /: Name a server: mcp-bridge policy explain NAME/],
    [['auth'], /: Name a server: mcp-bridge auth NAME\. See: mcp-bridge auth --help/],
    [['--foo'], /: Unknown option --foo\. See: mcp-bridge --help/],
    [['--foo=1'], /: Unknown option --foo\./],
    [['discover', '--foo'], /: Unknown option --foo\. See: mcp-bridge discover --help/],
    [['--foo', 'status'], /: Unknown option --foo\. See: mcp-bridge status --help/],
    [['--foo', 'bar', 'status'], /: Unknown option --foo\. See: mcp-bridge --help/],
    [['--jsn', 'status'], /: Unknown option --jsn\. Did you mean --json\?/],
    [['-x', 'connect'], /: Unknown option '-x'.*mcp-bridge connect --help/],
    [['--mcp-bridge-socket', 'status'], /: Name a command\. See: mcp-bridge --help/],
    [['--mcp-bridge-socket=/nowhere'], /: Name a command\. See: mcp-bridge --help/],
    [['--json', 'serve'], /Unknown option '--json'.*mcp-bridge serve --help/],
    [['--help=false'], /: Name a command\. See: mcp-bridge --help/],
    [[''], /: The command is empty\. Name one\. See: mcp-bridge --help/],
    [['--'], /: Name a command/],
    [['--', 'status'], /: Name a command/],
    [['-'], /: Unknown option -\./],
    [['connect', '--', '--help'], /mcp-bridge connect --help/],
    [['serve', '--', '-h'], /mcp-bridge serve --help/],
  ])('%j', async (args, said) => {
    const host = fakeHost('/home/me', '/home/me');
    const error: unknown = await run(args, host).catch((thrown: unknown) => thrown);
    expect([error, host.said()]).toEqual([expect.objectContaining({ code: 'USAGE' }), '']);
    expect(lineFor(error)).toMatch(said);
    expect(exitCodeOf(error)).toBe(2);
    expect(lineFor(error).trimEnd()).not.toContain('\n');
  });
});

/** What it cannot do without, of which one hears first. */
function wordsFor(name: string): readonly string[] {
  const words = COMMANDS[name]?.words ?? [];
  return words.flatMap(({ name: word, choices, isNeeded }) => (isNeeded === true ? [choices?.[0] ?? word] : []));
}
