// What a run prints: a row for each scenario, each difference in full, and one last line.
import { complaints, differences, failures, isOfHttp, outcome } from './comparison.mjs';

/**
 * A column is a place where the suite was run, once or several times at once: `{ name, runs, hasNeighbours, crosses }`.
 * The first is what the others are compared with. What the suite runs but does not require is left out where clients have
 * neighbours: it counts every message that a client gets. In a column that crosses from one era to the other only the
 * outcome of each check is compared, and what cannot hold there is listed in `crossings`.
 */
export class Report {
  #columns;
  #required;
  #crossings;
  #scenarios;
  #differences;

  constructor(columns, required, crossings = []) {
    this.#crossings = crossings;
    this.#columns = columns;
    this.#required = required;
    this.#scenarios = [...new Set([...required, ...columns.flatMap(({ runs }) => [...runs[0].keys()])])];
    this.#differences = this.#scenarios.flatMap((scenario) => this.#differencesOf(scenario));
  }

  get isGood() {
    return this.#failures.length + this.#differences.length + this.#held.length === 0;
  }

  print() {
    const names = this.#columns.map(({ name }) => name);
    printTable([['scenario', ...names, 'same'], ...this.#scenarios.map((scenario) => this.#row(scenario))]);
    for (const { scenario, column, check, wanted, found, said } of this.#differences)
      console.log(`\n${scenario}, ${check}\n  ${names[0]}: ${wanted}\n  ${column}: ${found}${said ? `: ${said}` : ''}`);
    for (const { scenario, check } of this.#held)
      console.log(`\n${scenario}, ${check}: it is listed as one that cannot hold, and it does`);
    for (const scenario of this.#failures)
      console.log(`\n${scenario} does not pass ${names[0]}: ${complaints(this.#wanted(scenario))}`);
  }

  printSummary() {
    const checks = this.#scenarios.reduce((sum, scenario) => sum + this.#wanted(scenario).length, 0);
    const meant = this.#crossings.length;
    console.log(
      `${this.#scenarios.length} scenarios (${this.#required.length} required), ${checks} checks, ` +
        `${this.#differences.length} differences, and ${meant} that are meant`,
    );
  }

  /** The listed checks that hold after all, so that the list stays true. */
  get #held() {
    const crossing = this.#columns.slice(1).filter(({ crosses }) => crosses);
    return this.#crossings.filter(({ scenario, check }) =>
      crossing.every((column) => !this.#all(scenario, column).some((difference) => difference.check === check)),
    );
  }

  /** The required scenarios that do not pass in the first column: nothing can be said of the others then. */
  get #failures() {
    return this.#required.filter((scenario) => outcome(this.#wanted(scenario)) !== 'pass');
  }

  #wanted(scenario) {
    return this.#columns[0].runs[0].get(scenario) ?? [];
  }

  #row(scenario) {
    const cells = this.#columns.map(({ runs }) => {
      const outcomes = new Set(runs.map((run) => outcome(run.get(scenario) ?? [])));
      return [...outcomes].join(', ');
    });
    const isSame = this.#differences.every((difference) => difference.scenario !== scenario);
    return [scenario, ...cells, isSame ? 'yes' : 'NO'];
  }

  #differencesOf(scenario) {
    const isRequired = this.#required.includes(scenario);
    return this.#columns
      .slice(1)
      .filter(({ hasNeighbours }) => isRequired || isOfHttp(scenario) || !hasNeighbours)
      .filter(({ crosses }) => isRequired || !crosses)
      .flatMap((column) => this.#all(scenario, column).filter(({ check }) => !this.#isMeant(column, scenario, check)));
  }

  #isMeant({ crosses }, scenario, check) {
    return crosses === true && this.#crossings.some((one) => one.scenario === scenario && one.check === check);
  }

  #all(scenario, { name, runs, ...column }) {
    const how = { ...column, polls: scenario.startsWith('tasks-') };
    const inRun = (run) => {
      const found = run.get(scenario) ?? [];
      return isOfHttp(scenario) ? failures(found) : differences(this.#wanted(scenario), found, how);
    };
    return runs.flatMap((run) => inRun(run).map((difference) => ({ scenario, column: name, ...difference })));
  }
}

export function printTable(rows) {
  const widths = rows[0].map((_, index) => Math.max(...rows.map((row) => row[index].length)));
  const lineOf = (row) => row.map((cell, index) => cell.padEnd(widths[index])).join(' | ');
  for (const row of rows) console.log(lineOf(row).trimEnd());
}
