// Finds the secrets in a command line or a URL, so that they can be removed from the output of the program that got
// them. One word too many is better: a secret that is missed is shown to everybody.

import { expectUriError } from './expected-error.ts';
import { parsedUrl } from './parsed-url.ts';
import { KNOWN_TOKEN, looksRandom, looksSecret, PLAIN_WORD } from './secret-signs.ts';

/** The secret with its name, or with the name `secret`. */
export type NamedSecret = readonly [name: string, value: string];

export function secretsInArguments(args: readonly string[]): NamedSecret[] {
  return args.flatMap((arg, i) => [...secretInFlag(args[i - 1] ?? '', arg), ...secretsInText(arg)]);
}

/** Options whose value is a name with a secret, whatever the name is. */
const PAIR_FLAG = /^(?:-H|--headers?|-e|--env|-u|--user|--proxy-user)$/;

/** Finds the key after `--api-key`, and the header after `-H`. */
function secretInFlag(before: string, arg: string): NamedSecret[] {
  const [, name = '', value = ''] = (PAIR_FLAG.test(before) && /^([\w.@+-]+)[:=]\s*(.*)$/s.exec(arg)) || [];
  if (value !== '') return valuesOf(name, value);
  const isValue = /^--?[A-Za-z][^=\s]*$/.test(before) && looksSecret(before) && !/^--?[A-Za-z]/.test(arg);
  return isValue ? valuesOf(before, arg) : [];
}

const ASSIGNED =
  /(?:^|[\s'"?&;,{])((?:--?)?[A-Za-z_][\w.-]*)["']?\s*[=:]\s*(?!\/\/)["']?((?:(?:Bearer|Basic|Token)\s+)?[^\s'"&;,}]+)/gi;
const WORD = /[A-Za-z0-9_+=~-]{16,}/g;
const URL_LIKE = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s'"`<>]+/gi;

/** Finds `--token=…`, `TOKEN=…`, `X-Api-Key: …`, `?key=…`, a password in a URL, and words that look like a secret. */
export function secretsInText(text: string): NamedSecret[] {
  const assigned = [...text.matchAll(ASSIGNED)].flatMap(([, name = '', value = '']) =>
    looksSecret(name) ? valuesOf(name, value) : [],
  );
  const passwords = [...text.matchAll(URL_LIKE)].flatMap(([url]) => secretsInUserInfo(url));
  const words = [...text.matchAll(KNOWN_TOKEN), ...text.matchAll(WORD)]
    .filter(({ 0: word, index }) => matchesWhole(KNOWN_TOKEN, word) || looksRandom(word, text.slice(0, index)))
    .map(([word]): NamedSecret => ['secret', word]);
  return [...assigned, ...passwords, ...words];
}

function matchesWhole(pattern: RegExp, word: string): boolean {
  return word.replace(pattern, '') === '';
}

function secretsInUserInfo(url: string): NamedSecret[] {
  const { username = '', password = '' } = parsedUrl(url) ?? {};
  if (username === '' && password === '') return [];
  // A user without a password is often a token.
  return valuesOf('password', password === '' ? username : password);
}

function valuesOf(name: string, value: string): NamedSecret[] {
  const bare = value.replace(/^(?:Bearer|Basic|Token)\s+/i, '');
  const label = name.replace(/^-+/, '');
  return [...new Set([bare, decoded(bare)])].filter((text) => !PLAIN_WORD.test(text)).map((text) => [label, text]);
}

/** Decodes the escapes; returns the text as it is if they are broken. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    expectUriError(error);
    return text;
  }
}
