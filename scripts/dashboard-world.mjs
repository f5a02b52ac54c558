// A small office for pictures and trials of the dashboard: a real daemon in a home of its own, servers that are real processes, and
// clients that call them. `node scripts/dashboard-world.mjs` runs one and prints the environment to use it with; Ctrl-C ends it.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const PROGRAM = join(ROOT, 'dist/mcp-bridge.cjs');
const OFFICIAL = join(ROOT, 'node_modules/@modelcontextprotocol');

/** A server over stdio whose tools are what its first argument says. A tool takes its time, and may fail. */
const STAND_IN = `
import { createInterface } from 'node:readline';
const { name, tools } = JSON.parse(process.argv[2]);
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
console.error(name + ': ready with ' + tools.length + ' tools');
let calls = 0;
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: '1.4.0' } } });
  if (method === 'tools/list') return send({ id, result: { tools: tools.map(({ ms, bytes, fails, ...tool }) => tool) } });
  if (method !== 'tools/call') return id !== undefined && send({ id, result: {} });
  const tool = tools.find((one) => one.name === params.name) ?? tools[0];
  const isError = tool.fails > 0 && ++calls % tool.fails === 0;
  if (isError) console.error(name + ': ' + tool.name + ' failed: upstream said 429, retry in 2 s');
  const text = isError ? 'rate limited' : 'x'.repeat(tool.bytes ?? 200);
  setTimeout(() => send({ id, result: { content: [{ type: 'text', text }], ...(isError && { isError }) } }), tool.ms * (0.5 + Math.random()));
});
`;

const text = (description) => ({ type: 'string', description });
const schema = (properties, ...required) => ({ type: 'object', properties, required });
const SERVERS = {
  github: [
    {
      name: 'search_issues',
      description: 'Search issues and pull requests of a repository',
      inputSchema: schema(
        {
          query: text('Words, or filters such as is:open'),
          repository: text('OWNER/NAME'),
          limit: { type: 'integer', default: 20 },
        },
        'query',
      ),
      ms: 180,
      bytes: 4200,
    },
    {
      name: 'get_file',
      description: 'Read a file of a repository',
      inputSchema: schema(
        { repository: text('OWNER/NAME'), path: text('The path in the repository') },
        'repository',
        'path',
      ),
      ms: 120,
      bytes: 9000,
    },
    {
      name: 'merge_pull_request',
      description: 'Merge a pull request',
      annotations: { destructiveHint: true },
      inputSchema: schema(
        { number: { type: 'integer' }, method: { type: 'string', enum: ['merge', 'squash', 'rebase'] } },
        'number',
      ),
      ms: 420,
      bytes: 300,
      fails: 9,
    },
  ],
  postgres: [
    {
      name: 'query',
      description: 'Run a read-only SQL query',
      annotations: { readOnlyHint: true },
      inputSchema: schema({ sql: text('One statement') }, 'sql'),
      ms: 45,
      bytes: 2400,
      fails: 31,
    },
    {
      name: 'describe_table',
      description: 'Show the columns of a table',
      annotations: { readOnlyHint: true },
      inputSchema: schema({ table: text('The table') }, 'table'),
      ms: 12,
      bytes: 900,
    },
  ],
  tickets: [
    {
      name: 'list_tickets',
      description: 'List the open tickets of a team',
      inputSchema: schema({ team: text('The team') }),
      ms: 240,
      bytes: 3100,
    },
    {
      name: 'comment',
      description: 'Write a comment on a ticket',
      inputSchema: schema({ ticket: text('Such as SHOP-12'), body: text('Markdown') }, 'ticket', 'body'),
      ms: 330,
      bytes: 160,
    },
  ],
  search: [
    {
      name: 'web_search',
      description: 'Search the web',
      inputSchema: schema({ query: text('What to look for') }, 'query'),
      ms: 850,
      bytes: 12000,
    },
  ],
  metrics: [
    {
      name: 'range_query',
      description: 'Query metrics over a time',
      inputSchema: schema({ expression: text('PromQL'), minutes: { type: 'number', default: 15 } }, 'expression'),
      ms: 70,
      bytes: 6400,
    },
  ],
};
const CLIENTS = [
  ['claude-code', 'all', 3],
  ['codex', 'all', 2],
  ['cursor', 'discover', 1],
  ['zed', 'all', 1],
  ['release-bot', 'server:github', 4],
];

