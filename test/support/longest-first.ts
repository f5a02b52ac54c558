// The order of the files. What takes longest comes first, or one worker would idle while the other ends the last long file.
// A new clone does not know how long a file took the last time; these are the ones that matter.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest file first. Those that mostly wait come before those that mostly work, as two files run at a time. */
const LONGEST = [
  'integration/torture',
  'e2e/protocol/protocol',
  'e2e/scenarios',
  'integration/package',
  'integration/restarting',
  'integration/neighbours',
  'integration/dead-servers',
  'integration/lasting-clients',
  'integration/unread-letters',
].map((name) => `/test/${name}.test.ts`);

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return rank < 0 ? LONGEST.length : rank;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
