// Loaded into a daemon, for what a test cannot bring about from outside: at SIGUSR2 it gives back the memory that it does not
// need, with KEEP_NO_CODE it compiles nothing into the heap, and while the file NO_MEMORY is there the system has none for another process. That is said where the system says it, so that
// all that Node makes of it is as it would be.
const { ChildProcess } = require('node:child_process');
const { existsSync } = require('node:fs');
const { constants } = require('node:os');
const { setFlagsFromString } = require('node:v8');

const spawn = ChildProcess.prototype.spawn;
ChildProcess.prototype.spawn = function (options) {
  const { NO_MEMORY } = process.env;
  if (NO_MEMORY !== undefined && existsSync(NO_MEMORY)) this._handle.spawn = () => -constants.errno.ENOMEM;
  return spawn.call(this, options);
};

if (globalThis.gc !== undefined) process.on('SIGUSR2', () => globalThis.gc());

// V8 keeps the code that it compiles in the heap, half a megabyte in the first minute. Without it, growth of the heap is growth of what the
// daemon holds.
if (process.env.KEEP_NO_CODE !== undefined) {
  setFlagsFromString('--no-opt');
  setFlagsFromString('--no-sparkplug');
}
