// The address of a signal in a form safe to show. The exporters read the real address themselves; this one never holds
// a secret.

import { parsedUrl } from '../util/parsed-url.ts';
import { KNOWN_TOKEN, looksRandom, looksSecret } from '../util/secret-signs.ts';

const HIDDEN = '***';

/** The host and path of a URL; '' for an invalid one. */
export function shownDestination(address: string): string {
  const url = parsedUrl(address);
  if (url === undefined) return '';
  const words = url.pathname.split('/');
  return `${url.origin}${words.map((word, i) => (isKey(word, words[i - 1] ?? '') ? HIDDEN : word)).join('/')}`;
}

/** True for a path segment that may be a key: some vendors' collectors have keys there. */
function isKey(word: string, before: string): boolean {
  return looksRandom(word) || word.replace(KNOWN_TOKEN, '') !== word || (word !== '' && looksSecret(before));
}

/** The address of a signal under a common endpoint, built like the exporters do. */
export function addressBelow(endpoint: string, path: string): string {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  return url.href;
}
