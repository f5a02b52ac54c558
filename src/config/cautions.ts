// Warns about settings that are valid, but that the author may not have meant.

import { toolsetIn } from '../model/toolset.ts';
import { secretsInArguments, secretsInText } from '../util/given-secrets.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { looksSecret, PLAIN_WORD } from '../util/secret-signs.ts';
import type { ConfigFinding } from './reader.ts';

export interface CautionOptions {
  /** True if other users may read the file. */
  readonly isShared: boolean;
  readonly resolvePath: (path: string) => string;
}

export function cautionsFor(content: unknown, options: CautionOptions): ConfigFinding[] {
  const { federation, mcpBridge, mcpServers } = membersOf(content);
  const sections = [
    ...viewCautions(membersOf(content)),
    ...(options.isShared ? natsCautions(membersOf(federation).nats) : []),
  ];
  const { socketPath } = membersOf(mcpBridge);
  const cautions = Object.entries(membersOf(mcpServers)).flatMap(([name, entry]) =>
    isRecord(entry) ? serverCautions(`mcpServers.${name}`, entry, options) : [],
  );
  return typeof socketPath === 'string' && /^[^/~]/.test(socketPath)
    ? [
        caution('mcpBridge.socketPath', 'is relative', `it means ${options.resolvePath(socketPath)}`),
        ...cautions,
        ...sections,
      ]
    : [...cautions, ...sections];
}

/** Whatever stands here lets a daemon into NATS; no variable can stand for it. The other ways in name files. */
function natsCautions(nats: unknown): ConfigFinding[] {
  const { password, token } = membersOf(nats);
  return Object.entries({ password, token }).flatMap(([key, value]) =>
    typeof value === 'string' && value !== '' ? [caution(`federation.nats.${key}`, SECRET, KEEP)] : [],
  );
}

/** Warns about views that do not exist: a client that gets one cannot connect. */
function viewCautions({ client, clients, codeMode, toolsets }: Readonly<Record<string, unknown>>): ConfigFinding[] {
  const entries = Array.isArray(clients) ? clients.map((entry, i) => [`clients[${i}]`, entry] as const) : [];
  return [['client', client] as const, ...entries].flatMap(([place, entry]) => {
    const { view } = membersOf(entry);
    const set = typeof view === 'string' ? toolsetIn(view) : undefined;
    if (set !== undefined && !Object.hasOwn(membersOf(toolsets), set))
      return [
        caution(`${place}.view`, 'names a toolset that is not there', `make it: mcp-bridge toolset ${set} TOOL…`),
      ];
    return view === 'code' && membersOf(codeMode).enabled !== true
      ? [caution(`${place}.view`, 'is code, and code mode is switched off', 'set codeMode.enabled to true')]
      : [];
  });
}

function serverCautions(
  place: string,
  entry: Readonly<Record<string, unknown>>,
  options: CautionOptions,
): ConfigFinding[] {
  const { command, cwd } = entry;
  const isRelative = typeof command === 'string' && /^[^/~$][^/]*\//.test(command) && cwd === undefined;
  const relative = caution(
    `${place}.command`,
    'is looked for beside this file, not where a client works',
    'write the whole path, or give it a cwd',
  );
  return [...(isRelative ? [relative] : []), ...(options.isShared ? secretCautions(place, entry) : [])];
}

function secretCautions(place: string, entry: Readonly<Record<string, unknown>>): ConfigFinding[] {
  const { args, url, env, headers, oauth } = entry;
  const texts = Array.isArray(args) ? args.filter((arg) => typeof arg === 'string') : [];
  const inMap = (map: unknown, name: string, hint: string): ConfigFinding[] =>
    Object.entries(membersOf(map)).flatMap(([key, value]) =>
      holdsSecret(key, value) ? [caution(`${place}.${name}.${key}`, SECRET, hint)] : [],
    );
  return [
    ...(secretsInArguments(texts).length > 0 ? [caution(`${place}.args`, SECRET, KEEP)] : []),
    ...(typeof url === 'string' && secretsInText(url).length > 0 ? [caution(`${place}.url`, SECRET, KEEP)] : []),
    ...inMap(env, 'env', KEEP),
    ...inMap(headers, 'headers', NAME_IT),
    ...inMap(oauth, 'oauth', NAME_IT),
  ];
}

const SECRET = 'looks like a secret, in a file that others may read';
const KEEP = 'keep it in your own config file, and that to yourself: chmod 600';
const NAME_IT = `$\{NAME} stands for a variable of the environment`;

function holdsSecret(key: string, value: unknown): boolean {
  if (typeof value !== 'string' || value.includes('${') || PLAIN_WORD.test(value)) return false;
  return looksSecret(key) || secretsInText(value).length > 0;
}

function caution(place: string, problem: string, hint: string): ConfigFinding {
  return { level: 'warning', place, problem, hint };
}
