import { describe, test } from 'vitest';
import { BRIDGES } from '../support/bridges.ts';
import { APPS } from './apps.ts';
import { CUT_RESULTS } from './cut-results.ts';
import { FIRST_AND_LAST_WORDS } from './first-and-last-words.ts';
import { DEFAULT_CONFIG, SCENARIOS } from './scenarios.ts';

describe.each(BRIDGES)('%s', (_, open) => {
  test.each([...SCENARIOS, ...FIRST_AND_LAST_WORDS, ...CUT_RESULTS, ...APPS])('$title', async (scenario) => {
    const bridge = await open(scenario.config ?? DEFAULT_CONFIG);
    try {
      await scenario.run(bridge);
    } finally {
      await bridge.stop();
    }
  });
});
