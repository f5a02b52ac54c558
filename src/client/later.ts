// The code that a client needs only while it has no daemon: to start one, to come back to one, and to tell the next one
// everything again. A connection loads it shortly after its start, when it is in nobody's way and the package is still
// there (docs/adr/0042). For `connect` it is a bundle of its own: it has copies of the classes of the other, so it must know their
// objects by their methods and never by `instanceof`.

export { ReconnectPolicy, reconnectLoop } from './reconnect-policy.ts';
export { failAll, replayToNewDaemon, sendWaiting, UnreadFrames } from './replay-to-new-daemon.ts';
export { SessionResumption } from './session-resumption.ts';
export { startDaemon } from './start-daemon.ts';
