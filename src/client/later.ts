// The code that a client needs only while it has no daemon: to start one, to reconnect, and to tell the next one
// everything again. A connection loads it shortly after its start: it delays nobody then, and the package is still
// there (docs/adr/0042). For `connect` it is a bundle of its own, with its own copies of the classes. So each bundle
// must use the other's objects by their methods, never by `instanceof`.

import { ReconnectPolicy, reconnectLoop } from './reconnect-policy.ts';
import { failAll, replayToNewDaemon, sendWaiting, UnreadFrames } from './replay-to-new-daemon.ts';
import { SessionResumption } from './session-resumption.ts';
import { startDaemon } from './start-daemon.ts';

const CODE = {
  ...{ ReconnectPolicy, reconnectLoop, SessionResumption, UnreadFrames },
  ...{ failAll, replayToNewDaemon, sendWaiting, startDaemon },
};

export type LaterCode = typeof CODE;

/** Returns the code. The bundle of `connect` is read when this module is loaded, and compiled with the first call. */
export function laterCode(): LaterCode {
  return CODE;
}
