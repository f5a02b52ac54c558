// Some of the simulated hosts of many-hosts.mjs: each is a real Federation with a connection of its own to NATS. Its servers are functions that
// answer `server/discover` and `tools/list`. Told by messages from its parent what to do.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const [, , library, natsUrl] = process.argv;
const { Federation, FlushTurn, Places, ReadPacer, DEFAULT_LIMITS, systemClock } = require(library);

const META = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public' };
const DISCOVERED = {
  ...META,
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  serverInfo: { name: 'simulated', version: '1' },
};

const tally = { listed: 0, open: 0, mostOpen: 0, refused: 0 };
const hosts = [];
const turn = new FlushTurn(setImmediate);

/** Tools that look like those of servers that people run. */
function toolsOf(server, count) {
  return Array.from({ length: count }, (_, i) => ({
    name: `tool_${i}`,
    description: `Reads item ${i} of ${server}, and says what is in it, since when, and who has changed it last`,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The path of the item' },
        limit: { type: 'number', description: 'The most lines that are read' },
      },
      required: ['path'],
    },
  }));
}

function accept(link, view, toolCount) {
  const server = view.slice('server:'.length);
  const answer = (id, result) => {
    link.streams.answering(id);
    link.outbox.utf8(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(id), result }));
    link.outbox.endFrame();
  };
  link.start({
    frame: (b, start, end) => {
      const { id, method } = JSON.parse(b.toString('utf8', start, end));
      if (id === undefined) return;
      if (method === 'server/discover') return answer(JSON.stringify(id), DISCOVERED);
      if (method !== 'tools/list') return; // it listens for as long as it likes
      tally.listed++;
      tally.open++;
      tally.mostOpen = Math.max(tally.mostOpen, tally.open);
      setImmediate(() => {
        tally.open--;
        answer(JSON.stringify(id), { ...META, tools: toolsOf(server, toolCount) });
      });
    },
    overflowed: () => undefined,
    badFrame: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
    drained: () => undefined,
  });
}

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function join({ host, servers, tools }) {
  const nats = {
    servers: [natsUrl],
    ...{
      credentials: undefined,
      user: undefined,
      password: undefined,
      token: undefined,
      nkey: undefined,
      tls: undefined,
    },
  };
  let told = 0;
  const federation = new Federation({
    settings: {
      nats,
      tenant: 'acme',
      user: 'sim',
      host,
      offer: ['*'],
      use: ['*'],
      agents: [],
      hasBulkConnection: false,
    },
    ...{
      clock: systemClock,
      turn,
      limits: DEFAULT_LIMITS,
      pacer: new ReadPacer(),
      places: new Places(DEFAULT_LIMITS),
      version: '1',
      uid: 1,
      logger: quiet,
    },
    ...{ kept: undefined, keep: () => undefined },
    accept: (link, _, view) => accept(link, view, tools),
    refusalOf: () => undefined,
    trustsHints: () => false,
    changed: () => told++,
    refused: () => tally.refused++,
    failed: (error) => process.send({ failed: String(error) }),
  });
  federation.offer(
    Array.from({ length: servers }, (_, i) => ({
      name: `${host}-s${i}`,
      description: `Server ${i} of ${host}`,
      mark: `mark${i}`,
      ...{ sharing: undefined, nature: undefined },
    })),
  );
  hosts.push({ federation, told: () => told });
}

const orders = {
  join: ({ all }) => {
    for (const one of all) join(one);
    return {};
  },
  /** The number of servers that each host knows of others, the least of all. */
  known: () => ({ least: Math.min(...hosts.map(({ federation }) => federation.servers.size)), hosts: hosts.length }),
  offerMore: ({ name }) => {
    const [{ federation }] = hosts;
    federation.offer([{ name, description: '', mark: 'm', sharing: undefined, nature: undefined }]);
    return {};
  },
  tally: () => {
    const { heapUsed, rss } = process.memoryUsage();
    return { ...tally, heapUsed, rss, told: hosts.reduce((sum, { told }) => sum + told(), 0), cpu: process.cpuUsage() };
  },
  close: async () => {
    await Promise.all(hosts.map(({ federation }) => federation.close()));
    return {};
  },
};

process.on('message', async ({ id, order, ...rest }) => {
  process.send({ id, ...(await orders[order](rest)) });
});
process.on('disconnect', () => process.exit(0));
