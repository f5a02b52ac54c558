// The official conformance suite: runs all server scenarios of one revision against a URL, or one client scenario against a
// command, and reads what they found.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SUITE_TIMEOUT_MS = 170_000;
const SCENARIO_TIMEOUT_MS = 20_000;
const LIST_TIMEOUT_MS = 30_000;
const CLIENT_TIMEOUT_MS = 60_000;

export class Suite {
  #workspace;
  #node;
  #program;
  #revision;

  constructor(workspace, { node, suite }, revision) {
    this.#revision = revision;
    this.#workspace = workspace;
    this.#node = node;
    this.#program = suite;
  }

  /** The names of the scenarios that a server must pass. */
  required() {
    return this.#listed(/^Server scenarios.*\n((?: {2}- .*\n)+)/m, this.#revision);
  }

  /** The names of the scenarios that a client must pass. */
  requiredOfClients(revision) {
    return this.#listed(/^Client scenarios.*\n((?: {2}- .*\n)+)/m, revision);
  }

  async #listed(pattern, revision) {
    const { stdout } = await this.#run(['list', '--requirements', revision], LIST_TIMEOUT_MS);
    const [, listed] = pattern.exec(stdout) ?? [];
    if (listed === undefined) throw new Error(`The suite lists no scenarios: ${stdout}`);
    return listed
      .trimEnd()
      .split('\n')
      .map((line) => line.replace('  - ', ''));
  }

  /** Runs all of them, and those that are not scored. Resolves to the checks of each scenario. */
  async run(url) {
    const dir = this.#workspace.newDir('checks');
    const wanted = ['--url', url, '--requirements', this.#revision, '--timeout', String(SCENARIO_TIMEOUT_MS)];
    // Its exit code says whether it is content, which is for the comparison to say.
    const { stderr } = await this.#run(['server', ...wanted, '--output-dir', dir], SUITE_TIMEOUT_MS);
    const found = resultsIn(dir);
    if (found.size === 0) throw new Error(`The suite has run nothing. ${stderr}`);
    return found;
  }

  /** Has a command be the client of one scenario. Resolves to whether it has passed, and to all that was said of it. */
  async runClient(scenario, revision, command) {
    const wanted = ['--scenario', scenario, '--spec-version', revision, '--timeout', String(SCENARIO_TIMEOUT_MS)];
    const { code, stdout, stderr } = await this.#run(['client', '--command', command, ...wanted], CLIENT_TIMEOUT_MS);
    return { isGood: code === 0, said: `${stdout}${stderr}` };
  }

  #run(args, timeoutMs) {
    return this.#workspace.run(this.#node, [this.#program, ...args], timeoutMs);
  }
}

/** Each scenario has a directory, `server-NAME-TIME`. One that has broken the suite off has no checks in it. */
function resultsIn(dir) {
  const found = new Map();
  for (const entry of readdirSync(dir)) {
    const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    const file = join(dir, entry, 'checks.json');
    if (name !== undefined && existsSync(file)) found.set(name, JSON.parse(readFileSync(file, 'utf8')));
  }
  return found;
}
