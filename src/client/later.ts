// The code that a client needs only while it has no daemon: to start one, to come back to one, and to tell the next one
// everything again. A connection loads it shortly after its start, when it is in nobody's way and the package is still
// there (docs/adr/0042). For `connect` it is a bundle of its own: it has copies of the classes of the other, so it must know their
// objects by their methods and never by `instanceof`.

import { ReconnectPolicy, reconnectLoop } from './reconnect-policy.ts';
import { failAll, replayToNewDaemon, sendWaiting, UnreadFrames } from './replay-to-new-daemon.ts';
import { SessionResumption } from './session-resumption.ts';
import { startDaemon } from './start-daemon.ts';

const CODE = {
  ...{ ReconnectPolicy, reconnectLoop, SessionResumption, UnreadFrames },
  ...{ failAll, replayToNewDaemon, sendWaiting, startDaemon },
};

export type LaterCode = typeof CODE;

/** The code. The bundle of `connect` is read when this module is loaded, and compiled with the first call. */
export function laterCode(): LaterCode {
  return CODE;
}
