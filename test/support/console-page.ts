// A page of worked examples: under each heading blocks of what is typed at a shell, and of what comes back. It is run as it
// stands there, each heading in a shell of its own.

import { execFile } from 'node:child_process';

interface Step {
  readonly command: string;
  /** What the page says that comes back; `…` stands for anything. */
  readonly output: string;
}

export interface Example {
  readonly title: string;
  readonly steps: readonly Step[];
}

export function examplesOf(page: string): Example[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => ({ title: section.slice(0, section.indexOf('\n')), steps: stepsOf(section) }));
}

function stepsOf(section: string): Step[] {
  const steps: { command: string; output: string }[] = [];
  for (const [, block = ''] of section.matchAll(/^```console\n(.*?)^```$/gms)) {
    for (const line of block.split('\n').slice(0, -1)) {
      const last = steps.at(-1);
      if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
      else if (last === undefined) throw new Error(`There is no command before: ${line}`);
      else if (line.startsWith('> ')) last.command += `\n${line.slice(2)}`;
      else last.output += `${line}\n`;
    }
  }
  return steps;
}

/** The commands of a page in its `sh` blocks, each whole however many lines it has. */
export function typedIn(page: string): string[] {
  return [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block.split(/(?<!\\)\n/).filter((line) => line.trim() !== ''),
  );
}

/** Types all of it into one shell; what came back of each step, on stdout and stderr together. */
export function runExample({ steps }: Example, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string[]> {
  const mark = (i: number) => `---- step ${i} of the example ----`;
  const script = steps.map(({ command }, i) => `echo '${mark(i)}'\n${command}\n`).join('');
  return new Promise((resolve) => {
    execFile('bash', ['-c', `exec 2>&1 < /dev/null\n${script}`], options, (_error, stdout) => {
      const outputs = steps.map((_, i) => {
        const from = stdout.indexOf(mark(i)) + mark(i).length + 1;
        const to = i + 1 < steps.length ? stdout.indexOf(mark(i + 1)) : stdout.length;
        return stdout.slice(from, to);
      });
      resolve(outputs);
    });
  });
}

/** What a text must be to be what the page says. How wide a column is depends on what stands in it. */
export function patternOf(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ {2,}/g, ' {2,}'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
