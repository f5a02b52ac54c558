// Tools that nobody may call because they have changed, for a person who wants to see all. Agents do not see
// them: what they say now is what has to be looked at first.

import { ControlClient } from '../client/control-client.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';

/** As `list_tools` lists those that are disabled, but without what they say of themselves. */
export async function blockedTools(server: string, values: WhereValues, host: CliHost): Promise<readonly object[]> {
  const { path } = await locate(values, host);
  const client = await ControlClient.open(path, host.version);
  try {
    const { servers } = await client.call('bridge/changes', { cwd: host.cwd, server });
    const blocking = servers.filter(({ policy }) => policy === 'block');
    const tools = blocking.flatMap((one) => one.tools.filter(({ state }) => state === 'changed'));
    return tools.map(({ tool }) => ({ ...BLOCKED, name: tool }));
  } finally {
    client.close();
  }
}

const BLOCKED = { name: '', summary: '', enabled: false, tags: [], changed: true, blocked: true };
