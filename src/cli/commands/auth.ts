// `mcp-bridge auth`: signs the daemon in to a server, or out again.

import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import { signIn } from '../../auth/sign-in.ts';
import { TokenFile } from '../../auth/token-file.ts';
import { hasReferences } from '../../discovery/inputs.ts';
import { servedServers } from '../../discovery/served-servers.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { systemClock } from '../../util/clock.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { printable } from '../render/table.ts';
import { survey } from '../survey.ts';

export interface AuthValues extends WhereValues {
  readonly name: string;
  readonly 'no-browser'?: boolean | undefined;
  readonly logout?: boolean | undefined;
}

export async function auth(values: AuthValues, host: CliHost): Promise<number> {
  const definition = remoteServer(values.name, await servedTo(values, host));
  if (values.logout === true) return signOut(definition, host);
  await signIn(definition, {
    environment: host.environment,
    clock: systemClock,
    show: (page, more) => {
      const why = more === undefined ? '' : ` with more rights (${printable(more)})`;
      host.stdout.write(`To sign in to ${printable(definition.name)}${why}, open this page:\n${printable(page)}\n`);
      if (values['no-browser'] !== true) openBrowser(page, host);
    },
  });
  host.stdout.write(`Signed in to ${printable(definition.name)}. The next call to it uses that.\n`);
  return DONE;
}

type Served = ReturnType<typeof servedServers>;

/** The servers that the daemon serves to clients in this directory. */
async function servedTo(values: AuthValues, host: CliHost): Promise<Served> {
  const { loaded, configError } = await locate(values, host);
  if (configError !== undefined) throw configError;
  const own = loaded.config.servers.find(({ name }) => name === values.name);
  if (own !== undefined && !hasReferences(own)) return new Map([[own.name, own]]);
  const { discovery, config } = await survey(values, host);
  return servedServers(discovery.servers, config.config, { home: host.homedir, values: discovery.values });
}

function remoteServer(name: string, servers: Served) {
  const definition = servers.get(name);
  if (definition === undefined) {
    const known = [...servers.keys()].join(', ');
    throw new BridgeError('SERVER_NOT_FOUND', `There is no server ${name}`, {
      hint: known === '' ? 'See: mcp-bridge discover --all' : `There are: ${known}. See: mcp-bridge discover --all`,
    });
  }
  const { transport } = definition;
  if (transport === 'stdio' || transport === 'ws' || transport === 'dial-in' || transport === 'bus')
    throw new BridgeError('AUTH_FAILED', `Server ${name} has no sign-in: it is not reached over HTTP`);
  if (Object.keys(definition.headers).some((header) => header.toLowerCase() === 'authorization'))
    throw new BridgeError(
      'AUTH_FAILED',
      `Server ${name} has an Authorization header of its own, which is used instead of a sign-in`,
      {
        hint: 'Take it out of its headers.',
      },
    );
  if (new URL(definition.url).username !== '')
    throw new BridgeError('AUTH_FAILED', `Server ${name} has a user in its URL, which is used instead of a sign-in`, {
      hint: 'Take it out of its URL.',
    });
  return definition;
}

async function signOut(definition: ReturnType<typeof remoteServer>, host: CliHost): Promise<number> {
  const file = new TokenFile(definition, host.environment);
  const wasSignedIn = await file.locked(() => file.remove());
  const name = printable(definition.name);
  host.stdout.write(wasSignedIn ? `Signed out of ${name}.\n` : `Nobody was signed in to ${name}.\n`);
  return DONE;
}

/** Opens the page in a browser. The page's URL is printed too, so a missing browser needs no message. */
function openBrowser(page: string, { environment }: CliHost): void {
  const program = platform() === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [page], { stdio: 'ignore', detached: true, env: { ...environment } });
  child.on('error', () => undefined);
  child.unref();
}
