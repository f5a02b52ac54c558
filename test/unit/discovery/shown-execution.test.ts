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

describe('what is not run stays hidden', () => {
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
