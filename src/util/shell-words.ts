// Words of others in a command that a person may copy into a shell.

const PLAIN = /^[\w@%+=:,./-]+$/;

/** The word as a shell takes it for one, whatever is in it. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
