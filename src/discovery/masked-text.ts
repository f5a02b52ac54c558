// What of a command line or a URL may be shown: secrets that somebody has written into it become three stars. Variables
// stay as they are written, and so does whatever a shell would run: a mask must not hide a command.

import { executedWords } from '../util/executed-words.ts';
import { KNOWN_TOKEN, looksRandom, looksSecret, PLAIN_WORD } from '../util/secret-signs.ts';
import { ScriptVariables, type VariableUse } from './executed-variables.ts';
import { isSteering } from './steering-variables.ts';

const MASK = '***';
const VARIABLE = /\$\{[^{}]*\}|\$[A-Za-z_]\w*|\{(?:env|file):[^{}]*\}|%[A-Za-z_]\w*%/g;

/** A value that is a secret: only variables in it, and the kind of authorization, are left. */
export function maskedValue(value: string): string {
  if (PLAIN_WORD.test(value)) return value;
  const [scheme = ''] = /^(?:Bearer|Basic|Token|Digest)\s+/i.exec(value) ?? [];
  const rest = value.slice(scheme.length);
  let shown = '';
  let at = 0;
  for (const { 0: whole, index } of rest.matchAll(VARIABLE)) {
    shown += starsFor(rest.slice(at, index)) + withoutDefault(whole);
    at = index + whole.length;
  }
  return scheme + shown + starsFor(rest.slice(at));
}

function starsFor(text: string): string {
  return /[\p{L}\p{N}]/u.test(text) ? MASK : text;
}

function withoutDefault(variable: string): string {
  return variable.replace(/^(\$\{[^:}]*:-)(.+)\}$/s, (_, start: string) => `${start}${MASK}}`);
}

/**
 * What a shell runs. The words that say what is run are shown, whatever they look like, and so is what a variable stands
 * for that the script uses; `hide` takes more secrets out of the rest.
 */
export function maskedScript(script: string, hide: (text: string) => string = (text) => text): string {
  const executed: string[] = [];
  const stashed = script.replaceAll(STASH, '\ufffd').replace(SIMPLE_COMMAND, (_, before: string, command: string) => {
    const words = command.split(/(\s+)/);
    const shown = executedWords(words.filter((_, i) => i % 2 === 0));
    return (
      before +
      words
        .map((word, i) => (i % 2 === 0 && shown.has(i / 2) && !IS_ASSIGNED.test(word) ? stash(word, executed) : word))
        .join('')
    );
  });
  const variables = new ScriptVariables(script);
  const assigned = stashed.replace(ASSIGNMENT, (whole: string, before: string, name: string) =>
    variables.useOf(name) === 'runs' ? before + stash(whole.slice(before.length), executed) : whole,
  );
  const masked = hide(maskedText(assigned, (name) => variables.useOf(name)));
  return unstashed(masked, executed);
}

/** An assignment that was stashed may have words in it, which were stashed before it. */
function unstashed(text: string, executed: readonly string[]): string {
  return text.replace(/\ue000(\d+)\ue000/g, (_, i: string) =>
    unstashed(withoutUsers(executed[Number(i)] ?? ''), executed),
  );
}

const STASH = '\ue000';
const ASSIGNED = `(?:[A-Za-z_]\\w*=(?:"[^"]*"|'[^']*'|[^\\s'";&|<>()]*)\\s+)*`;
const KEYWORDS = '(?:(?:then|do|else|if|while|until|not|!)\\s+)*';
const SIMPLE_COMMAND = new RegExp(
  `((?:^|[;&|\\n({\`])\\s*${KEYWORDS}${ASSIGNED})([^\\s;&|<>(){}\`'"=][^;&|\\n<>(){}\`'"]*)`,
  'g',
);

const IS_ASSIGNED = /^[A-Za-z_]\w*=/;

function stash(word: string, executed: string[]): string {
  return `${STASH}${executed.push(word) - 1}${STASH}`;
}

/** A word that is run, without the user of a URL. */
export function withoutUsers(word: string): string {
  return word.includes('://') && word.includes('@') ? maskedUrl(word) : word;
}

type UseOf = (name: string) => VariableUse;

const NOTHING_USED: UseOf = () => 'unused';

