// The suite's client scenarios of both revisions, each with a bridge between the suite's server and a client: a table of what has
// passed, and in full what has not. Behind the bridge is a client with a handshake, and in the last column one without.
import { fileURLToPath } from 'node:url';
import { printTable } from './report.mjs';

const CLIENT = fileURLToPath(new URL('client/main.mjs', import.meta.url));
/** The columns: a revision of the suite's servers, and the words that tell the client how to speak. */
const COLUMNS = [
  { name: '2025-11-25', revision: '2025-11-25', words: [] },
  { name: '2026-07-28', revision: '2026-07-28', words: [] },
  { name: '2026-07-28 both', revision: '2026-07-28', words: ['without-handshake'] },
];
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
    for (const column of COLUMNS)
      for (const scenario of await this.#suite.requiredOfClients(column.revision)) wanted.push({ column, scenario });
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#runEach(wanted)));
    this.#print();
  }

  /** Takes one after the other, until there are no more. */
  async #runEach(wanted) {
    for (let next = wanted.shift(); next !== undefined; next = wanted.shift()) {
      const { scenario, column } = next;
      const command = [process.execPath, CLIENT, ...column.words].join(' ');
      this.#outcomes.push({ ...next, ...(await this.#suite.runClient(scenario, column.revision, command)) });
    }
  }

  #print() {
    for (const { column, scenario, said } of this.#failures)
      console.log(`\n${scenario}, ${column.name}, does not pass:\n${said}`);
    const scenarios = [...new Set(this.#outcomes.map(({ scenario }) => scenario))];
    const names = COLUMNS.map(({ name }) => name);
    console.log();
    printTable([['as a client', ...names], ...scenarios.map((scenario) => this.#row(scenario))]);
    const sums = COLUMNS.map((column) => {
      const outcomes = this.#outcomes.filter((outcome) => outcome.column === column);
      return `${outcomes.filter(({ isGood }) => isGood).length} of ${outcomes.length} of ${column.name}`;
    });
    console.log(`As a client the bridge passes ${sums.join(', ')}.`);
  }

  #row(scenario) {
    const cells = COLUMNS.map((column) => {
      const outcome = this.#outcomes.find((one) => one.scenario === scenario && one.column === column);
      if (outcome === undefined) return '-';
      return outcome.isGood ? 'pass' : 'FAIL';
    });
    return [scenario, ...cells];
  }
}
