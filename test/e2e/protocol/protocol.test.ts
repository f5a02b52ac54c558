import { afterAll, describe, test } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import { type Peer, WAYS, type Way } from '../../support/ways.ts';
import type { ProtocolScenario } from './scenario.ts';
import { PROTOCOL_SCENARIOS } from './scenarios.ts';

async function runAlone(way: Way, { setup = {}, run }: ProtocolScenario): Promise<void> {
  const peer = await way.open(setup);
  try {
    await run(peer);
  } finally {
    await peer.stop();
  }
}

/** One bridge for all scenarios that see nothing of each other; each one has clients of its own, which go with it. */
class SharedPeer {
  readonly #way: Way;
  #opened: Promise<Peer> | undefined;

  constructor(way: Way) {
    this.#way = way;
  }

  async run(scenario: ProtocolScenario): Promise<void> {
    this.#opened ??= this.#way.open({});
    const peer = await this.#opened;
    const clients: McpClient[] = [];
    const connect = async (): Promise<McpClient> => {
      const client = await peer.connect();
      clients.push(client);
      return client;
    };
    try {
      await scenario.run({ connect, stop: () => Promise.resolve() });
    } finally {
      for (const { raw } of clients) raw.destroy();
    }
  }

  async stop(): Promise<void> {
    await (await this.#opened)?.stop();
  }
}

for (const way of WAYS) {
  describe(way.title, () => {
    const shared = new SharedPeer(way);
    afterAll(() => shared.stop());
    // Without a bridge each client has a process of its own anyway.
    const mayShare = way.traits.includes('sharing');
    const fitting = PROTOCOL_SCENARIOS.filter(({ needs = [] }) => needs.every((trait) => way.traits.includes(trait)));
    for (const scenario of fitting)
      test.concurrent(scenario.title, () =>
        mayShare && scenario.isIndependent === true ? shared.run(scenario) : runAlone(way, scenario),
      );
  });
}
