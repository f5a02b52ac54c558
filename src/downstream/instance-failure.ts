// The errors for a server that does not run, in words for people: it could not be started, it ended, or it ended so
// often that it is not started for a while. They contain no secrets: a server's texts come through `ServerConnection`.

import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Limits } from '../model/limits.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import type { ServerConnection } from './connection.ts';
import { originOf } from './remote-failure.ts';

/** The longest part of a server's last line in a message. */
const LONGEST_REASON = 200;

/** The error for a start that failed in a system call. */
export function refusedStart(definition: ServerDefinition, error: unknown): BridgeError {
  if (error instanceof BridgeError) return error;
  const { name } = definition;
  const options = { server: name, hint: remedyFor(definition), cause: error };
  const how = systemCode(error) ?? messageOf(error);
  return new BridgeError('SERVER_START_FAILED', `Server ${name} could not be started: ${how}`, options);
}

/**
 * The error for a server that ended, or was given up, before it answered `initialize`. `cwd` is the daemon's directory.
 */
export function startFailure(
  definition: ServerDefinition,
  connection: Pick<ServerConnection, 'failure' | 'lastWords' | 'lastLine'>,
  { how, cwd }: { readonly how: string; readonly cwd: string },
): BridgeError {
  if (connection.failure !== undefined) return connection.failure;
  const { name } = definition;
  const missing = missingIn(definition, how, cwd);
  if (missing !== undefined)
    return new BridgeError('SERVER_START_FAILED', `Server ${name} ${missing}`, { server: name });
  const lastWords = connection.lastWords();
  const remedy = remedyFor(definition);
  // Many clients show only the message.
  const why = connection.lastLine().slice(0, LONGEST_REASON) || remedy;
  const isAllSaid = lastWords === '' || lastWords === why;
  const options = isAllSaid ? { server: name } : { server: name, hint: `Its last words were: ${lastWords}` };
  return new BridgeError('SERVER_START_FAILED', `Server ${name} ${how}: ${why}`, options);
}

/** The missing file, because the system call only says ENOENT. */
function missingIn(definition: ServerDefinition, how: string, bridgeDir: string): string | undefined {
  if (definition.transport !== 'stdio' || !how.endsWith(': ENOENT')) return undefined;
  const { command, cwd = definition.dir } = definition;
  const not = how.slice(0, -'ENOENT'.length);
  if (cwd !== undefined && !existsSync(cwd)) return `${not}its directory does not exist: ${cwd}`;
  if (!command.includes('/')) return `${not}there is no program ${command} on the PATH of the bridge; ${PATH_REMEDY}`;
  const dir = cwd ?? bridgeDir;
  if (existsSync(resolve(dir, command))) return `${not}the interpreter that ${command} names is not there`;
  return `${not}there is no program ${command}${isAbsolute(command) ? '' : ` in ${dir}`}`;
}

const PATH_REMEDY = 'mcp-bridge restart gives it that of your shell';

function remedyFor(definition: ServerDefinition): string {
  if (definition.transport === 'dial-in') return 'Check the output of its program.';
  if (definition.transport === 'bus') return 'See: mcp-bridge hosts';
  if (definition.transport !== 'stdio') return `Check its url, at ${originOf(definition.url)}`;
  return `Check its command: ${definition.command}`;
}

/** The error for calls that were under way when a server ended. */
export function crash({ name, transport }: ServerDefinition, how: string): BridgeError {
  return new BridgeError('SERVER_CRASHED', `Server ${name} ${how} during the call; its outcome is unknown`, {
    server: name,
    hint: comebackOf(transport),
  });
}

function comebackOf(transport: ServerDefinition['transport']): string {
  if (transport === 'dial-in') return 'It is there again once it has connected again.';
  if (transport === 'bus') return 'The next call reaches it again, if its host is there.';
  return 'The next call starts the server again.';
}

/** The error for a server that dies again and again. */
export function brokenServer(name: string, lastError: string | undefined, limits: Limits): BridgeError {
  const { maxDeathsPerMinute, brokenMs } = limits;
  const message = `Server ${name} has died ${maxDeathsPerMinute} times within a minute: ${lastError}`;
  const hint = `A call starts it again ${brokenMs / 1000} s after it last died.`;
  return new BridgeError('SERVER_BROKEN', message, { server: name, hint });
}

/** The error for a server that was ended because of an error in the bridge. */
export function ownFault(definition: ServerDefinition): BridgeError {
  const { name } = definition;
  return new BridgeError('SERVER_CRASHED', `Server ${name} was ended because of an error in the bridge`, {
    server: name,
    hint: 'See the log of the daemon: mcp-bridge logs',
  });
}

export function shuttingDown(): BridgeError {
  return new BridgeError('SHUTTING_DOWN', 'The bridge is shutting down');
}
