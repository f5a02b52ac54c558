// Programs that a hostile model could write: escapes, prototype tricks, floods, endless things. Each has to end in an answer
// that shows nothing of the host, and to leave everybody else as they were.

const reach = (expression) => `
  const seen = [];
  try { const found = ${expression}; seen.push(typeof found, String(found).slice(0, 300)); } catch (error) { seen.push(String(error)); }
  return seen;`;

/** Says an end that is none, and lets what comes later say one more. */
export const FORGED_WORDS = `
    let mode = 'ret';
    Object.prototype.toJSON = function () {
      if (!(this && this.is)) return this;
      if (mode === 'ret') return { x: 1, is: 'returned', value: 'forged' };
      if (mode === 'idle') return { is: 'idle' };
      return { x: 1, is: 'returned', value: 'TAMPERED' };
    };
    console.log('a'); mode = 'idle'; console.log('b'); mode = 'evil';`;

/**
 * Each with its name, its code, and what it may come to: `answer` is any answer at all, `error` one that says that it failed, `limit`
 * one that names a limit.
 */
export const HOSTILE_PROGRAMS = [
  // --- ways to the host ---
  ['Function constructor', reach(`Function('return this')().process`), 'answer'],
  ['constructor of a constructor', reach(`(() => {}).constructor.constructor('return process')().env`), 'answer'],
  ['constructor of a host function', reach(`console.log.constructor('return process')().env`), 'answer'],
  ['constructor of an async function', reach(`await (async () => {}).constructor('return process')()`), 'answer'],
  ['constructor of the proxy', reach(`servers.constructor.constructor('return process')()`), 'answer'],
  [
    'constructor of an error of a tool',
    `try { await servers.fixture.nothing() } catch (error) { ${reach(`error.constructor.constructor('return process')()`)} }`,
    'answer',
  ],
  ['import of a module', reach(`await import('node:fs')`), 'answer'],
  ['import of a data URL', reach(`await import('data:text/javascript,export default 1')`), 'answer'],
  ['import of std', reach(`await import('std')`), 'answer'],
  ['import of os', reach(`await import('os')`), 'answer'],
  ['require', reach(`require('fs').readFileSync('/etc/passwd', 'utf8')`), 'answer'],
  ['indirect eval', reach(`(0, eval)('process.env')`), 'answer'],
  [
    'globalThis',
    reach(
      `Object.getOwnPropertyNames(globalThis).map((name) => { try { return globalThis[name]?.env } catch { return '' } }).filter(Boolean)`,
    ),
    'answer',
  ],
  [
    'arguments.callee.caller',
    `return (function () { return String(arguments.callee.caller).slice(0, 200) })()`,
    'answer',
  ],
  ['stack of an error', `const e = new Error('x'); return e.stack`, 'answer'],
  [
    'prepareStackTrace',
    `Error.prepareStackTrace = (_, frames) => frames; return String(new Error('x').stack)`,
    'answer',
  ],
  ['WebAssembly', reach(`new WebAssembly.Memory({ initial: 1 })`), 'answer'],
  ['a wait on shared memory', reach(`Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 60000)`), 'answer'],
  [
    'Symbol.species',
    `class A extends Array { static get [Symbol.species]() { return Function } } return String(new A(3).map((x) => x))`,
    'answer',
  ],
  ['a getter named then', `return { get then() { throw new Error('then') } }`, 'error'],
  // --- prototypes ---
  [
    'Object.prototype',
    `Object.prototype.is = 'limit'; Object.prototype.id = 1; Object.prototype.error = { code: 1 }; return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    '__proto__ in arguments',
    `return await servers.fixture.echo(JSON.parse('{"__proto__":{"text":"y"},"text":"x"}'))`,
    'answer',
  ],
  [
    'toJSON everywhere',
    `Object.prototype.toJSON = () => ({ is: 'call', id: 1, server: 'fixture', tool: 'crash', args: {} }); return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  ['then on every object', `Object.prototype.then = function (resolve) { resolve(1) }; return {}`, 'answer'],
  [
    'Promise replaced',
    `globalThis.Promise = class { constructor() { throw new Error('no') } }; return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    'Map replaced',
    `Map.prototype.get = () => ({ resolve: 1 }); Map.prototype.set = () => {}; return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    'JSON replaced',
    `JSON.stringify = () => 'nonsense'; JSON.parse = () => 1; return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    'a frozen prototype',
    `Object.freeze(Object.prototype); Object.freeze(Array.prototype); return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    'String.prototype replaced',
    `String.prototype.trimStart = () => { throw new Error('no') }; return await servers.fixture.echo({ text: 'x' })`,
    'answer',
  ],
  [
    'a proxy as arguments',
    `return await servers.fixture.echo(new Proxy({}, { ownKeys: () => ['text'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 'x' }), get: () => 'x' }))`,
    'answer',
  ],
  [
    'a proxy that never ends as the result',
    `const p = () => new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, key) => key === 'a' ? p() : undefined }); return p()`,
    'error',
  ],
  // --- never ending ---
  ['an empty loop', 'for (;;);', 'limit'],
  ['a loop that catches', 'for (;;) try { throw 1 } catch {}', 'limit'],
  ['a generator that never ends', 'function* g() { for (;;) yield 1 } return [...g()]', 'limit'],
  ['an iterator that never ends', `return Array.from({ length: 2 ** 32 - 1 }, () => 1)`, 'limit'],
  ['microtasks without end', 'const again = () => Promise.resolve().then(again); await again()', 'limit'],
  ['a promise that waits for itself', 'const p = (async () => { await 0; return p })(); return await p', 'error'],
  ['a regular expression', `return /^(a|a)*$/.test('a'.repeat(40) + 'b')`, 'limit'],
  [
    'a sort that never decides',
    `return Array.from({ length: 3e6 }, (_, i) => i).sort(() => Math.random() - 0.5).length`,
    'limit',
  ],
  ['timers without end', `for (;;) await new Promise((resolve) => setTimeout(resolve, 0))`, 'limit'],
  ['a loop behind the return', '(async () => { await 0; await 0; await 0; await 0; for (;;); })(); return 1', 'answer'],
  // --- too much ---
  ['100 MB of text', `return 'x'.repeat(100 * 1024 * 1024)`, 'error'],
  ['text that doubles', `let s = 'x'; for (;;) s += s`, 'error'],
  ['array buffers', 'const all = []; for (;;) all.push(new ArrayBuffer(1 << 22))', 'limit'],
  ['one array buffer of 2 GB', 'return new ArrayBuffer(2 ** 31 - 1).byteLength', 'error'],
  ['memory that is caught', 'const all = []; for (;;) try { all.push(new Array(1e5).fill(all)) } catch {}', 'limit'],
  ['recursion', 'const f = () => f() + 1; return f()', 'error'],
  ['brackets', `return JSON.parse('['.repeat(200000))`, 'error'],
  ['a nested result', 'let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a', 'error'],
  ['printing without end', `for (;;) console.log('x'.repeat(1000))`, 'limit'],
  ['a line of 50 MB', `console.log('x'.repeat(50 * 1024 * 1024))`, 'limit'],
  ['calls without end', `for (;;) servers.fixture.echo({ text: 'x' })`, 'limit'],
  ['many searches', `for (;;) search('x')`, 'error'],
  ['a call with 20 MB', `return (await servers.fixture.echo({ text: 'x'.repeat(20 * 1024 * 1024) })).length`, 'error'],
  ['types that never end', `const t: ${'Array<'.repeat(20000)}number${'>'.repeat(20000)} = 1; return t`, 'answer'],
  ['code with 100000 brackets', `return ${'['.repeat(20000)}${']'.repeat(20000)}`, 'answer'],
  // --- words that are not a program's to say ---
  [
    'a beginning that is said again and again',
    `Object.prototype.toJSON = function () { return this && this.is ? { is: 'begun' } : this }; for (;;) console.log('x')`,
    'limit',
  ],
  [
    'an end that is none, and words behind it',
    `${FORGED_WORDS}
    setTimeout(() => console.log('x'), 100);
    await new Promise(() => {})`,
    'error',
  ],
  ['timers that are left behind', `setInterval(() => { for (;;); }, 20); return 1`, 'answer'],
  ['calls that are left behind', `for (let i = 0; i < 40; i++) servers.fixture.hold({}); return 1`, 'answer'],
  [
    'a prototype of arrays',
    `Array.prototype.map = () => ['1 idle ']; Array.prototype.join = () => '1 idle '; return await describe('fixture')`,
    'answer',
  ],
  ['lines in names', `try { await servers['x\\n1 returned 1\\n'].y() } catch (error) { return error.code }`, 'answer'],
  // --- the time and the memory of the daemon ---
  [
    'answers that nobody reads',
    `for (let i = 0; i < 400; i++) servers.fixture.blob({ mib: 1 }).catch(() => 0); await servers.fixture.echo({ text: 'x' }); for (;;);`,
    'limit',
  ],
  [
    'types of one server a thousand times',
    `const names = Array(1000).fill('fixture'); for (;;) await Promise.all([1, 2, 3, 4].map(() => describe(...names)))`,
    'limit',
  ],
  [
    'searches of many wishes',
    `const task = Array.from({ length: 64 }, (_, i) => 'create issue file number ' + i).join(' and '); for (;;) await Promise.all(Array.from({ length: 900 }, () => search(task, { limit: 100 })))`,
    'limit',
  ],
  ['arguments of 5 MB', `return await servers.fixture.echo({ text: 'y'.repeat(5e6) })`, 'error'],
  [
    'arguments of 1 MB without end',
    `const args = { text: 'y'.repeat(1e6) }; for (;;) await servers.fixture.echo(args)`,
    'limit',
  ],
  ['arguments of 5 MB that are a list', `for (;;) await servers.fixture.echo(['y'.repeat(5e6)])`, 'error'],
  [
    'arguments that nest',
    `let o = {}, r = o; for (let i = 0; i < 200; i++) { o.a = {}; o = o.a } return await servers.fixture.echo(r)`,
    'error',
  ],
  ['a code of 5 MB', `throw Object.assign(new Error('m'), { code: 'c'.repeat(5e6) })`, 'error'],
  ['a name of 5 MB', `const e = new Error('m'); e.name = 'n'.repeat(5e6); e.stack = 's'.repeat(5e6); throw e`, 'error'],
  [
    'an error with getters',
    `throw Object.defineProperty(new Error('x'), 'message', { get() { throw new Error('no') } })`,
    'error',
  ],
];

/** Those that take no time, for each run of the tests. */
export const QUICK = HOSTILE_PROGRAMS.filter(([, , outcome]) => outcome !== 'limit');

const LEAKS = /root:[x*]:0:|MCPB_CANARY|\/usr\/bin\/node|HOME=/;

/** The most that an answer may have: what a program may print and return, and an error. */
const LONGEST_ANSWER = 64 * 1024 + 8192;

/** A program that the client runs after each of these, and all that may come of it: nothing of the one before. */
export const HONEST = 'return [typeof left, [1].map((n) => n + 1).join(), JSON.stringify({ a: { is: 1 } })].join(" ")';
const HONEST_ANSWER = 'undefined 2 {"a":{"is":1}}';

/** Says what is wrong with the answer to the honest program; undefined if nothing is. */
export function faultAfter([name], { result }) {
  const texts = (result?.content ?? []).map(({ text }) => text);
  const isHonest = texts.length === 1 && texts[0] === HONEST_ANSWER && result.isError !== true;
  return isHonest ? undefined : `${name}: the next program was not left alone: ${JSON.stringify(result).slice(0, 300)}`;
}

/** Says what is wrong with an answer; undefined if nothing is. */
export function faultOf([name, , expected], { result, error }) {
  if (error !== undefined && expected === 'answer') return `${name}: an error of the protocol: ${error.message}`;
  const texts = (result?.content ?? []).map(({ text }) => text).join('\n');
  if (texts.length > LONGEST_ANSWER) return `${name}: the answer has ${texts.length} characters`;
  if (LEAKS.test(texts)) return `${name}: it shows something of the host`;
  if (expected === 'answer') return undefined;
  if (result?.isError !== true) return `${name}: it did not fail: ${texts.slice(0, 200)}`;
  if (expected === 'limit' && !/limit of (?:time|memory|output|calls)/.test(texts))
    return `${name}: no limit is named: ${texts.slice(0, 200)}`;
  return undefined;
}
