// `mcp-bridge config`: shows which config file is used and why, and its faults. It runs no program that the other
// commands would not run.

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Candidate, candidatesIn, checkConfig, type PlacedFinding, unreadable } from '../../config/check.ts';
import type { ConfigPlace } from '../../config/config-file.ts';
import type { ConfigFinding } from '../../config/reader.ts';
import { type ListName, rulesIn } from '../../discovery/policy-rules.ts';
import { membersOf } from '../../util/json-value.ts';
import { DONE, FAILED } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { jsonText, printable, printableLines } from '../render/table.ts';
import { tilde } from '../render/terminal.ts';

export interface ConfigValues {
  readonly file?: string | undefined;
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
}

type Told = PlacedFinding & { readonly file: string };

export async function checkConfigs(values: ConfigValues, host: CliHost): Promise<number> {
  const candidates = candidatesIn(placeFor(values, host));
  const counting = candidates.filter(({ counts }) => counts);
  const found = (await Promise.all(counting.map((one) => findingsOf(one, host)))).flat();
  const errors = found.filter(({ level }) => level === 'error').length;
  const warnings = found.length - errors;
  if (values.json === true) {
    const file = counting[0]?.file ?? null;
    host.stdout.write(
      jsonText({ file, errors, warnings, candidates: candidates.map(shownCandidate), findings: found }),
    );
  } else {
    const lines = [
      ...placeLines(candidates),
      ...found.map(lineFor),
      counting.length === 0 ? 'No config file is needed.' : `${count(errors, 'error')}, ${count(warnings, 'warning')}.`,
    ];
    for (const line of lines) host.stdout.write(`${printableLines(tilde(line, host))}\n`);
  }
  return errors === 0 ? DONE : FAILED;
}

/** Prints the path of the file that is used here, or that `add` would create. */
export function showConfigPath(values: ConfigValues, host: CliHost): Promise<number> {
  const candidates = candidatesIn(placeFor(values, host));
  const chosen = candidates.find(({ counts }) => counts) ?? candidates.find(({ origin }) => origin === 'user');
  const { file = '', exists = false } = chosen ?? {};
  host.stdout.write(values.json === true ? jsonText({ file, exists }) : `${printable(file)}\n`);
  return Promise.resolve(DONE);
}

function placeFor({ file, config }: ConfigValues, { cwd, homedir, environment }: CliHost): ConfigPlace {
  return { named: file ?? config, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME };
}

async function findingsOf(candidate: Candidate, host: CliHost): Promise<Told[]> {
  const { file, origin, isForeignProgram } = candidate;
  if (isForeignProgram) return [{ file, ...NOT_RUN, hint: `mcp-bridge config check ${file} runs and checks it` }];
  const more = (content: unknown): ConfigFinding[] => policyFindings(content, file, host.environment);
  const isShared = origin === 'directory' || isReadByOthers(file);
  const found = await checkConfig(file, { homedir: host.homedir, isShared, more }).catch((error) => [
    unreadable(error),
  ]);
  return found.map((finding) => ({ file, ...finding }));
}

const NOT_RUN = { level: 'warning', place: '', problem: 'is a program, and was not run' } as const;

function isReadByOthers(file: string): boolean {
  return !!((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o044);
}

/** Finds rules that match nothing. */
function policyFindings(content: unknown, file: string, environment: CliHost['environment']): ConfigFinding[] {
  const { policy } = membersOf(content);
  const found: ConfigFinding[] = [];
  const within = 'policy.';
  for (const list of ['allowedMcpServers', 'deniedMcpServers'] satisfies ListName[])
    rulesIn(membersOf(policy)[list], list, {
      file,
      within,
      closes: true,
      env: (name) => environment[name],
      report: ({ message, name = '' }) =>
        found.push({
          level: 'error',
          place: name,
          problem: message.slice(message.indexOf(name) + name.length + 1, -1),
        }),
    });
  return found;
}

// --- for people ---

function placeLines(candidates: readonly Candidate[]): string[] {
  const origins = [...new Set(candidates.map(({ origin }) => origin))];
  return origins.flatMap((one) => {
    const some = candidates.filter(({ origin }) => origin === one);
    const there = some.filter(({ exists }) => exists);
    if (there.length > 0) return there.map(({ file, reason }) => `${file} ${reason}`);
    return [`There is no config file in ${dirname(some[0]?.file ?? '')}`];
  });
}

function lineFor({ file, line, column, level, place, problem, hint }: Told): string {
  const at = line === undefined ? file : `${file}:${line}:${column}`;
  const sentence = `${at}: ${level}: ${place === '' ? problem.replace(/^must /, 'The file must ') : `${place} ${problem}`}`;
  return hint === undefined ? sentence : `${sentence} (${hint})`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function shownCandidate({ file, origin, exists, counts, reason }: Candidate): object {
  return { file, origin, exists, counts, reason };
}
