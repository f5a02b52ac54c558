import { afterAll, describe, test } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import { type OpenedTogether, type Peer, WAYS, type Way } from '../../support/ways.ts';
import type { ProtocolScenario } from './scenario.ts';
import { PROTOCOL_SCENARIOS } from './scenarios.ts';

/** The scenario has clients of its own, which go with it. */
async function runAt({ connect }: Pick<Peer, 'connect'>, scenario: ProtocolScenario): Promise<void> {
  const clients: McpClient[] = [];
  const connectOwn = async (): Promise<McpClient> => {
    const client = await connect();
    clients.push(client);
    return client;
  };
  try {
    await scenario.run({ connect: connectOwn, stop: () => Promise.resolve() });
  } finally {
    for (const { raw } of clients) raw.destroy();
  }
}

interface Runner {
  run(scenario: ProtocolScenario): Promise<void>;
  stop(): Promise<void>;
}

/** One bridge for all scenarios: those that are independent share a server, and each other one has one of its own. */
class OneBridge implements Runner {
  readonly #openTogether: () => Promise<OpenedTogether>;
  readonly #own: readonly ProtocolScenario[];
  #opened: Promise<OpenedTogether> | undefined;

  constructor(way: Way & Required<Pick<Way, 'openTogether'>>, scenarios: readonly ProtocolScenario[]) {
    this.#own = scenarios.filter(({ isIndependent }) => isIndependent !== true);
    const setups = [{}, ...this.#own.map(({ setup = {} }) => setup)];
    this.#openTogether = () => way.openTogether(setups);
  }

  async run(scenario: ProtocolScenario): Promise<void> {
    this.#opened ??= this.#openTogether();
    const { peers } = await this.#opened;
    const peer = peers[1 + this.#own.indexOf(scenario)]; // the first one for those that are independent
    if (peer === undefined) throw new Error('There is no server for the scenario');
    await runAt(peer, scenario);
  }

  async stop(): Promise<void> {
    await (await this.#opened)?.stop();
  }
}

/** A bridge for each scenario. Those that are independent share one, if clients share a process of the server there. */
class ManyBridges implements Runner {
  readonly #way: Way;
  #shared: Promise<Peer> | undefined;

  constructor(way: Way) {
    this.#way = way;
  }

  async run(scenario: ProtocolScenario): Promise<void> {
    // Without a bridge each client has a process of its own anyway.
    if (scenario.isIndependent === true && this.#way.traits.includes('sharing')) {
      this.#shared ??= this.#way.open({});
      return runAt(await this.#shared, scenario);
    }
    const peer = await this.#way.open(scenario.setup ?? {});
    try {
      await scenario.run(peer);
    } finally {
      await peer.stop();
    }
  }

  async stop(): Promise<void> {
    await (await this.#shared)?.stop();
  }
}

function runnerFor(way: Way, scenarios: readonly ProtocolScenario[]): Runner {
  const { openTogether } = way;
  return openTogether === undefined ? new ManyBridges(way) : new OneBridge({ ...way, openTogether }, scenarios);
}

for (const way of WAYS) {
  describe(way.title, () => {
    const fitting = PROTOCOL_SCENARIOS.filter(({ needs = [] }) => needs.every((trait) => way.traits.includes(trait)));
    const runner = runnerFor(way, fitting);
    afterAll(() => runner.stop());
    for (const scenario of fitting) test.concurrent(scenario.title, () => runner.run(scenario));
  });
}
