import { describe, test } from 'vitest';
import { WAYS } from '../../support/ways.ts';
import { PROTOCOL_SCENARIOS } from './scenarios.ts';

describe.each(WAYS)('$title', ({ traits, open }) => {
  const fitting = PROTOCOL_SCENARIOS.filter(({ needs = [] }) => needs.every((trait) => traits.includes(trait)));
  test.concurrent.each(fitting)('$title', async ({ setup, run }) => {
    const peer = await open(setup ?? {});
    try {
      await run(peer);
    } finally {
      await peer.stop();
    }
  });
});
