// `mcp-bridge ui`: opens the dashboard in the browser. Its port belongs to this process, which ends with the last page.

import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { ControlClient } from '../../client/control-client.ts';
import { residentBytesOfGroups } from '../../local/process-table.ts';
import { DaemonWatch } from '../../ui/daemon-watch.ts';
import { readAssets } from '../../ui/page-assets.ts';
import { checkMethod } from '../../ui/page-methods.ts';
import { PageServer, type PageServerEnd } from '../../ui/page-server.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { systemClock } from '../../util/clock.ts';
import { expectSystemError } from '../../util/expected-error.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locateToUse } from '../locate.ts';
import { openOrStart } from '../open-bridge.ts';
import { pageDecisions } from '../page-decisions.ts';
import { type PageMethod, pageLooks } from '../page-looks.ts';
import type { ToolCommandValues } from '../tool-session.ts';

export interface UiValues extends ToolCommandValues {
  readonly 'no-open'?: boolean | undefined;
  readonly write?: boolean | undefined;
}

export async function ui(values: UiValues, host: CliHost): Promise<number> {
  const located = await locateToUse(values, host);
  const canWrite = values.write === true;
  const assets = assetsBeside(host.program);
  const own: Readonly<Record<string, PageMethod>> = { ...pageLooks(values, host), ...pageDecisions(values, host) };
  // A person who opens the dashboard wants a daemon now; if it ends later, it is not started again.
  (await openOrStart(located, values, host)).destroy();
  const watch = new DaemonWatch({
    connect: () => ControlClient.open(located.path, host.version),
    clock: systemClock,
    cwd: host.cwd,
    tell: (message) => server.tell(message),
    memoryOf: residentBytesOfGroups,
  });
  const server = new PageServer({
    assets,
    clock: systemClock,
    uid: process.getuid?.(),
    ask: async (method, params, signal) => {
      checkMethod(method, canWrite);
      const answer = Object.hasOwn(own, method) ? own[method] : undefined;
      return answer === undefined ? watch.ask(method, params) : answer(params, signal);
    },
    opening: () => ({ hello: { canWrite, version: host.version }, daemon: watch.presence, parts: watch.parts }),
    known: () => watch.known,
    opened: () => watch.start(),
  });
  await server.listen();
  host.onEnd(() => server.close());
  tellUrl(server.newUrl(), values, host);
  const end = await server.ended;
  watch.stop();
  host.stderr.write(`mcp-bridge: ${WORDS[end]}\n`);
  return DONE;
}

const WORDS: Readonly<Record<PageServerEnd, string>> = {
  'no-page': 'nobody opened the dashboard within a minute, so it has ended',
  'last-page': 'the last page of the dashboard was closed, so it has ended',
  told: 'the dashboard has ended',
};

function tellUrl(url: string, values: UiValues, host: CliHost): void {
  if (values['no-open'] === true) return void host.stdout.write(`${url}\n`);
  host.stdout.write(`The dashboard opens in your browser. If it does not, open this within a minute:\n${url}\n`);
  const program = platform() === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { stdio: 'ignore', detached: true, env: { ...host.environment } });
  child.on('error', () => undefined); // the address was printed
  child.unref();
}

function assetsBeside(program: string): ReturnType<typeof readAssets> {
  const dir = join(dirname(program), 'dashboard');
  try {
    return readAssets(dir);
  } catch (error) {
    expectSystemError(error);
    throw new BridgeError('FILE_UNUSABLE', `The files of the dashboard are not in ${dir}`, {
      hint: 'Install mcp-bridge again.',
      cause: error,
    });
  }
}
