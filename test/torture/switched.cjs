// Loaded into a daemon, for what a test cannot bring about from outside: at SIGUSR2 it gives back the memory that it does not
// need, and while the file NO_MEMORY is there the system has none for another process. That is said where the system says it, so that
// all that Node makes of it is as it would be.
const { ChildProcess } = require('node:child_process');
const { existsSync } = require('node:fs');
const { constants } = require('node:os');

const spawn = ChildProcess.prototype.spawn;
ChildProcess.prototype.spawn = function (options) {
  const { NO_MEMORY } = process.env;
  if (NO_MEMORY !== undefined && existsSync(NO_MEMORY)) this._handle.spawn = () => -constants.errno.ENOMEM;
  return spawn.call(this, options);
};

if (globalThis.gc !== undefined) process.on('SIGUSR2', () => globalThis.gc());
