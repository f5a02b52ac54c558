// Environment variables in a definition's texts: ${NAME}, or ${NAME:-default}.

import { BridgeError } from './bridge-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Fills in the variables, and notes their values in `used`. A variable without a value and a default is an error that
 * names the variable and its place.
 */
export function fillIn(text: string, environment: Environment, place: string, used: Map<string, string>): string {
  return text.replace(VARIABLE, (_, name: string, otherwise: string | undefined) => {
    const value = environment[name] ?? otherwise;
    if (value !== undefined) {
      used.set(name, value);
      return value;
    }
    throw new BridgeError('SERVER_START_FAILED', `${place} needs the variable ${name}, which is not set`, {
      hint: `Set ${name} where the daemon is started, or write \${${name}:-} for an empty one.`,
    });
  });
}
