// The address that a signal goes to, in the form in which it may be shown. The exporters read the real one by themselves; this one
// must never hold a secret.

import { parsedUrl } from '../util/parsed-url.ts';
import { KNOWN_TOKEN, looksRandom, looksSecret } from '../util/secret-signs.ts';

const HIDDEN = '***';

/** The host and path of a URL; '' for a text that is none. */
export function shownDestination(address: string): string {
  const url = parsedUrl(address);
  if (url === undefined) return '';
  const words = url.pathname.split('/');
  return `${url.origin}${words.map((word, i) => (isKey(word, words[i - 1] ?? '') ? HIDDEN : word)).join('/')}`;
}

/** True for a part of a path that may be a key: collectors of some vendors have theirs there. */
function isKey(word: string, before: string): boolean {
  return looksRandom(word) || word.replace(KNOWN_TOKEN, '') !== word || (word !== '' && looksSecret(before));
}

/** The address of a signal below one that is common to all, as the exporters build it. */
export function addressBelow(endpoint: string, path: string): string {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  return url.href;
}
