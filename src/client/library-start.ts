// Settings by which a program with the library starts a daemon if none runs: with the `mcp-bridge` that lies beside the
// library.

import { fileURLToPath } from 'node:url';
import { homeDir } from '../local/home-dir.ts';
import { type Located, serveArgsOf } from './locate.ts';
import type { StartSettings } from './open-or-start.ts';

interface OwnPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homedir: string;
}

export function ownPlace(environment: OwnPlace['environment']): OwnPlace {
  return { environment, homedir: homeDir(environment) };
}

/**
 * Returns the settings; undefined if no daemon may be started, by the program's own wish or else by the config file.
 */
export function librarySettings(
  located: Located,
  autostart: boolean | undefined,
  { environment, homedir }: OwnPlace,
): StartSettings | undefined {
  if (!(autostart ?? located.autoConnect)) return undefined;
  const program = fileURLToPath(new URL('./mcp-bridge.cjs', import.meta.url));
  return { program, serveArgs: serveArgsOf(located), environment, homedir };
}
