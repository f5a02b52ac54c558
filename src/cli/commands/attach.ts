// `mcp-bridge attach`: runs a stdio server and offers it to the bridge, until either ends. A restarted daemon gets it
// again. The exit code is the server's.

import { attachProcess, ServedProcess } from '../../client/served-process.ts';
import { type DialInState, type LeavingReason, ServerRegistration } from '../../client/server-registration.ts';
import { DONE, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locateToUse, type WhereValues } from '../locate.ts';
import { startSettings } from '../open-bridge.ts';
import { wrongUsage } from '../tool-session.ts';

export interface AttachValues extends WhereValues {
  readonly name: string;
  readonly 'no-autostart'?: boolean | undefined;
}

const RENAMING = 'Choose another name: mcp-bridge attach NAME -- COMMAND….';
const NEVER = new Promise<never>(() => undefined);

export async function attach(
  values: AttachValues,
  command: readonly string[] | undefined,
  host: CliHost,
): Promise<number> {
  const [program = ''] = command ?? [];
  if (command === undefined || program === '')
    throw wrongUsage('attach', 'Name what to run: mcp-bridge attach NAME -- COMMAND…');
  const located = await locateToUse(values, host);
  const dialIn = new ServerRegistration({
    hello: { name: values.name, program, version: '', renaming: RENAMING },
    where: located.where,
    start: startSettings(located, values, host),
    reconnect: located.reconnect,
    told: (state) => host.stderr.write(`mcp-bridge: ${wordsFor(state, values.name)}\n`),
    lost: (farewell) => host.stderr.write(`mcp-bridge: ${lossOf(farewell)}; connecting again\n`),
  });
  await dialIn.reach();
  const child = attachProcess(command, host);
  let isTold = false;
  host.onEnd(() => {
    isTold = true;
    dialIn.leave();
    void child.stop();
  });
  try {
    await child.started; // otherwise there is nothing to offer
    const server = new ServedProcess(child.stdin, child.stdout);
    await dialIn.register();
    const { how, code } = await Promise.race([child.ended, child.hasEnded() ? NEVER : untilLost(dialIn, server)]);
    if (code !== DONE && !isTold) host.stderr.write(lineFor(new Error(`${program} ${how}`)));
    return code;
  } finally {
    dialIn.leave();
    await child.stop();
  }
}

/** Rejects when the server can no longer be offered. Never resolves: the end of the server is noticed elsewhere. */
async function untilLost(dialIn: ServerRegistration, server: ServedProcess): Promise<never> {
  await dialIn.stay((link) => server.serve(link));
  return NEVER;
}

function wordsFor(state: DialInState, name: string): string {
  switch (state) {
    case 'offered':
      return `${name} is offered`;
    case 'waiting':
      return `${name} is connected, and waits for: mcp-bridge approve ${name}`;
    case 'blocked':
      return `${name} is connected, but policy keeps it from being offered. See: mcp-bridge config`;
    case 'rejected':
      return `${name} is connected, but was rejected. To offer it: mcp-bridge approve ${name}`;
  }
}

function lossOf(farewell: LeavingReason | undefined): string {
  if (farewell === 'restart') return 'the bridge is being restarted';
  return farewell === undefined ? 'the bridge has closed the connection' : 'the bridge was stopped';
}
