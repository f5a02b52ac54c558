// The suite's client scenarios of both revisions, each with a bridge between the suite's server and a client: a table of what has
// passed, and in full what has not.
import { fileURLToPath } from 'node:url';
import { printTable } from './report.mjs';

const REVISIONS = ['2025-11-25', '2026-07-28'];
const CLIENT = fileURLToPath(new URL('client/main.mjs', import.meta.url));
/** Few at a time: some scenarios measure how long a client waits. */
const AT_ONCE = 2;

export class ClientScenarios {
  #suite;
  #outcomes = [];

  constructor(suite) {
    this.#suite = suite;
  }

  /** True if all have passed. */
  get isGood() {
    return this.#outcomes.length > 0 && this.#failures.length === 0;
  }

  get #failures() {
    return this.#outcomes.filter(({ isGood }) => !isGood);
  }

  /** Runs all of them, and prints how they ended. */
  async run() {
    console.log('\nRunning the suite: the bridge as a client');
    const wanted = [];
    for (const revision of REVISIONS)
      for (const scenario of await this.#suite.requiredOfClients(revision)) wanted.push({ revision, scenario });
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#runEach(wanted)));
    this.#print();
  }

  /** Takes one after the other, until there are no more. */
  async #runEach(wanted) {
    for (let next = wanted.shift(); next !== undefined; next = wanted.shift()) {
      const command = `${process.execPath} ${CLIENT}`;
      this.#outcomes.push({ ...next, ...(await this.#suite.runClient(next.scenario, next.revision, command)) });
    }
  }

  #print() {
    for (const { revision, scenario, said } of this.#failures)
      console.log(`\n${scenario}, ${revision}, does not pass:\n${said}`);
    const scenarios = [...new Set(this.#outcomes.map(({ scenario }) => scenario))];
    console.log();
    printTable([['as a client', ...REVISIONS], ...scenarios.map((scenario) => this.#row(scenario))]);
    const sums = REVISIONS.map((revision) => {
      const outcomes = this.#outcomes.filter((outcome) => outcome.revision === revision);
      return `${outcomes.filter(({ isGood }) => isGood).length} of ${outcomes.length} of ${revision}`;
    });
    console.log(`As a client the bridge passes ${sums.join(', ')}.`);
  }

  #row(scenario) {
    const cells = REVISIONS.map((revision) => {
      const outcome = this.#outcomes.find((one) => one.scenario === scenario && one.revision === revision);
      if (outcome === undefined) return '-';
      return outcome.isGood ? 'pass' : 'FAIL';
    });
    return [scenario, ...cells];
  }
}
