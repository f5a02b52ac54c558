// A server that comes and goes: it registers, stays a while, unregisters, again and again, and says so on stdout. What it
// says holds: `in` once it stands in the registry, `out` before it is taken out.
import { setTimeout as delay } from 'node:timers/promises';
import { registerServer, unregisterServer } from '../dist/registry.js';

const [file, mostMs = '200'] = process.argv.slice(2);
const say = (word) => new Promise((resolve) => process.stdout.write(`${word}\n`, resolve));
const pause = () => delay(Math.random() * Number(mostMs));

for (;;) {
  const { id, warnings, isDone } = await registerServer({ name: 'churn', port: 40_000 }, { file });
  if (!isDone || warnings.length > 0) await say(`warn ${warnings.join(' ')}`);
  if (isDone) await say(`in ${id}`);
  await pause();
  await say(`out ${id}`);
  const left = await unregisterServer(id, { file });
  if (!left.isDone || left.warnings.length > 0) await say(`warn ${left.warnings.join(' ')}`);
  await pause();
}
