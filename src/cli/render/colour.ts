// Colours, by one rule for all commands: on for a terminal and off for a pipe, unless the user says otherwise. Each
// state has the same colour everywhere.

import type { CliHost } from '../host.ts';

export interface Colours {
  readonly state: (text: string) => string;
  /** Colours a severity: levels of the log, and of findings. */
  readonly level: (text: string) => string;
  readonly heading: (text: string) => string;
}

const [RED, GREEN, YELLOW, GREY, BOLD] = [31, 32, 33, 90, 1];
const STATES: Readonly<Record<string, number>> = {
  ...{ ready: GREEN, yes: GREEN, '●': GREEN },
  ...{ starting: YELLOW, stopping: YELLOW, waiting: YELLOW, connecting: YELLOW, initializing: YELLOW },
  ...{ parked: YELLOW, 'pending-approval': YELLOW, 'needs-input': YELLOW },
  ...{ failed: RED, broken: RED, invalid: RED, missing: RED, 'blocked-by-policy': RED, '✗': RED },
};
const LEVELS: Readonly<Record<string, number>> = {
  ...{ error: RED, WRONG: RED, warn: YELLOW, note: YELLOW, '!': YELLOW, ok: GREEN, debug: GREY },
};

const COLOURS: Colours = {
  state: (text) => painted(text, STATES[text.trim()] ?? GREY),
  level: (text) => painted(text, LEVELS[text.trim()]),
  heading: (text) => painted(text, BOLD),
};

/** The colours; undefined without colours. */
export function coloursOf(host: Pick<CliHost, 'stdout' | 'environment' | 'isColourless'>): Colours | undefined {
  return hasColours(host) ? COLOURS : undefined;
}

/** Uses Node's order of precedence: the flag, FORCE_COLOR, NO_COLOR, the terminal's abilities. */
function hasColours({
  stdout,
  environment,
  isColourless,
}: Pick<CliHost, 'stdout' | 'environment' | 'isColourless'>): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = environment;
  if (isColourless === true) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  if (NO_COLOR || TERM === 'dumb') return false;
  return (stdout as { readonly isTTY?: boolean }).isTTY === true;
}

function painted(text: string, colour: number | undefined): string {
  return colour === undefined || text === '' ? text : `\u001b[${colour}m${text}\u001b[0m`;
}