/** Any text. What is in quotes, or has no meaning for a shell, can be hidden without hiding a command. */
export function maskedText(text: string, useOf: UseOf = NOTHING_USED): string {
  return text
    .replace(/[a-z][a-z0-9+.-]{0,20}:\/\/[^\s'"`<>]+/gi, maskedUrl)
    .replace(JSON_MEMBER, maskedMember)
    .replace(QUOTED_HEADER, maskedMember)
    .replace(HEADER, maskedMember)
    .replace(ASSIGNMENT, (whole: string, before: string, name: string, between: string, value: string) =>
      isShown(useOf(name), value) ? whole : maskedAssignment(whole, before, name, between, value),
    )
    .replace(FLAG, maskedMember)
    .replace(/\b((?:Bearer|Basic)\s+)([\w.~+/=-]{6,})/gi, (_, scheme: string) => `${scheme}${MASK}`)
    .replace(/[A-Za-z0-9_+=~-]{16,}/g, (word: string, at: number, whole: string) =>
      looksRandom(word, whole.slice(Math.max(0, at - PIN_LENGTH), at)) ? MASK : word,
    )
    .replace(KNOWN_TOKEN, MASK);
}

/** What stands before a digest: `sha256:`. */
const PIN_LENGTH = 8;

const INERT = `(?:[^\\s'"\`$;&|()<>]|\\$(?![({]))+`;
const JSON_MEMBER = /(\\?["'])([\w.-]+)(\1\s*:\s*\\?["'])([^"'\\]*)/g;
const QUOTED_HEADER = /(['"])([\w-]+)(\s*:\s*)([^'"`$]*)(?=\1)/g;
const HEADER = new RegExp(`(^|[\\s'"=])([\\w-]+)(:\\s*)((?:(?:Bearer|Basic|Token)\\s+)?${INERT})`, 'gi');
const FLAG = new RegExp(`(^|[\\s'"])(--?[\\w-]+)(\\s+['"]?)(?!-)(${INERT})`, 'g');
const ASSIGNMENT = new RegExp(`(^|[\\s'";&|(])((?:--?)?[A-Za-z_][\\w.-]*)(=)("[^"$\`]*"|'[^']*'|${INERT})`, 'g');

function maskedMember(whole: string, before: string, name: string, between: string, value: string): string {
  return looksSecret(name) ? `${before}${name}${between}${maskedValue(value)}` : whole;
}

/** Decides if the value of a variable is shown: always where it is run, and where it may be run unless it is a token. */
export function isShown(use: VariableUse, value: string): boolean {
  return use === 'runs' || (use === 'may-run' && !isToken(value));
}

/** Nobody names a program so, and it is one word. */
function isToken(value: string): boolean {
  const word = value.replace(/^(["'])(.*)\1$/, '$2');
  return /^[\w+=~-]+$/.test(word) && (looksRandom(word) || word.replace(KNOWN_TOKEN, '') === '');
}

function maskedAssignment(whole: string, before: string, name: string, between: string, value: string): string {
  return looksSecret(name) || isVariableName(name) ? `${before}${name}${between}${maskedValue(value)}` : whole;
}

/** As of an environment: of those the names are shown, and nothing else. */
function isVariableName(name: string): boolean {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) && !isSteering(name);
}

const ADDRESS = /^((?:[a-z][a-z0-9+.-]*:\/\/)?)([^?#]*)(\?[^#]*)?(#.*)?$/is;
/** A password may hold what ends the host elsewhere; a port may not. */
const USER = /^(?:[^/?#@]*|[^/?#@:]*:(?!\d*(?:[/?#]|$)).*)@/s;

export function maskedUrl(url: string): string {
  const [, scheme, address = '', query = '', fragment = ''] = ADDRESS.exec(url) ?? [];
  if (scheme === undefined) return url;
  const [user = ''] = USER.exec(`${address}${query}${fragment}`) ?? [];
  if (user.length > address.length) return `${scheme}${MASK}@${maskedPath(url.slice(scheme.length + user.length))}`;
  const shownUser = user === '' ? '' : `${user.slice(0, -1).split(':').map(maskedValue).join(':')}@`;
  const shownQuery = query === '' ? '' : `?${maskedQuery(query.slice(1))}`;
  const shownFragment = fragment === '' ? '' : `#${maskedQuery(fragment.slice(1))}`;
  return `${scheme}${shownUser}${maskedPath(address.slice(user.length))}${shownQuery}${shownFragment}`;
}

function maskedPath(path: string): string {
  return path
    .split(/([/:,;])/)
    .map((word, i, words) => (i > 0 && looksRandom(word, words.slice(Math.max(0, i - 2), i).join('')) ? MASK : word))
    .join('');
}

function maskedQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=');
      const [name, value] = at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)];
      const isHarmless = !looksSecret(name) && /^[a-z0-9.,_-]{0,16}$/.test(value) && !looksRandom(value);
      return `${pair.slice(0, at + 1)}${isHarmless ? value : maskedValue(value)}`;
    })
    .join('&');
}
