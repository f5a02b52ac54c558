// `mcp-bridge attach`: runs a stdio server and offers it to the bridge, until either ends. A daemon that is started again
// gets it again.

import pRetry from 'p-retry';
import { attachProcess } from '../client/attached-process.ts';
import { AttachedServer } from '../client/attached-server.ts';
import { DialledLink } from '../client/dialled-link.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { openOrStart } from './open-bridge.ts';
import { wrongUsage } from './tool-session.ts';

export interface AttachValues extends WhereValues {
  readonly name: string;
  readonly 'no-autostart'?: boolean | undefined;
}

/** For a daemon that is being started again: half a minute or so, beginning with steps of 50 ms. */
const RECONNECT = { retries: 60, minTimeout: 50, maxTimeout: 1000, factor: 1.5, randomize: true, maxRetryTime: 30_000 };

export async function attach(
  values: AttachValues,
  command: readonly string[] | undefined,
  host: CliHost,
): Promise<number> {
  if (command === undefined || command.length === 0)
    throw wrongUsage('attach', 'Name what to run: mcp-bridge attach NAME -- COMMAND…');
  refuseBelowBridge(host.environment);
  const located = await locate(values, host);
  (await openOrStart(located, values, host)).destroy(); // a daemon runs
  const hello = { name: values.name, program: command[0] ?? '', version: '' };
  const first = await DialledLink.open(located.path, hello);
  const child = attachProcess(command, host);
  const server = new AttachedServer(child.stdin, child.stdout);
  let isLeaving = false;
  host.onEnd(() => {
    isLeaving = true;
    void child.stop();
  });
  let current = first;
  const ended = child.ended.finally(() => {
    isLeaving = true;
    current.socket.destroy();
  });
  tell(first, values.name, host);
  const serving = async (): Promise<void> => {
    await server.serve(first);
    while (!isLeaving) {
      host.stderr.write('mcp-bridge: the bridge has closed the connection; connecting again\n');
      current = await reconnect(located.path, hello, () => isLeaving);
      tell(current, values.name, host);
      await server.serve(current);
    }
  };
  try {
    const lost = serving().then(() => new Promise<never>(() => undefined)); // then its end is what counts
    const { how, isWell } = await Promise.race([ended, lost]);
    if (isWell) return DONE;
    throw new BridgeError('SERVER_CRASHED', `${command[0]} ${how}`);
  } finally {
    isLeaving = true;
    await child.stop();
    current.socket.destroy();
  }
}

function reconnect(path: string, hello: Parameters<typeof DialledLink.open>[1], isOver: () => boolean) {
  return pRetry(() => DialledLink.open(path, hello), {
    ...RECONNECT,
    // The daemon may not have noticed yet that the connection before has ended.
    shouldRetry: ({ error }) =>
      !isOver() &&
      error instanceof BridgeError &&
      ['DAEMON_NOT_RUNNING', 'DAEMON_UNRESPONSIVE', 'SOCKET_UNUSABLE', 'SERVER_EXISTS', 'SHUTTING_DOWN'].includes(
        error.code,
      ),
  });
}

function tell({ state }: DialledLink, name: string, host: CliHost): void {
  const told = {
    offered: `${name} is offered`,
    waiting: `${name} is connected, and waits for: mcp-bridge approve ${name}`,
    blocked: `${name} is connected, but policy keeps it from being offered`,
    rejected: `${name} is connected, but was rejected. To offer it: mcp-bridge approve ${name}`,
  };
  host.stderr.write(`mcp-bridge: ${told[state]}\n`);
}
