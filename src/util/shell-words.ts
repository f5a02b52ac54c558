// Quotes others' words for a command that a person may copy into a shell.

const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quotes the word so that a shell takes it as one word, whatever it holds. */
export function shellWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