export async function openWorld({ perSecond = 14 } = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-bridge-office-')));
  const socket = join(home, 'bridge.sock');
  const project = join(home, 'shop');
  mkdirSync(join(project, '.cursor'), { recursive: true });
  mkdirSync(join(home, '.config/mcp-bridge'), { recursive: true });
  writeFileSync(join(project, 'notes.txt'), 'The shop opens at nine.\n');
  writeFileSync(join(home, 'stand-in.mjs'), STAND_IN);
  const node = process.execPath;
  const standIn = ([name, tools]) => [
    name,
    { command: node, args: [join(home, 'stand-in.mjs'), JSON.stringify({ name, tools })] },
  ];
  const official = (name, ...args) => ({
    command: node,
    args: [join(OFFICIAL, `server-${name}/dist/index.js`), ...args],
  });
  const mcpServers = {
    ...Object.fromEntries(Object.entries(SERVERS).map(standIn)),
    files: official('filesystem', project),
    memory: { ...official('memory'), env: { MEMORY_FILE_PATH: join(home, 'memory.json') } },
    thinking: official('sequential-thinking'),
    everything: official('everything', 'stdio'),
    legacy: { command: node, args: ['-e', 'console.error("legacy: cannot read /etc/legacy.key"); process.exit(1)'] },
  };
  const config = { mcpServers, audit: {} };
  writeFileSync(join(home, '.config/mcp-bridge/config.json'), JSON.stringify(config, null, 2));
  // Somebody else's project brings a server, which waits for approval.
  const theirs = {
    mcpServers: {
      'shop-catalog': {
        command: 'npx',
        args: ['-y', '@shop/catalog-mcp@2.1.0', '--stage', 'test'],
        env: { CATALOG_STAGE: 'test' },
      },
    },
  };
  writeFileSync(join(project, '.cursor/mcp.json'), JSON.stringify(theirs, null, 2));
  const environment = { ...process.env, HOME: home, MCP_BRIDGE_SOCKET: socket };
  for (const name of Object.keys(environment)) if (name.startsWith('XDG_')) delete environment[name];
  const daemon = await startDaemon(environment, project);
  const world = { home, project, socket, environment, daemon, clients: [], isOpen: true };
  const listed = spawn(node, [PROGRAM, 'refresh'], { env: environment, cwd: project, stdio: 'ignore' });
  await new Promise((resolve) => listed.once('exit', resolve));
  for (const [name, view, number] of CLIENTS)
    for (let i = 1; i <= number; i++)
      world.clients.push(await client(world, number === 1 ? name : `${name}-${i}`, name, view));
  const timer = setInterval(() => {
    const one = world.clients[Math.floor(Math.random() * world.clients.length)];
    one.act();
  }, 1000 / perSecond);
  world.close = async () => {
    world.isOpen = false;
    clearInterval(timer);
    for (const one of world.clients) one.socket.destroy();
    world.daemon.kill('SIGTERM');
    await new Promise((resolve) => world.daemon.once('exit', resolve));
    rmSync(home, { recursive: true, force: true });
  };
  world.restart = async () => {
    world.daemon.kill('SIGTERM');
    await new Promise((resolve) => world.daemon.once('exit', resolve));
    world.daemon = await startDaemon(environment, project);
  };
  return world;
}

function startDaemon(environment, cwd) {
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: environment,
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let log = '';
    child.stderr.on('data', (chunk) => {
      log += chunk;
      if (log.includes('listening on')) resolve(child);
    });
    child.once('exit', (code) => reject(new Error(`The daemon ended with ${code}: ${log}`)));
  });
}

/** A client on the socket, which calls whatever its view has. */
async function client({ socket: path, project }, clientId, name, view) {
  const socket = connect(path);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => undefined);
  let id = 0;
  const open = new Map();
  let kept = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (kept + chunk).split('\n');
    kept = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.method === undefined) {
        open.get(message.id)?.(message.result);
        open.delete(message.id);
      } else if (message.id !== undefined)
        socket.write(
          `${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: message.method === 'roots/list' ? { roots: [] } : {} })}\n`,
        );
    }
  });
  const request = (method, params) =>
    new Promise((resolve) => {
      open.set(++id, resolve);
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const _meta = {
    'mcp-bridge/view': view,
    'mcp-bridge/clientId': clientId,
    'mcp-bridge/cwd': project,
    'mcp-bridge/accepts': true,
    'mcp-bridge/mailbox': true,
  };
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name, version: '2.3.1' },
    _meta,
  });
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  const prefix = view.startsWith('server:') ? view.slice(7) : undefined;
  const targets = Object.entries(SERVERS).flatMap(([server, tools]) => tools.map((tool) => [server, tool.name]));
  const act = () => {
    const usable = targets.filter(([server]) => prefix === undefined || server === prefix);
    const [server, tool] = usable[Math.floor(Math.random() ** 1.6 * usable.length)];
    const args = {
      query: 'socket',
      sql: 'select 1',
      table: 'orders',
      expression: 'up',
      team: 'shop',
      ticket: 'SHOP-12',
      body: 'Done.',
      path: 'README.md',
      repository: 'shop/web',
      number: 7,
    };
    if (view === 'discover')
      return request('tools/call', { name: 'execute_tool', arguments: { server, tool, arguments: args } });
    return request('tools/call', { name: prefix === undefined ? `${server}__${tool}` : tool, arguments: args });
  };
  return { clientId, socket, request, act };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const world = await openWorld();
  process.stdout.write(`${JSON.stringify({ home: world.home, socket: world.socket, project: world.project })}\n`);
  process.on('SIGUSR2', () => void world.restart());
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void world.close().then(() => process.exit(0)));
}
