// The units in config/ with the paths of this installation. Each format has its own way to quote special words.

export interface ServiceWords {
  /** The command line of the daemon. */
  readonly command: readonly string[];
  readonly socketPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly homedir: string;
  readonly logFile: string;
}

export type UnitFormat = 'systemd' | 'launchd';

export function unitText(template: string, words: ServiceWords, format: UnitFormat): string {
  const values = format === 'systemd' ? systemdValues(words) : launchdValues(words);
  return template.replace(/@([A-Z]+)@/g, (whole, name: string) => values[name] ?? whole);
}

function systemdValues({ command, socketPath, environment }: ServiceWords): Record<string, string> {
  const assignments = Object.entries(environment).map(([name, value]) => quoted(`${name}=${value}`));
  return {
    COMMAND: command.map((word) => quoted(word).replaceAll('$', '$$$$')).join(' '),
    SOCKET: withoutSpecifiers(socketPath),
    ENVIRONMENT: assignments.map((assignment) => `Environment=${assignment}`).join('\n'),
  };
}

/** Quotes a word: a percent sign would begin a specifier, a backslash an escape. */
function quoted(word: string): string {
  return `"${withoutSpecifiers(word).replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

function withoutSpecifiers(text: string): string {
  return text.replaceAll('%', '%%');
}

function launchdValues({ command, environment, homedir, logFile }: ServiceWords): Record<string, string> {
  const pairs = Object.entries(environment).map(
    ([name, value]) => `    <key>${escaped(name)}</key>\n    <string>${escaped(value)}</string>`,
  );
  return {
    COMMAND: command.map((word) => `    <string>${escaped(word)}</string>`).join('\n'),
    ENVIRONMENT: pairs.join('\n'),
    HOME: escaped(homedir),
    LOG: escaped(logFile),
  };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
