// All scenarios by their themes: a name that says what happens, and what makes it happen. A scenario is given a place of
// its own; it resolves to its figure, or throws.
import { costly } from './costly.mjs';
import { faults } from './faults.mjs';
import { files } from './files.mjs';
import { flow } from './flow.mjs';
import { hosts } from './hosts.mjs';
import { hostsChurn } from './hosts-churn.mjs';
import { hostsStill } from './hosts-still.mjs';
import { http } from './http.mjs';
import { httpClients } from './http-clients.mjs';
import { httpRestarts } from './http-restarts.mjs';
import { neighbours } from './neighbours.mjs';
import { processes } from './processes.mjs';
import { protocol } from './protocol.mjs';
import { random } from './random.mjs';
import { resuming } from './resuming.mjs';
import { soak } from './soak.mjs';
import { startAndStop } from './start-and-stop.mjs';

export const themes = {
  'start and stop': startAndStop,
  files,
  flow: { ...flow, ...costly },
  neighbours,
  processes,
  http: { ...http, ...httpClients, ...httpRestarts },
  'other hosts': { ...hosts, ...hostsChurn, ...hostsStill },
  protocol,
  resuming,
  faults,
  soak,
  random,
};
