// Loaded into the programs of a scenario: in the one that FAIL_IN names, the FAIL_AT-th call of what the system is asked for
// fails, as it would without memory, disk, descriptors or a peer. Loading programs is left alone, and so are their stdin,
// stdout and stderr. If it is 0 none fails, and the number of calls is written to FAIL_COUNT.
const { writeFileSync } = require('node:fs');
const childProcess = require('node:child_process');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const net = require('node:net');

const at = Number(process.env.FAIL_AT);
const isMeant = process.argv.some((word) => word === process.env.FAIL_IN || word.endsWith(`/${process.env.FAIL_IN}`));
const codes = ['EIO', 'ENOSPC', 'EMFILE', 'EACCES', 'ENOMEM', 'EAGAIN'];
let calls = 0;

function failure(name, code = codes[at % codes.length]) {
  return Object.assign(new Error(`${code}: made to fail, ${name}`), { code, errno: -5, syscall: name });
}

/** Whether this call is to fail. */
function isDue() {
  const isLoading = new Error('where').stack.includes('node:internal/modules');
  if (isLoading) return false;
  calls++;
  if (at === 0) writeFileSync(process.env.FAIL_COUNT, String(calls));
  return calls === at;
}

const lookedWith = new Set();

/** Whether there are descriptors is seen by opening some: many calls, which fail as one. It has a scenario of its own. */
function isLook(name, [first]) {
  return (name === 'openSync' && first === '/dev/null') || (name === 'closeSync' && lookedWith.has(first));
}

function look(name, real, given) {
  const fd = real.apply(fs, given);
  if (name === 'openSync') lookedWith.add(fd);
  else lookedWith.delete(given[0]);
  return fd;
}

function wrap(owner, name, fail, isLeftAlone = () => false) {
  const real = owner[name];
  if (typeof real !== 'function') return;
  const wrapped = function (...given) {
    if (isLook(name, given)) return look(name, real, given);
    return !isLeftAlone(this) && isDue() ? fail.call(this, given, failure(name)) : real.apply(this, given);
  };
  // Some say of themselves what becomes of them when they are made to return a promise.
  Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(real));
  owner[name] = wrapped;
}

const throwing = (_given, error) => {
  throw error;
};
const rejecting = (_given, error) => Promise.reject(error);
const callingBack = (given, error) => void setImmediate(given.at(-1), error);

/** A connection that breaks at this very call. */
function breaking(_given, error) {
  setImmediate(() => this.destroy(Object.assign(error, { code: 'ECONNRESET' })));
  return this;
}
/** Who has lost its own input and output has nobody left to tell. */
const isOwn = (socket) => [0, 1, 2].includes(socket._handle?.fd);

if (isMeant) {
  for (const name of Object.keys(fs)) {
    // A program that cannot even look whether something is there is told so, never an error.
    if (name === 'watch') wrap(fs, name, throwing);
    else if (name.endsWith('Sync') && name !== 'existsSync') wrap(fs, name, throwing);
    else if (`${name}Sync` in fs && name !== 'exists') wrap(fs, name, callingBack);
  }
  for (const name of Object.keys(fs.promises)) wrap(fs.promises, name, rejecting);
  wrap(childProcess, 'spawn', throwing);
  wrap(net.Server.prototype, 'listen', function (_given, error) {
    setImmediate(() => this.emit('error', error));
    return this;
  });
  wrap(net.Socket.prototype, 'connect', breaking, isOwn);
  wrap(net.Socket.prototype, '_writeGeneric', (given, error) => callingBack(given, error), isOwn);
  wrap(net.Socket.prototype, '_read', breaking, isOwn);
  syncBuiltinESMExports();
}
