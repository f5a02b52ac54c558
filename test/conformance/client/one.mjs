// Runs one client scenario, `one.mjs REVISION SCENARIO [without-handshake]`, and prints all that the suite says of it.
import { fileURLToPath } from 'node:url';
import { installation } from '../installation.mjs';
import { Suite } from '../suite.mjs';
import { Workspace } from '../workspace.mjs';

const CLIENT = fileURLToPath(new URL('main.mjs', import.meta.url));
const [revision, scenario, ...words] = process.argv.slice(2);

const workspace = new Workspace();
try {
  const suite = new Suite(workspace, await installation(workspace));
  const { isGood, said } = await suite.runClient(scenario, revision, [process.execPath, CLIENT, ...words].join(' '));
  console.log(said);
  process.exitCode = isGood ? 0 : 1;
} finally {
  await workspace.close();
}
