// Three nats-servers in one cluster on loopback, with JetStream: the ground on which hosts meet. They end with the workspace.
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const COUNT = 3;

async function freePorts() {
  const servers = Array.from({ length: COUNT }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  return ports;
}

/** Resolves to { url, pid } of each once all take connections; undefined where there is no nats-server. */
export async function startCluster(workspace) {
  const routes = await freePorts();
  const servers = await Promise.all(routes.map((port, i) => start(workspace, `n${i + 1}`, port, routes)));
  return servers.includes(undefined) ? undefined : servers;
}

function start(workspace, name, routePort, routes) {
  const dir = workspace.newPath('nats');
  mkdirSync(dir);
  const file = join(dir, 'nats.conf');
  const others = routes.map((port) => `"nats://127.0.0.1:${port}"`).join();
  writeFileSync(
    file,
    `server_name: ${name}\nlisten: "127.0.0.1:-1"\njetstream { store_dir: "${dir}" }\n` +
      `cluster { name: bench, listen: "127.0.0.1:${routePort}", routes: [${others}] }\n`,
  );
  const child = workspace.spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    let log = '';
    child.once('error', () => resolve(undefined));
    child.once('exit', () => reject(new Error(`nats-server has ended: ${log.slice(-500)}`)));
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      if (log.includes('Server is ready')) return;
      log += chunk;
      if (!log.includes('Server is ready')) return;
      const [, port] = /client connections on 127\.0\.0\.1:(\d+)/.exec(log);
      resolve({ url: `nats://127.0.0.1:${port}`, pid: child.pid });
    });
  });
}
