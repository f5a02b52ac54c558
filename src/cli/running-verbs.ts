// The verbs about what runs on this machine besides the daemon, as yargs knows them. Each is loaded when it is called.

import type { Argv } from 'yargs';
import type { AnnounceValues } from './announce.ts';
import type { Does } from './commands.ts';
import type { InputValues } from './input.ts';
import { ANNOUNCE, INPUT, SERVICE, SWITCH } from './options.ts';
import type { ServiceValues } from './service/service.ts';
import type { SwitchValues } from './switch.ts';

const INPUT_ACTIONS = ['set', 'list', 'remove'] as const;
const SWITCHED = { type: 'string', array: true, describe: 'The servers' } as const;
const ACTIONS = ['install', 'uninstall', 'status'] as const;

export function withRunningVerbs(parser: Argv, does: Does): Argv {
  return parser
    .command(
      'demo',
      'Show in some seconds what the bridge does, with real parts and none of yours',
      (y) => y,
      does(async (values: object, host) => (await import('./demo/demo.ts')).demo(values, host)),
    )
    .command(
      'input <action> [name]',
      'Give a value that definitions ask for, without showing it; or see which are missing',
      (y) =>
        y
          .positional('action', { choices: INPUT_ACTIONS, describe: 'What to do' })
          .positional('name', { type: 'string', describe: 'The input' })
          .options(INPUT),
      does(async (values: InputValues, host) => (await import('./input.ts')).input(values, host)),
    )
    .command(
      'enable [names..]',
      'Offer servers again that were switched off',
      (y) => y.positional('names', SWITCHED).options(SWITCH),
      does(async (values: SwitchValues, host) => (await import('./switch.ts')).switchServers(values, false, host)),
    )
    .command(
      'disable [names..]',
      'Switch servers off in the bridge, wherever they are defined',
      (y) => y.positional('names', SWITCHED).options(SWITCH),
      does(async (values: SwitchValues, host) => (await import('./switch.ts')).switchServers(values, true, host)),
    )
    .command(
      'announce <name>',
      'Register a server that runs and cannot do so itself, for everyone to find',
      (y) => y.positional('name', { type: 'string', describe: 'What it is called' }).options(ANNOUNCE),
      does(async (values: AnnounceValues, host) => (await import('./announce.ts')).announce(values, host)),
    )
    .command(
      'service <action>',
      'Let systemd or launchd keep the daemon, or see whether it does',
      (y) => y.positional('action', { choices: ACTIONS, describe: 'What to do' }).options(SERVICE),
      does(async (values: ServiceValues, host) => (await import('./service/service.ts')).service(values, host)),
    );
}
