// After each file of tests: no daemon is left running, no directory in the way.

import { afterAll, expect } from 'vitest';
import { cleanUp } from './test-daemon.ts';

afterAll(() => {
  expect(cleanUp(), 'daemons that were left running').toEqual([]);
});
