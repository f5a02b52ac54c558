// The survey of the definitions on this machine for a command, by its options and process.

import { statSync } from 'node:fs';
import { platform } from 'node:os';
import { resolve } from 'node:path';
import { type Survey, takeSurvey, wordsOf } from '../discovery/survey.ts';
import { httpOrigin } from '../model/http-settings.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';
import { configWarning, locate, type WhereValues } from './locate.ts';

export interface SurveyValues extends WhereValues {
  readonly cwd?: string | undefined;
  /** Directories of Agent Plugins, in addition to those of the config. */
  readonly plugin?: string | readonly string[] | undefined;
}

export async function survey(values: SurveyValues, host: CliHost): Promise<Survey> {
  const cwd = directoryOf(values.cwd, host);
  const { environment, homedir, program } = host;
  const { path: socketPath, loaded, configError } = await locate(values, host);
  return takeSurvey({
    own: {
      ...{ platform: platform(), environment, homedir, program, socketPath },
      httpOrigin: httpOrigin(loaded.config.http),
    },
    cwd,
    loaded,
    agentPlugins: [values.plugin ?? []].flat().map((dir) => resolve(cwd, dir)),
    failures: configError === undefined ? [] : [wordsOf(configWarning(configError))],
  });
}

function directoryOf(named: string | undefined, { cwd }: CliHost): string {
  const dir = resolve(cwd, named ?? '.');
  if (named === undefined || statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return dir;
  throw new BridgeError('USAGE', `There is no directory ${dir}`, { hint: 'See --cwd.' });
}
