// `mcp-bridge announce`: registers a server that cannot register itself, for as long as this command or the named
// process runs.

import { connect } from 'node:net';
import { livenessOf } from '../../local/process-identity.ts';
import { isPid } from '../../local/registered-server.ts';
import { KeptRegistration } from '../../registry/kept-registration.ts';
import { type Outcome, register, unregister } from '../../registry/registration.ts';
import { projectRegistry, userRegistry } from '../../registry/registry-places.ts';
import { runningServers } from '../../registry/running-servers.ts';
import { BridgeError, systemCode } from '../../util/bridge-error.ts';
import { systemClock } from '../../util/clock.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { printable, printableLines } from '../render/table.ts';
import { reloadIfRunning } from '../running-daemon.ts';

export interface AnnounceValues {
  readonly name: string;
  readonly url?: string | undefined;
  readonly pid?: string | undefined;
  readonly project?: boolean | undefined;
  readonly remove?: boolean | undefined;
}

export async function announce(values: AnnounceValues, host: CliHost): Promise<number> {
  const { name, url, project } = values;
  if (values.remove === true) return takeOut(values, host);
  if (url === undefined)
    throw new BridgeError('USAGE', 'Say where the server is', {
      hint: `Such as: mcp-bridge announce ${name} --url http://localhost:3000/mcp`,
    });
  const file = project === true ? projectRegistry(host.cwd) : userRegistry(host);
  const { pid, cwd } = host;
  const info = { name, url, pid: values.pid === undefined ? pid : livingPid(values.pid), startedAt: new Date() };
  const outcome = await register(info, { file, own: { pid, cwd }, isStrict: true });
  tell(outcome, host);
  const looking = Promise.all([
    tellIfNobodyListens(url, host),
    warnIfHidden(name, file, host),
    reloadIfRunning({}, host),
  ]);
  if (values.pid !== undefined) {
    host.stdout.write(`${printable(outcome.id)} is in ${printable(file)} until process ${info.pid} ends\n`);
    await looking;
    return DONE;
  }
  const kept = new KeptRegistration({
    info,
    change: { file, own: { pid, cwd }, isStrict: false },
    clock: systemClock,
    warn: (warning) => host.stderr.write(`mcp-bridge: ${printableLines(warning)}\n`),
  });
  const ended = untilEnded(host);
  await kept.start();
  host.stdout.write(`${printable(outcome.id)} is in ${printable(file)} until this command ends (Ctrl-C)\n`);
  await Promise.all([ended, looking]);
  await kept.end();
  return DONE;
}

/** Removes all entries with this name from the registry, whoever added them. */
async function takeOut({ name, pid, project }: AnnounceValues, host: CliHost): Promise<number> {
  const file = project === true ? projectRegistry(host.cwd) : userRegistry(host);
  const { servers } = await runningServers([{ scope: project === true ? 'project' : 'user', file }]);
  const meant = servers.filter((one) => one.name === name && (pid === undefined || String(one.pid) === pid));
  if (meant.length === 0)
    throw new BridgeError('SERVER_NOT_FOUND', `There is no ${name} in ${file}`, {
      hint: 'To see which there are: mcp-bridge servers --running',
    });
  for (const { id } of meant) {
    tell(await unregister(id, { file, own: { pid: host.pid, cwd: host.cwd }, isStrict: true }), host);
    host.stdout.write(`${printable(id)} is in ${printable(file)} no more\n`);
  }
  await reloadIfRunning({}, host);
  return DONE;
}

function livingPid(text: string): number {
  const pid = /^\d+$/.test(text) ? Number(text) : 0;
  if (!isPid(pid)) throw new BridgeError('USAGE', `${text} is no pid`, { hint: 'It is the number of a process.' });
  if (livenessOf({ pid }) === 'alive') return pid;
  throw new BridgeError('PROCESS_NOT_FOUND', `There is no process ${pid}`, {
    hint: 'Start the server first; without --pid, this command stands for it while it runs.',
  });
}

function tell({ warnings }: Outcome, { stderr }: CliHost): void {
  for (const warning of warnings) stderr.write(`mcp-bridge: ${printableLines(warning)}\n`);
}

/** Warns if another definition of the same name has precedence, so that nobody will see the announced server. */
async function warnIfHidden(name: string, file: string, host: CliHost): Promise<void> {
  const reason = await whyShadowed(name, file, host);
  if (reason === undefined) return;
  const told = `${name} is shadowed, and not used: ${reason}. Announce it under another name`;
  host.stderr.write(`mcp-bridge: ${printableLines(told)}\n`);
}

async function whyShadowed(name: string, file: string, host: CliHost): Promise<string | undefined> {
  const { survey } = await import('../survey.ts');
  try {
    const { servers } = (await survey({}, host)).discovery;
    return servers.find((server) => server.name === name && server.file === file && server.state === 'shadowed')
      ?.reason;
  } catch (error) {
    if (error instanceof BridgeError) return undefined; // the server is registered anyway, and this command needs no more
    throw error;
  }
}

/**
 * Warns if nothing listens at the URL. It is no error, because a server may come up later. It only connects and sends
 * nothing.
 */
async function tellIfNobodyListens(url: string, { stderr }: CliHost): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const why = await whyUnreachable(host, Number(port) || (['https:', 'wss:'].includes(protocol) ? 443 : 80));
  if (why === undefined) return;
  const where = printable(new URL(url).host);
  stderr.write(`mcp-bridge: Nothing can be reached at ${where} yet (${why}). It is registered all the same\n`);
}

const CONNECT_MS = 2000;

function whyUnreachable(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (why: string | undefined): void => {
      socket.destroy();
      resolve(why);
    };
    socket.setTimeout(CONNECT_MS, () => settle('no answer'));
    socket.once('connect', () => settle(undefined));
    socket.once('error', (error) => settle(systemCode(error) ?? error.message));
  });
}

const LONG_MS = 2 ** 30;

/** Waits for a signal. A timer keeps the process running, because signal handlers alone do not. */
function untilEnded(host: CliHost): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => undefined, LONG_MS);
    host.onEnd(() => {
      clearInterval(timer);
      resolve();
    });
  });
}
