// `mcp-bridge enable` and `mcp-bridge disable`: set whether the bridge offers a server, wherever it is defined.

import { SwitchedServers } from '../../discovery/switched-servers.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { nearest, suggestion } from '../../util/nearest.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { WhereValues } from '../locate.ts';
import { printable } from '../render/table.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { survey } from '../survey.ts';

export interface SwitchValues extends WhereValues {
  readonly names?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
}

export async function switchServers(values: SwitchValues, isOff: boolean, host: CliHost): Promise<number> {
  const { names = [] } = values;
  const command = isOff ? 'disable' : 'enable';
  if (names.length === 0)
    throw new BridgeError('USAGE', `Name a server, such as: mcp-bridge ${command} memory`, {
      hint: `See: mcp-bridge ${command} --help`,
    });
  const switched = new SwitchedServers(host.environment, host.homedir);
  const { servers } = (await survey(values, host)).discovery;
  const off = switched.read();
  const known = [...new Set([...servers.map(({ id }) => id), ...off])];
  for (const name of names) if (!known.includes(name)) throw unknown(name, known);
  const changed = new Set(await switched.switch(names, isOff));
  for (const name of names) {
    const already = changed.has(name) ? '' : ' already';
    host.stdout.write(`${printable(name)} is ${isOff ? 'off' : 'on'}${already}\n`);
    const other = servers.find(({ id, state, isOffHere }) => id === name && state !== 'ready' && isOffHere !== true);
    if (!isOff && other !== undefined) host.stdout.write(`${printable(`  but ${other.reason ?? other.state}`)}\n`);
  }
  await reloadIfRunning(values, host);
  return DONE;
}

function unknown(name: string, known: readonly string[]): BridgeError {
  const near = nearest(name, known);
  const hint = suggestion(near) ?? 'The column NAME of: mcp-bridge discover --all';
  return new BridgeError('SERVER_NOT_FOUND', `There is no server ${name}`, { hint });
}
