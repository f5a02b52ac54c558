import { describe, expect, test } from 'vitest';
import { lastLine, lastWords } from '../../../src/downstream/server-output.ts';

/** As the programs have written them. */
const NODE_MODULE = `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/missing.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
`;
const NODE_THROWN = `/srv/server.js:3
throw new Error('GITHUB_TOKEN is not set');
^

Error: GITHUB_TOKEN is not set
    at Object.<anonymous> (/srv/server.js:3:7)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)

Node.js v22.14.0
`;
const PYTHON = `Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    import nothing_like_it
ModuleNotFoundError: No module named 'nothing_like_it'
`;
const PYTHON_TWICE = `Traceback (most recent call last):
  File "/srv/server.py", line 2, in <module>
    raise KeyError('a')
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/server.py", line 4, in <module>
    raise ValueError("no key")
ValueError: no key
`;
const ARGPARSE = `usage: server.py [-h] --db DB
server.py: error: the following arguments are required: --db
`;
const NPX = `npm warn deprecated old@1.0.0: Use the new one
npm error code E404
npm error 404 Not Found - GET https://registry.example/no-such-server - Not found
npm error 404
npm error 404  'no-such-server@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log
`;
const NPX_OLD = `npm ERR! could not determine executable to run

npm ERR! A complete log of this run can be found in:
npm ERR!     /home/me/.npm/_logs/debug-0.log
`;
const PLAIN = `Starting
Usage: server <directory>

`;
const GO = `panic: no config

goroutine 1 [running]:
main.main()
	/srv/main.go:4 +0x25
exit status 2
`;

describe('the line that says why a program has ended', () => {
  test.each([
    ['a module that Node does not find', NODE_MODULE, "Error: Cannot find module '/srv/missing.js'"],
    ['what a Node program has thrown', NODE_THROWN, 'Error: GITHUB_TOKEN is not set'],
    ['the end of a traceback', PYTHON, "ModuleNotFoundError: No module named 'nothing_like_it'"],
    ['the end of the last traceback', PYTHON_TWICE, 'ValueError: no key'],
    ['the sentence after the usage', ARGPARSE, 'server.py: error: the following arguments are required: --db'],
    [
      'the first sentence of npm',
      NPX,
      'npm error 404 Not Found - GET https://registry.example/no-such-server - Not found',
    ],
    ['the first sentence of an older npm', NPX_OLD, 'npm ERR! could not determine executable to run'],
    ['a panic', GO, 'panic: no config'],
    ['the last line where none is an error', PLAIN, 'Usage: server <directory>'],
    ['nothing where nothing was said', '\n\n', ''],
  ])('is %s', (_, stderr, line) => {
    expect(lastLine(stderr)).toBe(line);
  });
});

test('last words have no room for the insides of Node', () => {
  expect(lastWords(NODE_MODULE, 4)).toBe(
    "  throw err;\nError: Cannot find module '/srv/missing.js'\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []",
  );
  expect(lastWords('a\nb\n\nc\n', 2)).toBe('b\nc');
});
