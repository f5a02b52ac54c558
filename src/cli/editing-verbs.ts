// The verbs that change config files, as yargs knows them. Each is loaded when it is called.

import type { Argv } from 'yargs';
import { BridgeError } from '../util/bridge-error.ts';
import type { AddValues } from './add.ts';
import type { Does } from './commands.ts';
import type { CliHost } from './host.ts';
import type { ImportValues } from './import.ts';
import type { InstallValues } from './install.ts';
import { ADD, IMPORT, INSTALL, REMOVE, UNINSTALL } from './options.ts';
import type { RemoveValues } from './remove.ts';
import type { UninstallValues } from './uninstall.ts';

const NAME = { type: 'string', describe: 'The server' } as const;
/** A command without `--` before it: it is told of, as its own flags would be taken for ours. */
const REST = { type: 'string', array: true, hidden: true } as const;
const CLIENTS = { type: 'string', array: true, describe: 'The clients' } as const;

/** `line` is what followed `--`. */
export function withEditingVerbs(parser: Argv, does: Does, line: readonly string[] | undefined): Argv {
  return parser
    .command(
      'add [name] [rest..]',
      'Add a server to the config: add NAME -- COMMAND…, or add NAME --url URL',
      (y) =>
        y
          .usage('$0 add NAME -- COMMAND…\n$0 add NAME --url URL')
          .positional('name', NAME)
          .positional('rest', REST)
          .options(ADD),
      does(async (values: AddValues, host) => (await import('./add.ts')).add({ ...values, line }, host)),
    )
    .command(
      'remove [names..]',
      'Remove servers from the config',
      (y) => y.positional('names', { ...NAME, array: true, describe: 'The servers' }).options(REMOVE),
      without(line, does, async (values: RemoveValues, host) => (await import('./remove.ts')).remove(values, host)),
    )
    .command(
      'import [client..]',
      "Copy clients' servers into the config",
      (y) => y.positional('client', CLIENTS).options(IMPORT),
      without(line, does, async (values: ImportValues, host) => (await import('./import.ts')).importVerb(values, host)),
    )
    .command(
      'install [client..]',
      "Put the bridge into clients' configs",
      (y) =>
        y.positional('client', { ...CLIENTS, describe: 'The clients; without one, all are listed' }).options(INSTALL),
      without(line, does, async (values: InstallValues, host) =>
        (await import('./install.ts')).installVerb(values, host),
      ),
    )
    .command(
      'uninstall [client..]',
      "Take the bridge out of clients' configs, and put back what was there",
      (y) => y.positional('client', CLIENTS).options(UNINSTALL),
      without(line, does, async (values: UninstallValues, host) =>
        (await import('./uninstall.ts')).uninstallVerb(values, host),
      ),
    );
}

function without<Values>(
  line: readonly string[] | undefined,
  does: Does,
  verb: (values: Values, host: CliHost) => Promise<number>,
): (values: unknown) => Promise<void> {
  return does(async (values: Values, host) => {
    if (line !== undefined) throw new BridgeError('USAGE', 'Only `add` takes a command line behind --');
    return verb(values, host);
  });
}
