// `mcp-bridge demo --hosts`: three hosts that meet over NATS and call each other; then one of each part is killed. Each
// step says what it will show, does it, and fails unless exactly that has happened.

import { messageOf } from '../../../util/bridge-error.ts';
import type { DemoClient } from './demo-client.ts';
import { hostsPicture } from './hosts-picture.ts';
import { type HostName, HostsStage } from './hosts-stage.ts';
import { demand, type Show } from './show.ts';

export { HostsStage };

export async function performHosts(stage: HostsStage, show: Show): Promise<void> {
  show.say('Three nats-servers, and three daemons that each have a home of their own.\nNothing of yours is touched.');
  await stage.open();

  await show.step('Three hosts meet');
  const all = ['example@build', 'example@lab'];
  await stage.until('laptop', 'the laptop sees both hosts', ({ uses }) => uses.join() === all.join());
  for (const name of ['build', 'lab'] as const)
    await stage.until(name, 'the owners see each other', ({ uses }) => uses.length === 1);
  show.say('build and lab offer their server `example`. laptop has no server of its own.');
  await draw(stage, show);

  await show.step('An agent on laptop calls servers of the other hosts');
  const agent = await stage.enter('agent');
  for (const name of ['build', 'lab'] as const) await callOn(name, agent, stage, show);
  await draw(stage, show);

  await show.step('A nats-server is killed');
  await loseNats(agent, stage, show);

  await show.step('A server is killed');
  await loseServer(agent, stage, show);

  await show.step('A daemon is killed, with all that it runs');
  await loseDaemon(agent, stage, show);

  show.say('');
  show.say(NEXT, '');
}

const NEXT = `What to do next:
  docs/federation.md                   a laptop and a server in five minutes
  mcp-bridge hosts                     the hosts that your daemon meets`;

async function draw(stage: HostsStage, show: Show): Promise<void> {
  show.draw(hostsPicture(stage.nats, await stage.look(), show.colours));
}

/** Calls the server of one host; returns the pid of the process that answered. */
async function callOn(name: HostName, agent: DemoClient, stage: HostsStage, show: Show): Promise<number> {
  const answer = await visit(agent, `example@${name}`, show);
  const { server } = await stage.lookAt(name);
  demand(server !== undefined && server === answer, `the process of ${name} answers`);
  return server;
}

async function visit(agent: DemoClient, server: string, show: Show): Promise<number> {
  const said = await agent.use('execute_tool', { server, tool: 'visitors', arguments: {} });
  show.say(`agent calls visitors of ${server}: ${said}`);
  return pidIn(said);
}

function pidIn(said: string): number {
  return Number(/process (\d+): \d+$/.exec(said)?.[1]);
}

async function loseNats(agent: DemoClient, stage: HostsStage, show: Show): Promise<void> {
  const { nats: before } = await stage.lookAt('laptop');
  const server = stage.nats.find(({ name }) => name === before);
  demand(server !== undefined, 'the laptop is connected to a nats-server');
  server.kill();
  show.say(`kill -9 ${server.pid}, which is ${server.name}: laptop is connected to it`);
  const { nats } = await stage.until(
    'laptop',
    'another nats-server takes its place',
    (view) => view.nats !== undefined && view.nats !== before,
  );
  show.say(`laptop goes on by ${nats}`);
  for (const name of ['build', 'lab'] as const) await callOn(name, agent, stage, show);
  await draw(stage, show);
}

async function loseServer(agent: DemoClient, stage: HostsStage, show: Show): Promise<void> {
  const { server } = await stage.lookAt('build');
  demand(server !== undefined, 'a server runs on build');
  process.kill(server, 'SIGKILL');
  show.say(`kill -9 ${server}, which is the server on build`);
  await stage.until('build', 'build notices', (view) => view.server !== server);
  const next = await callOn('build', agent, stage, show);
  demand(next !== server, 'another process takes the place of the one that was killed');
  show.say(`build has started process ${next} in its place`);
}

async function loseDaemon(agent: DemoClient, stage: HostsStage, show: Show): Promise<void> {
  const { daemon } = await stage.lookAt('build');
  stage.killDaemon('build');
  show.say(`kill -9 ${daemon}, which is the daemon of build`);
  await stage.until('laptop', 'the laptop hears nothing of build', ({ answering }) => !answering.includes('build'));
  const refused = await refusalOf(agent, 'example@build');
  show.say(`agent calls visitors of example@build:\n  ${refused}`);
  demand(refused.includes('example@build'), 'a host that is gone answers nothing, and the agent hears why');
  const anywhere = await stage.enter('other-agent', ['--server', 'example']);
  const said = await anywhere.use('visitors', {});
  show.say(`other-agent calls visitors of example, on any host:\n  ${said}`);
  demand(pidIn(said) === (await stage.lookAt('lab')).server, 'any host that offers it answers to the name alone');
  const beganMs = performance.now();
  await stage.until('laptop', 'the lists forget a host that is gone', ({ uses }) => uses.join() === 'example@lab');
  show.say(`build has left the lists, ${Math.round((performance.now() - beganMs) / 1000)} s later`);
  await draw(stage, show);
}

/** The error that the agent gets. */
async function refusalOf(agent: DemoClient, server: string): Promise<string> {
  try {
    return await agent.use('execute_tool', { server, tool: 'visitors', arguments: {} });
  } catch (error) {
    return messageOf(error).replace(/^MCP error -?\d+: /, '');
  }
}
