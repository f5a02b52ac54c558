// What a program has said on stderr before its end, cut down to what tells a person why. Programs say much besides: the
// stack, the source around it, their version, where their log is.

/** Lines of the runtime's own, which are the same whatever went wrong. */
const NOISE =
  /^\s*$|^Node\.js v\d|^\s+at (?:.*\((?:node|internal):|(?:node|internal):|async node:)|^node:internal\/|^\s*\^+\s*$|^[\s\]})]+$/;

/** Whole lines, without those that say nothing; the last so many. */
export function lastWords(stderr: string, most: number): string {
  return telling(stderr).slice(-most).join('\n');
}

/** The one line that says why, or at least the last one; '' if there is none. */
export function lastLine(stderr: string): string {
  const lines = telling(stderr);
  return (lines.findLast(isError) ?? lines.find(isErrorOfNpm) ?? lines.at(-1) ?? '').trim();
}

function telling(stderr: string): string[] {
  return stderr.split(/\r?\n/).filter((line) => !NOISE.test(line));
}

const NPM = /^npm (?:error|ERR!|warn|notice)/i;
const SOURCE = /^\s*(?:throw|raise|return|const|at|File)\b/;
const ERROR = /\b[A-Z]\w*(?:Error|Exception)\b|\bError\b|\berror:|\bERROR\b|\bfatal\b|\bpanic(?:ked)?\b/i;

function isError(line: string): boolean {
  return !NPM.test(line) && !SOURCE.test(line) && ERROR.test(line);
}

/** npm tells it as a table, of which the first line with words is the sentence. */
function isErrorOfNpm(line: string): boolean {
  return /^npm (?:error|ERR!) (?!(?:code|errno|syscall|path|dest|command|cwd) )/i.test(line);
}
