// JSON that may be shown on a terminal: the same value, in which nothing moves the cursor or turns the line around.

/** Control, format and separator characters, and halves of characters. They may stand in texts, but for white space between them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const SPACE = /[\t\n\r]/;

export function lineSafe(json: string): string {
  return json.replace(UNSAFE, (character) => {
    if (SPACE.test(character)) return ' '; // within a text it would be escaped already
    let escaped = '';
    for (let i = 0; i < character.length; i++) escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
    return escaped;
  });
}
