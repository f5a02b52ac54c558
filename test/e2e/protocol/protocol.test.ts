import { describe, test } from 'vitest';
import { WAYS, type Way } from '../../support/ways.ts';
import type { ProtocolScenario } from './scenario.ts';
import { PROTOCOL_SCENARIOS } from './scenarios.ts';

async function runIn(way: Way, { setup = {}, run }: ProtocolScenario): Promise<void> {
  const peer = await way.open(setup);
  try {
    await run(peer);
  } finally {
    await peer.stop();
  }
}

for (const way of WAYS) {
  describe(way.title, () => {
    const fitting = PROTOCOL_SCENARIOS.filter(({ needs = [] }) => needs.every((trait) => way.traits.includes(trait)));
    for (const scenario of fitting) test.concurrent(scenario.title, () => runIn(way, scenario));
  });
}
