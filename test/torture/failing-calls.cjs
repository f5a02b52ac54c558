// Loaded into a daemon: the FAIL_AT-th call of what the system is asked for fails, as it would without memory, disk or
// descriptors. Loading programs is left alone. At the end the number of calls is written to FAIL_COUNT.
const { writeFileSync } = require('node:fs');
const childProcess = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');

const at = Number(process.env.FAIL_AT);
const codes = ['EIO', 'ENOSPC', 'EMFILE', 'EACCES'];
let calls = 0;
delete process.env.NODE_OPTIONS; // the servers are not meant

function failure(name) {
  const code = codes[at % codes.length];
  return Object.assign(new Error(`${code}: made to fail, ${name}`), { code, errno: -5, syscall: name });
}

/** Whether this call is to fail. */
function isDue() {
  const isLoading = new Error('where').stack.includes('node:internal/modules');
  return !isLoading && ++calls === at;
}

function wrap(owner, name, fail) {
  const real = owner[name];
  if (typeof real !== 'function') return;
  owner[name] = Object.assign(function (...given) {
    return isDue() ? fail.call(this, given, failure(name)) : real.apply(this, given);
  }, real);
}

const throwing = (_given, error) => {
  throw error;
};
const rejecting = (_given, error) => Promise.reject(error);
const callingBack = (given, error) => void setImmediate(given.at(-1), error);

for (const name of Object.keys(fs)) {
  // A daemon that cannot even look whether something is there is told so, never an error.
  if (name.endsWith('Sync') && name !== 'existsSync') wrap(fs, name, throwing);
  else if (
    ['open', 'read', 'write', 'close', 'readFile', 'writeFile', 'stat', 'lstat', 'readdir', 'rename', 'watch'].includes(
      name,
    )
  )
    wrap(fs, name, name === 'watch' ? throwing : callingBack);
}
for (const name of Object.keys(fs.promises)) wrap(fs.promises, name, rejecting);
wrap(childProcess, 'spawn', throwing);
wrap(net.Server.prototype, 'listen', function (_given, error) {
  setImmediate(() => this.emit('error', error));
  return this;
});
process.on('exit', () => {
  if (process.env.FAIL_COUNT) writeFileSync(process.env.FAIL_COUNT, String(calls));
});
