// `mcp-bridge serve`: the daemon in the foreground.

import { dirname, join } from 'node:path';
import type { LogLevel } from '../../util/logger.ts';
import { readArguments } from '../arguments.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { SERVE } from '../start-options.ts';

export async function serve(args: readonly string[], host: CliHost): Promise<number> {
  const values = readArguments('serve', args, SERVE);
  const daemon = await import('../../daemon/start.ts');
  await daemon.serve({
    socketFlag: values['mcp-bridge-socket'],
    configFile: values.config,
    configDir: values['config-dir'],
    checkedConfig: values['config-checked'],
    httpFlag: values.http,
    logLevel: (values['log-level'] ?? 'info') as LogLevel,
    logFile: values['log-file'],
    version: host.version,
    build: host.build,
    isAutostarted: values.autostarted === true,
    program: host.program,
    exampleServer: join(dirname(host.program), 'example-server.js'),
    finderProgram: join(dirname(host.program), 'finder.cjs'),
  });
  return DONE;
}
