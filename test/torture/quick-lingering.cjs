// Loaded into a daemon: what it does every half minute, it does every half second, so that a short run need not wait for it.
const setRealInterval = globalThis.setInterval;
globalThis.setInterval = (callback, periodMs, ...given) =>
  setRealInterval(callback, periodMs === 30_000 ? 500 : periodMs, ...given);
