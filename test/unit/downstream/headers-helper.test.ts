import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OrphanGuard } from '../../../src/downstream/process-groups.ts';
import { helperHeaders } from '../../../src/downstream/remote-headers.ts';
import type { RemoteServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { untilGone } from '../../support/test-daemon.ts';

function serverWith(command: string): RemoteServer {
  return {
    name: 'weather',
    description: '',
    timeoutMs: undefined,
    startTimeoutMs: undefined,
    idleMs: undefined,
    sharing: 'auto',
    trustHints: false,
    tools: NO_FILTER,
    transport: 'http',
    url: 'https://weather.example/mcp',
    headers: {},
    isFilledIn: false,
    headersHelper: { command, cwd: undefined },
    oauth: { clientId: undefined, clientSecret: undefined, scope: undefined, callbackPort: undefined },
  };
}

/** Runs it with a clock that stands still; `end` gives the signal. */
function running(command: string, environment: Record<string, string> = {}) {
  const clock = new FakeClock();
  const guard = new OrphanGuard();
  const abort = new AbortController();
  const dir = temporaryDir();
  const context = { environment: { PATH: process.env.PATH, ...environment }, cwd: dir, guard, clock };
  const headers = helperHeaders(serverWith(command), context, abort.signal).finally(() => guard.close());
  return { headers, clock, dir, end: () => abort.abort() };
}

async function failureOf(headers: Promise<unknown>): Promise<BridgeError> {
  const error: unknown = await headers.catch((thrown: unknown) => thrown);
  if (!(error instanceof BridgeError)) throw new Error('It did not fail');
  expect(error).toMatchObject({ code: 'SERVER_START_FAILED', server: 'weather' });
  return error;
}

/** The pid that a helper has written into a file of its directory. */
async function pidIn(dir: string): Promise<number> {
  const file = join(dir, 'pid');
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await new Promise((resolve) => setTimeout(resolve, 5));
  return Number(readFileSync(file, 'utf8'));
}

describe('a helper for headers', () => {
  test('prints them, knowing the server and nothing secret', async () => {
    const command = `printf '{"a":"%s","b":"%s","c":"%s"}' "$CLAUDE_CODE_MCP_SERVER_NAME" "$CLAUDE_CODE_MCP_SERVER_URL" "$TOKEN"`;
    expect(await running(command, { TOKEN: 's3cret' }).headers).toEqual({
      a: 'weather',
      b: 'https://weather.example/mcp',
      c: '',
    });
  });

  test.each([
    ['exit 3', 'exited with code 3'],
    ['echo {}; exit 1', 'exited with code 1'],
    ['kill -9 $$', 'was ended by SIGKILL'],
    ['true', 'did not print JSON'],
    ['echo s3cret-output', 'did not print JSON'],
    ['echo \'["s3cret-output"]\'', 'did not print a JSON object'],
    ['echo null', 'did not print a JSON object'],
    ['echo \'{"s3cret-output":7}\'', 'printed a header whose value is not a string'],
    ['echo \'{"a":"s3cret-output\\u0007"}\'', 'printed a header that HTTP does not allow'],
    ['echo \'{"s3cret output":""}\'', 'printed a header that HTTP does not allow'],
    ['yes s3cret-output', 'printed more than 65536 bytes'],
    ['/none/such', 'exited with code 127'],
  ])('that does %j gets an error with the fault, without its output', async (command, problem) => {
    const error = await failureOf(running(command).headers);
    expect(error.message).toBe(`The headersHelper of server weather ${problem}`);
    expect(JSON.stringify([error.message, error.hint])).not.toContain('s3cret');
  });

  test('has its last words shown, without its output', async () => {
    const command = `echo '{"A":"Bearer s3cret-output"}'; echo first >&2; echo "no: s3cret-output" >&2; exit 1`;
    expect((await failureOf(running(command).headers)).hint).toBe('Its last words were: no: [output]');
  });

  test('is ended with all that it has started when its time is up', async () => {
    const { headers, clock, dir } = running('sleep 1000 & echo $! > pid; wait');
    const pid = await pidIn(dir);
    clock.advance(10_000);
    expect((await failureOf(headers)).message).toBe('The headersHelper of server weather did not end within 10 s');
    await untilGone(pid);
  });

  test('is ended with all its child processes when nobody waits for it any more', async () => {
    const { headers, dir, end } = running('sleep 1000 & echo $! > pid; wait');
    const pid = await pidIn(dir);
    end();
    expect((await failureOf(headers)).message).toBe('The headersHelper of server weather was stopped');
    await untilGone(pid);
  });

  test('need not wait for its remaining processes, which are ended', async () => {
    const { headers, dir } = running(`sleep 1000 & echo $! > pid; echo '{"a":"b"}'`);
    expect(await headers).toEqual({ a: 'b' });
    await untilGone(await pidIn(dir));
  });
});
