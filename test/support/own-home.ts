// Each file of tests has a home of its own, and so has whatever it starts: no test sees the servers, the config or the
// running bridge of whoever runs it. The variables that lead elsewhere are gone before anything reads them.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const LEADS_ELSEWHERE =
  /^(?:XDG_\w+|MCP_\w+|(?:CLAUDE|CLINE|CODEX|COPILOT|CRUSH|GEMINI|OPENCODE)_\w*(?:HOME|DIR|PATH|CONFIG)\w*|OPENCODE_CONFIG_CONTENT)$/;

const home = realpathSync(mkdtempSync(join(tmpdir(), 'mcph-')));
for (const name of Object.keys(process.env)) if (LEADS_ELSEWHERE.test(name)) delete process.env[name];
process.env.HOME = home;
// `make coverage`: the processes that a test starts say what they have run, and this one does not.
if (process.env.CHILD_COVERAGE !== undefined) process.env.NODE_V8_COVERAGE = process.env.CHILD_COVERAGE;

afterAll(() => rmSync(home, { recursive: true, force: true }));
