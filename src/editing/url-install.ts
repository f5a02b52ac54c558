// Installs a URL instead of a program in a client's config: chooses the URL, and makes a token for the client. The
// token stands only in the client's file, never on a command line.

import { AccessTokenFile } from '../local/access-tokens.ts';
import { pathOfView } from '../model/view-name.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { BridgeUrl, ClientTarget } from './client-targets.ts';
import type { EditingHost } from './editing-host.ts';

/** The addresses at which clients reach the bridge over HTTP. */
export interface HttpPlace {
  /** The URL on a port, or the reason why there is no usable one. */
  readonly byPort:
    | { readonly url: string; readonly needsToken: boolean }
    | { readonly problem: string; readonly hint: string };
  /** The URL on the daemon's own socket, for clients that take such URLs. */
  readonly bySocket: string;
}

/** The URL for a client, and the name of its token. */
export interface UrlForClient extends BridgeUrl {
  readonly tokenName: string | undefined;
}

/** Stands for the token in a dry run. */
const NEW_TOKEN = '(a new token)';

export async function urlFor(
  { client, title, byUrl }: ClientTarget,
  place: HttpPlace,
  { dryRun, view, host }: { readonly dryRun: boolean; readonly view?: string | undefined; readonly host: EditingHost },
): Promise<UrlForClient> {
  if (byUrl === undefined)
    throw new BridgeError('REQUEST_REFUSED', `${title} takes no URLs in its config: it starts programs`, {
      hint: `Without --http it starts the bridge: mcp-bridge install ${client}`,
    });
  if (byUrl.takesSockets) return { url: urlOf(place.bySocket, view), token: undefined, tokenName: undefined };
  if ('problem' in place.byPort)
    throw new BridgeError('REQUEST_REFUSED', place.byPort.problem, { hint: place.byPort.hint });
  const { needsToken } = place.byPort;
  const url = urlOf(place.byPort.url, view);
  if (!needsToken) return { url, token: undefined, tokenName: undefined };
  if (dryRun) return { url, token: NEW_TOKEN, tokenName: client };
  const tokens = tokensOf(host);
  const taken = new Set(tokens.read().map(({ name }) => name));
  let tokenName = client;
  for (let n = 2; taken.has(tokenName); n++) tokenName = `${client}-${n}`;
  return { url, token: await tokens.create({ name: tokenName }, host.now().getTime()), tokenName };
}

/** The URL of a view; `url` alone is the view that the config chooses. */
function urlOf(url: string, view: string | undefined): string {
  return view === undefined ? url : `${url}${pathOfView(view)}`;
}

export async function revokeToken(name: string | null | undefined, host: EditingHost): Promise<boolean> {
  return name !== undefined && name !== null && (await tokensOf(host).revoke([name])).length > 0;
}

function tokensOf({ environment, homedir }: EditingHost): AccessTokenFile {
  return new AccessTokenFile(environment, homedir);
}
