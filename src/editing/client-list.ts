// The clients that the bridge can be put into, which of them are on this machine, and which have it.

import { BridgeError } from '../util/bridge-error.ts';
import { fileOf, isPresent, readClientConfig } from './client-config.ts';
import { CLIENT_TARGETS, type ClientTarget, pathsOf } from './client-targets.ts';
import { type EditingHost, machineOfHost } from './editing-host.ts';

export interface ListedClient {
  readonly client: string;
  readonly title: string;
  readonly file: string;
  readonly isHere: boolean;
  readonly state: 'installed' | 'not-installed' | 'unusable';
  /** Why its file cannot be used. */
  readonly problem?: string;
}

export function listClients(host: EditingHost): Promise<ListedClient[]> {
  return Promise.all(CLIENT_TARGETS.map((target) => listed(target, host)));
}

async function listed(target: ClientTarget, host: EditingHost): Promise<ListedClient> {
  const [usual = ''] = pathsOf(target.files, machineOfHost(host));
  const common = { client: target.client, title: target.title, isHere: isPresent(target, host) };
  let file = usual;
  try {
    file = fileOf(target, host);
    const { ours } = await readClientConfig(target, file, host);
    return { ...common, file, state: ours.length > 0 ? 'installed' : 'not-installed' };
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return { ...common, file, state: 'unusable', problem: error.message };
  }
}
