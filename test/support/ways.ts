// The six ways in which a scenario of the protocol is run: with the server itself, so that it is proved to describe MCP
// and not the bridge; with the bridge in front of it, reached in three ways; and with it as one server among others in the
// views `all` and `discover`, where its tools are run by `execute_tool`.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { BRIDGES, type OpenBridge } from './bridges.ts';
import { type Item, McpClient, type McpClientOptions } from './mcp-client.ts';
import { RawClient } from './raw-client.ts';
import { fixtureServer, ROOT } from './test-daemon.ts';

/** What a way may have, and a scenario may need. */
export type Trait =
  /** Clients share one process of the server. */
  | 'sharing'
  /** The client sees the server's own names, capabilities and answers. */
  | 'transparency'
  /** There are other servers beside it. */
  | 'company'
  /** Its tools are in `tools/list`. */
  | 'listing';

/** How the server is set up. */
export interface Setup {
  readonly env?: Readonly<Record<string, string>>;
  readonly sharing?: 'shared' | 'dedicated';
}

export interface Peer {
  /** A client that has said nothing yet. */
  connect(): Promise<McpClient>;
  stop(): Promise<void>;
}

export interface Way {
  readonly title: string;
  readonly traits: readonly Trait[];
  open(setup: Setup): Promise<Peer>;
  /** Opens one bridge with a server for each of these; a way has it where clients can choose the server that they see. */
  openTogether?(setups: readonly Setup[]): Promise<OpenedTogether>;
}

export interface OpenedTogether {
  /** One for each setup. */
  readonly peers: readonly Pick<Peer, 'connect'>[];
  stop(): Promise<void>;
}

const FULL = join(ROOT, 'test/fixtures/servers/full.mjs');

const direct: Way = {
  title: 'direct',
  traits: ['transparency', 'listing'],
  open({ env = {} }) {
    const exits: Promise<unknown>[] = [];
    const clients: RawClient[] = [];
    const connect = (): McpClient => {
      const child = spawn(process.execPath, [FULL], {
        env: { ...process.env, ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      exits.push(new Promise((resolve) => child.once('exit', resolve)));
      const raw = new RawClient(child.stdout, child.stdin);
      clients.push(raw);
      return new McpClient(raw, { prefix: '' });
    };
    const stop = async (): Promise<void> => {
      for (const client of clients) client.end();
      await Promise.all(exits);
    };
    return Promise.resolve({ connect: () => Promise.resolve(connect()), stop });
  },
};

const fullServer = ({ env = {}, sharing }: Setup): object => ({
  command: process.execPath,
  args: [FULL],
  env,
  ...(sharing === undefined ? {} : { sharing }),
});

async function openBridge(open: OpenBridge, config: object, options: McpClientOptions): Promise<Peer> {
  const bridge = await open(config);
  return {
    connect: async () => new McpClient(await bridge.connect(), options),
    stop: () => bridge.stop(),
  };
}

/** A server that nobody uses any more ends soon: there are many of them. */
const IDLE_MS = 5000;

async function openTogether(open: OpenBridge, setups: readonly Setup[]): Promise<OpenedTogether> {
  const servers = setups.map((setup, i) => {
    const name = `s${i}`;
    const env = { ...setup.env, FULL_PLACE: name }; // what is known of one definition is known of each that is the same
    return [name, { ...fullServer({ ...setup, env }), idleMs: IDLE_MS }] as const;
  });
  const bridge = await open({ mcpServers: Object.fromEntries(servers) });
  const peers = servers.map(([name]) => ({
    connect: async () =>
      new McpClient(await bridge.connect(), { prefix: '', meta: { 'mcp-bridge/view': `server:${name}` } }),
  }));
  return { peers, stop: () => bridge.stop() };
}

const through: readonly Way[] = BRIDGES.map(([title, open]) => ({
  title,
  traits: ['sharing', 'transparency', 'listing'],
  open: (setup) => openBridge(open, { mcpServers: { fixture: fullServer(setup) } }, { prefix: '' }),
  openTogether: (setups) => openTogether(open, setups),
}));

/** The other ways show that the way to the bridge makes no difference. */
const inMemory = BRIDGES.find(([title]) => title === 'in memory')?.[1];

/** As one server among others. */
function amongOthers(setup: Setup, view: string, options: Omit<McpClientOptions, 'prefix' | 'meta'>): Promise<Peer> {
  if (inMemory === undefined) throw new Error('There is no bridge in memory');
  const second = fullServer({ env: { FULL_NAME: 'second' } });
  const mcpServers = { fixture: fullServer(setup), second, third: fixtureServer() };
  return openBridge(inMemory, { mcpServers }, { prefix: 'fixture__', meta: { 'mcp-bridge/view': view }, ...options });
}

const inAll: Way = {
  title: 'in all',
  traits: ['sharing', 'company', 'listing'],
  open: (setup) => amongOthers(setup, 'all', { isWhole: hasBoth }),
};

const inDiscover: Way = {
  title: 'in discover',
  traits: ['sharing', 'company'],
  open: (setup) => amongOthers(setup, 'discover', { isWhole: hasOwnOrBoth, executes: 'fixture' }),
};

/** Its list of tools is that of one server. */
function hasOwnOrBoth(items: readonly Item[]): boolean {
  return hasBoth(items) || (items.length > 0 && items.every(({ name }) => name?.startsWith('fixture__') === true));
}

/** What `second` has too goes by its own name once the first is known to have it. */
function hasBoth(items: readonly Item[]): boolean {
  const keys = items.map(({ name, uri, uriTemplate }) => uri ?? uriTemplate ?? name ?? '');
  return (
    keys.some((key) => /^(second__|mcp-bridge:\/\/second\/)/.test(key)) &&
    keys.some((key) => /^(fixture__|test:)/.test(key))
  );
}

export const WAYS: readonly Way[] = [direct, ...through, inAll, inDiscover];
