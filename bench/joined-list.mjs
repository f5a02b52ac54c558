// Theme: the first list of all tools over twenty servers, of which one never answers, against the same without that one;
// and the next list, which is answered from what is known.
import { RawClient, Tally } from './raw-client.mjs';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { ECHO_CONFIG, startDaemon } from './subjects.mjs';
import { atMost } from './target.mjs';

const HEALTHY = 19;
const MUTE = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] };
const VIEW = { 'mcp-bridge/view': 'all' };

const healthy = Object.fromEntries(Array.from({ length: HEALTHY }, (_, index) => [`echo${index}`, ECHO_CONFIG]));
// The mute one comes first, so that nobody starts before it.
const SUBJECTS = { healthy, 'with one that is mute': { mute: MUTE, ...healthy } };

export async function measureJoinedList(workspace, { isQuick }) {
  const rounds = isQuick ? 3 : 7;
  const tally = new Tally();
  const firstMs = { healthy: [], 'with one that is mute': [] };
  const nextMs = { healthy: [], 'with one that is mute': [] };
  for (let round = -1; round < rounds; round++) {
    for (const name of shuffled(Object.keys(SUBJECTS))) {
      const [first, next] = await listTwice(workspace, SUBJECTS[name], tally);
      if (round < 0) continue;
      firstMs[name].push(first);
      nextMs[name].push(next);
    }
  }
  return theme({ firstMs, nextMs, rounds, tally });
}

/** In a daemon that knows nothing yet; two clients, one after the other. */
async function listTwice(workspace, servers, tally) {
  const daemon = await startDaemon(workspace, { servers });
  const times = [];
  for (let i = 0; i < 2; i++) times.push(await listOnce(daemon, tally));
  await workspace.end(daemon.child);
  return times;
}

async function listOnce({ path }, tally) {
  const client = new RawClient({ unix: path }, tally);
  await client.initialize(VIEW);
  const began = performance.now();
  const { tools } = await client.request('tools/list');
  const ms = performance.now() - began;
  if (tools.length < HEALTHY) tally.note('mismatches', `${tools.length} tools of ${HEALTHY} servers`);
  client.close();
  return ms;
}

function theme({ firstMs, nextMs, rounds, tally }) {
  const ratio = medianRatio(firstMs['with one that is mute'], firstMs.healthy);
  return {
    title: 'The first list of twenty servers',
    notes: [
      `Medians of ${rounds} interleaved rounds, each with daemons and servers of its own. The first list starts all servers; ` +
        'the next one is answered from what is known.',
    ],
    columns: ['servers', 'first list ms', 'next list ms'],
    rows: Object.keys(SUBJECTS).map((name) => [name, median(firstMs[name]), median(nextMs[name])]),
    targets: [
      atMost('first list with a server that never answers / without it', ratio, 1.2),
      atMost(
        'next list / first list, with a server that never answers',
        medianRatio(nextMs['with one that is mute'], firstMs['with one that is mute']),
        0.1,
      ),
    ],
    faults: tally.faults > 0 ? [tally.firstFault] : [],
    raw: { firstMs, nextMs },
  };
}
