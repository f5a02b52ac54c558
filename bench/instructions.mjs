// What the events of a call cost while nobody hears them, and what tracing costs, in instructions instead of time: valgrind counts what a
// daemon executes for the same calls, outside the kernel. What else runs on the machine changes nothing in it.
// It needs valgrind, and takes some minutes.
//   node bench/instructions.mjs [--build DIR]
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { quantile } from './statistics.mjs';
import { startDaemon, VIEW } from './subjects.mjs';
import { silentBuild } from './watching.mjs';
import { inWorkspace, program } from './workspace.mjs';

const WARM_UP = 400;
const BATCHES = 200;
const ROUNDS = 6;
/** Calls that are written at once, and answered before the next ones are written. */
const CALLS = 128;

/** One client that sends batches of calls. */
class Batches {
  #socket;
  #id = 0;
  #lines = 0;
  #wanted = 0;
  #done = () => undefined;

  constructor(path) {
    this.#socket = createConnection(path);
    this.#socket.on('data', (chunk) => {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) this.#lines++;
      if (this.#lines >= this.#wanted) this.#done();
    });
  }

  #send(lines) {
    this.#lines = 0;
    this.#wanted = lines.filter((line) => 'id' in line).length;
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.write(lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''));
    });
  }

  begin() {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, _meta: VIEW };
    return this.#send([{ id: ++this.#id, method: 'initialize', params }, { method: 'notifications/initialized' }]);
  }

  async run(batches) {
    const text = 'x'.repeat(100);
    for (let i = 0; i < batches; i++)
      await this.#send(
        Array.from({ length: CALLS }, () => ({
          id: ++this.#id,
          method: 'tools/call',
          params: { name: 'echo', arguments: { text } },
        })),
      );
  }

  end() {
    this.#socket.destroy();
  }
}

/** Instructions a call, one figure for each round. */
async function measure(workspace, how = {}) {
  const out = workspace.newPath('callgrind');
  const grind = `exec valgrind -q --tool=callgrind --instr-atstart=no --smc-check=all-non-file --callgrind-out-file=${out}`;
  const prefix = ['bash', '-c', `${grind} "$0" --single-threaded "$@"`];
  const daemon = await startDaemon(workspace, { prefix, ...how });
  const control = (...args) => execFileSync('callgrind_control', [...args, String(daemon.pid)], { stdio: 'pipe' });
  const client = new Batches(daemon.path);
  await client.begin();
  await client.run(WARM_UP);
  control('-i', 'on');
  await client.run(WARM_UP);
  const figures = [];
  for (let round = 0; round < ROUNDS; round++) {
    control('-z');
    await client.run(BATCHES);
    control('-d');
  }
  client.end();
  const dir = dirname(out);
  for (const name of readdirSync(dir)) {
    if (!join(dir, name).startsWith(`${out}.`)) continue;
    const totals = /^(?:totals|summary): (\d+)/m.exec(readFileSync(join(dir, name), 'utf8'));
    if (totals) figures.push(Number(totals[1]) / BATCHES / CALLS);
  }
  return figures;
}

const median = (figures) => quantile(figures, 0.5).toFixed(0);

await inWorkspace(async (workspace) => {
  console.log('| instructions a call, median of the rounds | |\n| --- | ---: |');
  console.log(`| with the events, which nobody hears | ${median(await measure(workspace))} |`);
  const sink = workspace.spawn(process.execPath, [program('otlp-sink.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(sink.stdout, 'data');
  const telemetry = { otlp: { endpoint: `http://127.0.0.1:${`${port}`.trim()}` }, sampling: 0.01 };
  console.log(
    `| with metrics, and 1 % of the traces | ${median(await measure(workspace, { settings: { telemetry } }))} |`,
  );
  const silent = silentBuild(workspace);
  // Twice: the difference between both says how much a difference means.
  for (let i = 0; i < 2; i++) console.log(`| without them | ${median(await measure(workspace, { build: silent }))} |`);
});
