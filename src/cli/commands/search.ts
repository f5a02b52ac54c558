// `mcp-bridge search`: finds tools of all servers by what they do.

import type { ToolClient } from '../../client/tool-client.ts';
import { textOf } from '../../util/json-value.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { waitingFor } from '../render/spinner.ts';
import { printable, printJson, table } from '../render/table.ts';
import { tilde, widthOf } from '../render/terminal.ts';
import { ask, noteOf, recordsIn, type ToolCommandValues, withTools, wrongUsage } from '../tool-session.ts';

export interface SearchValues extends ToolCommandValues {
  readonly words?: readonly string[] | undefined;
  readonly server?: string | undefined;
  readonly limit?: string | undefined;
}

export async function search(values: SearchValues, host: CliHost): Promise<number> {
  const { words = [], server, limit } = values;
  const query = words.join(' ');
  if (query.trim() === '') throw wrongUsage('search', 'Say in words what you want to do');
  if (limit !== undefined && !/^[1-9]\d{0,5}$/.test(limit))
    throw wrongUsage('search', `--limit is a whole number from 1 to 999999, and not ${limit}`);
  const wanted = {
    query,
    ...(server !== undefined && { server }),
    ...(limit !== undefined && { limit: Number(limit) }),
  };
  const answer = await withTools(values, host, async (client, spinner) => {
    const unknown = new Unknown(client, server);
    if (spinner.isSeen) await unknown.look();
    return spinner.during(() => unknown.text(), ask(client, 'search_tools', wanted));
  });
  if (values.json === true) {
    printJson(answer, host);
    return DONE;
  }
  const results = recordsIn(answer.results);
  const hasNotes = results.some((result) => noteOf(result) !== '');
  const rows = results.map((result) => {
    const { server, tool, relevance, summary } = result;
    return [
      textOf(server),
      textOf(tool),
      typeof relevance === 'number' ? relevance.toFixed(2) : '',
      ...(hasNotes ? [noteOf(result)] : []),
      textOf(summary),
    ];
  });
  const text = table(['SERVER', 'TOOL', 'RELEVANCE', ...(hasNotes ? ['NOTE'] : []), 'SUMMARY'], rows, {
    width: widthOf(host),
  });
  const silent: readonly unknown[] = Array.isArray(answer.notKnownYet) ? answer.notKnownYet : [];
  for (const name of silent)
    host.stderr.write(`mcp-bridge: ${printable(textOf(name))} has not said yet what tools it has\n`);
  if (silent.length > 0) host.stderr.write('To have them asked now: mcp-bridge refresh\n');
  host.stdout.write(
    rows.length === 0 ? `No tool was found for: ${printable(query)}\nTo see all tools: mcp-bridge tools\n` : text,
  );
  host.stdout.write(await distinctionsOf(serversWithEqualTools(results), values, host));
  return DONE;
}

const LOOK_MS = 1_000;

/** The servers that the search waits for, as last seen. */
class Unknown {
  readonly #client: ToolClient;
  readonly #server: string | undefined;
  #names: readonly string[] = [];
  #atMs = 0;

  constructor(client: ToolClient, server: string | undefined) {
    this.#client = client;
    this.#server = server;
  }

  async look(): Promise<void> {
    this.#atMs = performance.now();
    const { servers } = await ask(this.#client, 'list_mcp_servers');
    const names = recordsIn(servers).flatMap(({ name, toolCount, status }) =>
      toolCount === null && status !== 'failed' ? textOf(name) : [],
    );
    this.#names = names.filter((name) => this.#server === undefined || name === this.#server).toSorted();
  }

  text(): string {
    // If no answer comes, the last one stays.
    if (performance.now() - this.#atMs > LOOK_MS) this.look().catch(() => undefined);
    return waitingFor(this.#names);
  }
}

type Found = Readonly<Record<string, unknown>>;

/** The servers whose tools have the same name and summary as another server's. */
function serversWithEqualTools(results: readonly Found[]): ReadonlySet<string> {
  const servers = new Map<string, Set<string>>();
  for (const { server, tool, summary } of results) {
    const looks = JSON.stringify([tool, summary]);
    servers.set(looks, (servers.get(looks) ?? new Set()).add(textOf(server)));
  }
  return new Set([...servers.values()].filter(({ size }) => size > 1).flatMap((names) => [...names]));
}

/** The differences between their definitions: command or URL, and directory. */
async function distinctionsOf(names: ReadonlySet<string>, values: SearchValues, host: CliHost): Promise<string> {
  if (names.size === 0) return '';
  const [{ survey }, { commandLine, shownLaunch }] = await Promise.all([
    import('../survey.ts'),
    import('../../discovery/shown-launch.ts'),
  ]);
  const { discovery } = await survey(values, host);
  const rows = discovery.servers
    .filter(({ id, state }) => state === 'ready' && names.has(id))
    .map((server) => {
      const launch = shownLaunch(server);
      const { cwd, url } = launch;
      const runs = server.transport === 'stdio' ? commandLine(launch) : (url ?? '');
      return [server.id, tilde(runs, host), cwd === undefined ? '' : tilde(cwd, host), server.description || ''];
    });
  if (rows.length < 2) return '';
  if (widthOf(host) !== undefined) withoutCommonWords(rows, RUNS);
  return `\nSeveral of these have the same tool. What the servers are:\n${table(['SERVER', 'RUNS', 'IN', 'DESCRIPTION'], rows, { width: widthOf(host) })}`;
}

const RUNS = 1;

/** Drops the words that all texts begin with: on a shortened line they would hide the words that differ. */
export function withoutCommonWords(rows: string[][], column: number): void {
  const lines = rows.map((row) => (row[column] ?? '').split(' '));
  const [first = []] = lines;
  const differsAt = first.findIndex((word, at) => lines.some((line) => line[at] !== word));
  const common = differsAt < 0 ? first.length : differsAt;
  if (common < 2 || lines.every((line) => line.length === common)) return;
  for (const [at, row] of rows.entries()) row[column] = ['…', ...(lines[at] ?? []).slice(common)].join(' ');
}
