// Connects commands to the daemon, and starts one if none runs.

import type { Socket } from 'node:net';
import { type Located, serveArgsOf } from '../client/locate.ts';
import { openOrStart as open, type StartSettings } from '../client/open-or-start.ts';
import type { CliHost } from './host.ts';
import { placeOf } from './where.ts';

interface StartValues {
  readonly 'no-autostart'?: boolean | undefined;
}

export function openOrStart(located: Located, values: StartValues, host: CliHost): Promise<Socket> {
  return open(located.path, startSettings(located, values, host));
}

/** The settings for starting a daemon; undefined if none may be started. */
export function startSettings(located: Located, values: StartValues, host: CliHost): StartSettings | undefined {
  if (values['no-autostart'] === true || !located.autoConnect) return undefined;
  return { ...placeOf(host), serveArgs: serveArgsOf(located) };
}
