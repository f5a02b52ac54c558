// `make torture`: each scenario has real processes, prints one line with a figure, and leaves nothing behind.
//   node test/torture/run.mjs [--short] [--minutes=N] [NAME…]    a short form for CI, some of them alone, and random ones for longer
import { setTimeout as delay } from 'node:timers/promises';
import { NotRun, Place } from './place.mjs';
import { themes } from './scenarios.mjs';

/** A scenario that takes longer has failed. */
const LONGEST_MS = 600_000;

const given = process.argv.slice(2);
const isShort = given.includes('--short');
const minutesGiven = given.find((word) => word.startsWith('--minutes='))?.slice('--minutes='.length);
const minutes = minutesGiven === undefined ? undefined : Number(minutesGiven);
const names = given.filter((word) => !word.startsWith('--'));

const tally = { passed: 0, failed: 0, notRun: 0 };
const WORDS = { passed: 'ok     ', failed: 'FAILED ', notRun: 'not run' };

/** One line: what it is called, and what came out of it. */
async function run(name, scenario) {
  const place = new Place({ isShort });
  const began = performance.now();
  let outcome = 'passed';
  let said;
  try {
    const late = delay(LONGEST_MS + (minutes ?? 0) * 60_000, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('took too long')),
    );
    said = await Promise.race([scenario(place, { isShort, minutes }), late]);
  } catch (error) {
    outcome = error instanceof NotRun ? 'notRun' : 'failed';
    said = error.message;
  }
  const left = await place.close();
  if (left.length > 0 && outcome !== 'failed') {
    outcome = 'failed';
    said = `left running: ${left.join('; ')}`;
  }
  tally[outcome]++;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${WORDS[outcome]} ${name}: ${said} (${seconds} s)`);
}

for (const [theme, scenarios] of Object.entries(themes)) {
  const chosen = Object.entries(scenarios).filter(([name]) => names.length === 0 || names.includes(name));
  if (chosen.length > 0) console.log(`\n${theme}`);
  for (const [name, scenario] of chosen) await run(name, scenario);
}
const { passed, failed, notRun } = tally;
console.log(`\n${passed} passed, ${failed} failed, ${notRun} not run`);
process.exit(failed === 0 && passed + notRun > 0 ? 0 : 1); // whatever a scenario that failed has left open
