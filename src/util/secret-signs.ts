// Recognises a secret in a text: by the name before it, or by its look.

const SECRET_WORD =
  /^(?:auth|authorization|bearer|code|cookies?|creds?|credentials?|dsn|jwt|otp|pass|pat|pin|psk|pwd|session|sig|signature|.*(?:keys?|tokens?|secrets?|password|passwd|passphrase))$/;

/** True for names of secrets: `--api-key`, `X-Auth-Token`, `clientSecret`. */
export function looksSecret(name: string): boolean {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .some((word) => SECRET_WORD.test(word));
}

const SHORTEST = 16;
const LONG = 32;
const LEAST_CHANGES = 3;

/** True for words that nobody would choose. A word that pins a version, such as a digest, is no secret. */
export function looksRandom(word: string, before = ''): boolean {
  if (word.length < SHORTEST || isPin(word, before)) return false;
  const letters = word.replace(/[^A-Za-z0-9]/g, '');
  const changes = letters.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
  if (changes >= LEAST_CHANGES) return true;
  return /^\d{16,}$/.test(letters) || (letters.length >= LONG && isMixed(word));
}

function isPin(word: string, before: string): boolean {
  return (/^[0-9a-f]{40}$/.test(word) && /[@#]$/.test(before)) || /sha(?:256|512)[:-]$/.test(before);
}

/** True for upper and lower case without an order that words have. */
function isMixed(word: string): boolean {
  return /^[A-Za-z0-9+=]+$/.test(word) && (word.match(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g)?.length ?? 0) >= 8;
}

/** Words that are no secret, though one may stand in their place. */
export const PLAIN_WORD = /^(?:true|false|yes|no|on|off|none|null)?$/i;

/** Tokens in the forms that their makers issue. */
export const KNOWN_TOKEN =
  /\b(?:(?:sk|rk|gh[opusr]|github_pat|glpat|xox[a-z]|hf|shpat|lin_api)[-_][\w-]{8,}|(?:AKIA|ASIA|AIza|ya29\.|eyJ)[\w-]{12,})/g;
