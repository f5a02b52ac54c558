// `mcp-bridge input`: stores values for the inputs that definitions ask for. A value is typed without being shown, and
// never printed.

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text as textFrom } from 'node:stream/consumers';
import { KeptInputs } from '../../discovery/inputs.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { DONE, interrupted } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { WhereValues } from '../locate.ts';
import { jsonText, printable, table } from '../render/table.ts';
import { hasPerson, widthOf } from '../render/terminal.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { survey } from '../survey.ts';

export interface InputValues extends WhereValues {
  readonly action: 'set' | 'list' | 'remove';
  readonly name?: string | undefined;
  readonly cwd?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function input(values: InputValues, host: CliHost): Promise<number> {
  const { action, name } = values;
  const kept = new KeptInputs(host.environment, host.homedir);
  if (action === 'list') return list(values, kept, host);
  if (name === undefined || name === '')
    throw new BridgeError('USAGE', 'Name an input, such as: mcp-bridge input set api-key', {
      hint: 'Which are missing: mcp-bridge input list',
    });
  if (action === 'remove') return remove(name, values, kept, host);
  await noteUnknown(name, values, kept, host);
  const value = await givenValue(name, host);
  if (value === '') throw new BridgeError('REQUEST_REFUSED', 'Nothing was kept: the value is empty');
  await kept.set(name, value);
  host.stdout.write(`${printable(name)} is kept in ${printable(kept.path)}, readable for you alone\n`);
  await reloadIfRunning(values, host);
  return DONE;
}

async function remove(name: string, values: InputValues, kept: KeptInputs, host: CliHost): Promise<number> {
  if (!(await kept.remove(name)))
    throw new BridgeError('REQUEST_REFUSED', `No value is kept for ${name}`, { hint: 'See: mcp-bridge input list' });
  host.stdout.write(`${printable(name)} is kept no more\n`);
  await reloadIfRunning(values, host);
  return DONE;
}

/** Warns about a name that no definition here asks for, before asking for the value: it may be mistyped. */
async function noteUnknown(name: string, values: InputValues, kept: KeptInputs, host: CliHost): Promise<void> {
  const missing = [...(await missingInputs(values, host)).keys()].sort();
  if (missing.includes(name) || kept.read().has(name)) return;
  const others = missing.length === 0 ? 'No input is missing' : `Missing: ${missing.join(', ')}`;
  host.stderr.write(`mcp-bridge: No server here asks for ${printable(name)}. ${printable(others)}\n`);
}

/** Reads the value: from a terminal without showing it, from a pipe without the last line end. */
async function givenValue(name: string, host: CliHost): Promise<string> {
  if (!hasPerson(host)) return (await textFrom(host.stdin)).replace(/\r?\n$/, '');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Turns off the terminal's echo, and asks only then, because a paste may arrive at once.
  const lines = createInterface({ input: host.stdin, output: silent, terminal: true });
  try {
    host.stdout.write(`${printable(name)}: `);
    return await new Promise<string>((resolve, reject) => {
      lines.once('SIGINT', () => reject(interrupted()));
      lines.once('close', () => resolve(''));
      lines.question('', resolve);
    });
  } finally {
    lines.close();
    host.stdout.write('\n');
  }
}

interface Listed {
  readonly name: string;
  readonly state: 'kept' | 'missing';
  /** The servers here that ask for it. */
  readonly servers: readonly string[];
}

/** The inputs without a value, with the servers here that ask for them. */
async function missingInputs(values: InputValues, host: CliHost): Promise<Map<string, string[]>> {
  const { servers } = (await survey(values, host)).discovery;
  const missing = new Map<string, string[]>();
  for (const { id, state, inputs } of servers)
    if (state === 'needs-input' || state === 'pending-approval')
      for (const name of inputs) missing.set(name, [...(missing.get(name) ?? []), id]);
  return missing;
}

async function list(values: InputValues, kept: KeptInputs, host: CliHost): Promise<number> {
  const missing = await missingInputs(values, host);
  const known = [...kept.read().keys()].filter((name) => !missing.has(name));
  const rows: Listed[] = [
    ...[...missing].map(([name, ids]): Listed => ({ name, state: 'missing', servers: ids })),
    ...known.map((name): Listed => ({ name, state: 'kept', servers: [] })),
  ];
  rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  if (values.json === true) {
    host.stdout.write(jsonText(rows));
    return DONE;
  }
  if (rows.length === 0) {
    host.stdout.write('No input is kept, and none is missing.\n');
    return DONE;
  }
  const cells = rows.map(({ name, state, servers: ids }) => [name, state, ids.join(', ')]);
  host.stdout.write(table(['INPUT', 'STATE', 'ASKED BY'], cells, { width: widthOf(host) }));
  if (missing.size > 0) host.stdout.write('\nTo give one: mcp-bridge input set INPUT\n');
  return DONE;
}
