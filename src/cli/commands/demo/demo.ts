// `mcp-bridge demo`: shows the bridge with real clients, a real daemon and a real server. Each step says what it will
// show, does it, and fails unless exactly that has happened.

import { membersOf, textOf } from '../../../util/json-value.ts';
import { DONE, INTERRUPTED } from '../../exit-code.ts';
import type { CliHost } from '../../host.ts';
import { recordsIn } from '../../tool-session.ts';
import type { DemoClient } from './demo-client.ts';
import { demand, Show } from './show.ts';
import { Stage } from './stage.ts';

interface DemoValues {
  readonly hosts?: boolean | undefined;
}

export async function demo({ hosts }: DemoValues, host: CliHost): Promise<number> {
  if (hosts === true) {
    const { HostsStage, performHosts } = await import('./hosts-demo.ts');
    return play(host, new HostsStage(host), performHosts);
  }
  return play(host, new Stage(host), perform);
}

interface Playable {
  /** Ends everything, at any point of the demonstration. */
  close(): Promise<void>;
}

async function play<S extends Playable>(
  host: CliHost,
  stage: S,
  story: (stage: S, show: Show) => Promise<void>,
): Promise<number> {
  const interrupted = new Promise<typeof INTERRUPTED>((resolve) => host.onEnd(() => resolve(INTERRUPTED)));
  const show = new Show(host);
  try {
    const shown = story(stage, show).then(() => DONE);
    shown.catch(() => undefined); // an interrupted demonstration fails where it stands
    const code = await Promise.race([shown, interrupted]);
    if (code === INTERRUPTED) show.stop();
    return code;
  } finally {
    await stage.close();
  }
}

async function perform(stage: Stage, show: Show): Promise<void> {
  show.say('Real clients, a real daemon and a real server, on a socket of their own: nothing of yours is touched.');
  await stage.open();
  const { pid } = await stage.status();
  show.say(`The daemon is process ${pid}, at ${stage.socketPath}`);
  const [writer, reviewer, tester] = await Promise.all(
    ['writer', 'reviewer', 'tester'].map((name) => stage.enter(name)),
  );
  demand(writer !== undefined && reviewer !== undefined && tester !== undefined, 'three clients connect');
  const clients = [writer, reviewer, tester];

  await show.step('Three clients share one server');
  for (const client of clients)
    show.say(`${client.name} is connected by its own \`mcp-bridge connect\` (pid ${client.pid})`);
  const server = await shareServer(clients, stage, show);

  await show.step('A client searches the tools of all servers by what they do');
  await search(writer, show);

  await show.step('It calls what it has found');
  const sum = await writer.call('add', { a: 20, b: 22 });
  show.say(`writer calls add {a: 20, b: 22}: ${sum}`);
  demand(sum === '42', 'the server adds');

  await show.step('Two clients speak to each other');
  await converse(writer, reviewer, show);

  await show.step('The server is killed');
  process.kill(server, 'SIGKILL');
  show.say(`kill -9 ${server}`);
  await stage.untilGone(server);
  const next = await shareServer(clients, stage, show);
  demand(next !== server, 'another process takes the place of the one that was killed');
  show.say(`No client was cut off: process ${next} has taken the place of ${server}`);
  show.say('What the server had in memory, such as its count, is gone');

  show.say('');
  show.say(NEXT, '');
}

const NEXT = `What to do next:
  mcp-bridge discover                  the servers that your clients have already
  mcp-bridge install                   the clients that the bridge can be put into
  mcp-bridge install NAME --dry-run    what would change in the config of one
  mcp-bridge doctor                    whether all is well`;

/** Each client asks which process answers. Returns the pid if it is the same one for all. */
async function shareServer(clients: readonly DemoClient[], stage: Stage, show: Show): Promise<number> {
  const pids = new Set<number>();
  for (const [i, client] of clients.entries()) {
    const said = await client.call('visitors');
    const [, pid, calls] = /process (\d+): (\d+)$/.exec(said) ?? [];
    show.say(`${client.name} calls visitors: ${said}`);
    demand(Number(calls) === i + 1, 'one process has counted the calls of all');
    pids.add(Number(pid));
  }
  const [pid = 0] = pids;
  const running = (await stage.status()).instances.filter((instance) => instance.pid !== null);
  demand(pids.size === 1 && running.length === 1 && running[0]?.pid === pid, 'one process serves all');
  show.say(`One process, ${pid}, serves all ${clients.length}`);
  return pid;
}

async function search(client: DemoClient, show: Show): Promise<void> {
  const query = 'sum of two numbers';
  const { results } = membersOf(JSON.parse(await client.use('search_tools', { query })));
  const [best] = recordsIn(results);
  show.say(`${client.name} searches for '${query}'`);
  show.say(`found: ${textOf(best?.tool)} of the server ${textOf(best?.server)}: ${textOf(best?.summary)}`);
  demand(best?.tool === 'add', 'the search finds the tool that adds');
}

async function converse(from: DemoClient, to: DemoClient, show: Show): Promise<void> {
  const text = 'The sum is 42. Please check it.';
  await from.use('send_message', { to: to.name, text });
  show.say(`${from.name} writes to ${to.name}: ${text}`);
  const { messages } = membersOf(JSON.parse(await to.use('read_messages', { wait: 5 })));
  const [letter] = recordsIn(messages);
  show.say(`${to.name} reads a message from ${textOf(letter?.from)}: ${textOf(letter?.text)}`);
  demand(letter?.from === from.name && letter?.text === text, 'the message arrives as it was sent');
}
