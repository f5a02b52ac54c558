// The bench: runs all themes one after another on this machine, prints them, and gives everything back.
//   node bench/run.mjs [--quick] [--only NAME] [--rounds N] [--build DIR] [--json FILE]
// It fails when an answer was wrong, and never because a speed was missed: other work may have the machine.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureEightByEight } from './eight-by-eight.mjs';
import { measureEras } from './eras.mjs';
import { measureFederation } from './federation.mjs';
import { measureHttp } from './http.mjs';
import { measureJoinedList } from './joined-list.mjs';
import { measureLatency } from './latency.mjs';
import { measureMemory } from './memory.mjs';
import { measureMetaTools } from './meta-tools.mjs';
import { printTheme } from './report.mjs';
import { measureStartup } from './startup.mjs';
import { verdictOf } from './target.mjs';
import { measureThroughput } from './throughput.mjs';
import { measureWatching } from './watching.mjs';
import { program, Workspace } from './workspace.mjs';

const THEMES = {
  startup: measureStartup,
  latency: measureLatency,
  throughput: measureThroughput,
  watching: measureWatching,
  eras: measureEras,
  http: measureHttp,
  federation: measureFederation,
  memory: measureMemory,
  eight: measureEightByEight,
  lists: measureJoinedList,
  discover: measureMetaTools,
};
/** Takes as long as all else does in a quick run. */
const NOT_QUICK = ['eight'];
const DONE = 0;
const WRONG = 1;
const INTERRUPTED = 130;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    build: { type: 'string', default: program('../dist') },
    json: { type: 'string' },
  },
});

const machine = { node: process.version, platform: process.platform, cores: cpus().length, cpu: cpus()[0]?.model };

function isWanted(name) {
  if (options.only !== undefined) return options.only === name;
  return !(options.quick && NOT_QUICK.includes(name));
}

async function measureAll(workspace) {
  const settings = { isQuick: options.quick, rounds: Number(options.rounds ?? (options.quick ? 3 : 9)) };
  const themes = [];
  for (const [name, measure] of Object.entries(THEMES)) {
    if (!isWanted(name)) continue;
    const theme = await measure(workspace, settings);
    printTheme(theme);
    themes.push({ name, ...theme });
  }
  return themes;
}

/** Prints what it comes to; returns the exit code. */
function conclude(themes, seconds) {
  const targets = themes.flatMap((theme) => theme.targets);
  const missed = targets.filter((target) => verdictOf(target) === 'MISSED');
  const faults = themes.flatMap((theme) => theme.faults);
  console.log(`\n${targets.length - missed.length} of ${targets.length} targets met, in ${Math.round(seconds)} s.`);
  for (const { what } of missed) console.log(`MISSED: ${what}`);
  console.log(faults.length === 0 ? 'All answers were right.' : `${faults.length} measurements had wrong answers.`);
  if (options.json !== undefined) {
    const verdicts = targets.map((target) => ({ ...target, verdict: verdictOf(target) }));
    writeFileSync(options.json, `${JSON.stringify({ machine, seconds, verdicts, themes }, undefined, 2)}\n`);
  }
  return faults.length === 0 ? DONE : WRONG;
}

const workspace = new Workspace(options.build);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => workspace.close().finally(() => process.exit(INTERRUPTED)));

let exitCode = WRONG;
try {
  console.log(`Node ${machine.node}, ${machine.cores} cores, ${machine.cpu}`);
  exitCode = conclude(await measureAll(workspace), performance.now() / 1000);
} catch (error) {
  console.error(`bench: ${error.message}`);
} finally {
  await workspace.close();
}
process.exit(exitCode);
