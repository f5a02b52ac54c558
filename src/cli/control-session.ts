// A session with the daemon, for commands that ask it about the servers of this directory and start it if none runs.

import { ControlClient } from '../client/control-client.ts';
import type { CliHost } from './host.ts';
import { locateToUse } from './locate.ts';
import { openOrStart } from './open-bridge.ts';
import { tellOtherConfig } from './other-config.ts';
import type { ToolCommandValues } from './tool-session.ts';

export async function withControl<Result>(
  values: ToolCommandValues,
  host: CliHost,
  use: (client: ControlClient) => Promise<Result>,
): Promise<Result> {
  const located = await locateToUse(values, host);
  const client = await ControlClient.open(located.path, host.version, () => openOrStart(located, values, host));
  await tellOtherConfig(values, located.path, host);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
