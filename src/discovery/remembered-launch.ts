// What is kept of a definition that somebody has decided about, to say later what is different in another one: each part
// as it was shown, and a digest of what it really was. The digest is too short to find a secret by.

import { createHmac, randomBytes } from 'node:crypto';
import type { DiscoveredServer } from './discovered-server.ts';
import { type Shown, shownLaunch } from './shown-launch.ts';
import { namesFile } from './text-variables.ts';
import { textAt, treeAt } from './tree.ts';

export type PartKind =
  | 'transport'
  | 'command'
  | 'argument'
  | 'filled'
  | 'cwd'
  | 'url'
  | 'headersHelper'
  | 'oauth'
  | 'allowedTools'
  | 'deniedTools'
  | 'variable'
  | 'header';

/** `shown` is the name of a variable or a header. */
export interface RememberedPart {
  readonly what: PartKind;
  readonly shown: string;
  readonly digest: string;
}

export interface RememberedLaunch {
  readonly salt: string;
  readonly parts: readonly RememberedPart[];
}

export type DecidedLaunch = Shown & Pick<DiscoveredServer, 'tools'> & { readonly oauth: unknown };

/** Guards what was read from a file. */
export function isRememberedLaunch(value: unknown): value is RememberedLaunch {
  const parts = treeAt(value)?.parts;
  if (textAt(value, 'salt') === undefined || !Array.isArray(parts)) return false;
  return parts.every((part) => ['what', 'shown', 'digest'].every((key) => textAt(part, key) !== undefined));
}

const DIGITS = 8;
/** Of what nobody would read to its end a beginning is kept; the digest of all of it is `filled`. */
const MOST_NAMED = 500;
const LONGEST = 2000;

export function rememberedLaunch(server: DecidedLaunch, salt = randomBytes(16).toString('hex')): RememberedLaunch {
  const shown = shownLaunch(server);
  const { raw, tools } = server;
  const part = (what: PartKind, text: string | undefined, value: unknown): RememberedPart[] =>
    text === undefined ? [] : [{ what, shown: text.slice(0, LONGEST), digest: digestOf(salt, value) }];
  const named = (what: PartKind, names: readonly string[], values: Texts): RememberedPart[] =>
    names.slice(0, MOST_NAMED).flatMap((name) => part(what, name, values[name]));
  const isDenying = tools.deny.length > 0;
  const filled = [
    server.command,
    server.args,
    server.url,
    ...ofFiles({ ...raw.headers, ...raw.env }, { ...server.headers, ...server.env }),
  ];
  return {
    salt,
    parts: [
      ...part('transport', shown.transport, shown.transport),
      ...part('command', shown.command, raw.command),
      ...shown.args.slice(0, MOST_NAMED).flatMap((text, i) => part('argument', text, raw.args[i])),
      ...part('cwd', shown.cwd, server.cwd),
      ...part('url', shown.url, raw.url),
      ...part('headersHelper', shown.headersHelper, raw.headersHelper),
      ...part('oauth', server.oauth === undefined ? undefined : '', server.oauth),
      ...part('allowedTools', tools.allow?.slice(0, MOST_NAMED).join(', '), tools.allow),
      ...part('deniedTools', isDenying ? tools.deny.slice(0, MOST_NAMED).join(', ') : undefined, tools.deny),
      ...named('variable', shown.env, { ...server.env, ...raw.env }),
      ...named('header', shown.headers, { ...server.headers, ...raw.headers }),
      ...part('filled', '', filled),
    ],
  };
}

type Texts = Readonly<Record<string, string>>;

/** The values that a file has a part in. */
function ofFiles(raw: Texts, filled: Texts): [string, string | undefined][] {
  return Object.entries(raw).flatMap(([name, text]) => (namesFile(text) ? [[name, filled[name]]] : []));
}

function digestOf(salt: string, value: unknown): string {
  return createHmac('sha256', salt)
    .update(JSON.stringify(value ?? null))
    .digest('hex')
    .slice(0, DIGITS);
}
