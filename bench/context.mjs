// What one agent pays, in context and in memory: the tool definitions of eight recorded public servers, as a client gets
// them directly, in the view `all` and in the view `discover`; and the private memory of the relay that each agent has.
//   node bench/context.mjs [--build DIR]
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { privateKib } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { connectCommand, startDaemon } from './subjects.mjs';
import { inWorkspace, program } from './workspace.mjs';

/** What somebody who writes software might have: files, a repository, a browser, notes, a tracker, errors, a chat. */
const SERVERS = ['filesystem', 'git', 'github', 'memory', 'notion', 'playwright', 'sentry', 'slack'];
const RELAYS = 8;
const SETTLE_MS = 2000;
const WARM_UP_CALL = { name: 'search_tools', arguments: { query: 'take a picture of the page' } };

await inWorkspace(measure);

async function measure(workspace) {
  const servers = Object.fromEntries(
    SERVERS.map((name) => [name, { command: process.execPath, args: [program('recorded-server.mjs'), name] }]),
  );
  const daemon = await startDaemon(workspace, { servers });
  const tally = new Tally();
  const overConnect = async (view) => {
    const client = new RawClient({ command: connectCommand(workspace, daemon.path, view) }, tally, {
      takesNotifications: true,
    });
    await client.initialize();
    return client;
  };

  const [all, discover] = [await overConnect('all'), await overConnect('discover')];
  await discover.request('tools/call', WARM_UP_CALL); // starts every server, and waits for its list
  const lists = [
    ['direct, eight servers', SERVERS.flatMap(recordedTools)],
    ['bridge, view all', (await all.request('tools/list')).tools],
    ['bridge, view discover', (await discover.request('tools/list')).tools],
  ];
  console.log(`| definitions in an agent's context | tools | bytes | tokens |\n| --- | ---: | ---: | ---: |`);
  for (const [title, tools] of lists) {
    const text = JSON.stringify(tools);
    console.log(`| ${title} | ${tools.length} | ${Buffer.byteLength(text)} | ${countTokens(text)} |`);
  }

  const relays = [discover];
  while (relays.length < RELAYS) relays.push(await overConnect('discover'));
  for (const relay of relays) await relay.request('tools/list');
  await delay(SETTLE_MS);
  const relayMib = relays.map(({ pid }) => privateKib(pid) / 1024).sort((a, b) => a - b);
  console.log(`
| private memory (RssAnon) | MiB |\n| --- | ---: |
| one \`connect\`, the median of ${RELAYS} | ${relayMib[RELAYS / 2].toFixed(1)} |
| the daemon with them, after a search | ${(privateKib(daemon.pid) / 1024).toFixed(1)} |`);
  for (const client of [all, ...relays]) client.close();
  if (tally.faults > 0) throw new Error(`answers were wrong: ${tally.firstFault}`);
}

function recordedTools(name) {
  return JSON.parse(readFileSync(new URL(`search/tools/${name}.json`, import.meta.url), 'utf8')).tools;
}
