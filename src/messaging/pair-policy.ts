// Which clients may say something to which. Client ids are what clients call themselves: this keeps programs of one user
// apart that mean well, and stops none that lies about its name.

import type { PairRule } from '../model/messaging-settings.ts';

export type MayTalk = (from: string, to: string) => boolean;

export function pairPolicy(rules: readonly PairRule[]): MayTalk {
  const compiled = rules.map(({ from, to, isAllowed }) => ({ from: globOf(from), to: globOf(to), isAllowed }));
  return (from, to) => compiled.find((rule) => rule.from.test(from) && rule.to.test(to))?.isAllowed ?? true;
}

function globOf(pattern: string): RegExp {
  // Several in a row mean no more than one, and would take long to find out.
  const source = pattern.replace(/\*+/g, '*').replace(/[.+^${}()|[\]\\*?]/g, meaningOf);
  return new RegExp(`^${source}$`, 's');
}

function meaningOf(character: string): string {
  if (character === '*') return '.*';
  return character === '?' ? '.' : `\\${character}`;
}
