// The rule for names of hosts. Names are used in headers, keys and files as they are, so this is the only place that
// defines them.

/** The form of a name, for use in larger expressions. */
export const HOST_NAME_FORM = '[A-Za-z0-9][A-Za-z0-9._-]{0,62}';
const HOST_NAME = new RegExp(`^${HOST_NAME_FORM}$`);
export const HOST_NAME_RULE =
  'begins with a letter or a digit, and goes on with letters, digits, ".", "-" and "_", at most 63 in all';

export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}
