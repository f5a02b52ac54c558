// What a server is for, in one line: as somebody has written it, else as it says itself.

import type { Binding } from '../core/binding.ts';
import { instructionsOf, serverInfoOf } from '../core/era/initialize.ts';
import { textOf } from '../util/json-value.ts';

const LONGEST = 120;
/** The marks of headings, lists and emphasis. */
const MARKS = /^[#>*_\-\s]+|[*_`]+/g;
const SENTENCE_END = /(?<=[.!?\u3002])(?:\s|$)/u;

/** '' if nobody has said anything. */
export function descriptionOf({ server, profile, session }: Binding): string {
  if (server.description !== '') return server.description;
  const initializeResult = (profile ?? server.known.lastProfileFor(server.keyFor(session)))?.initializeResult;
  if (initializeResult === undefined) return '';
  const { description, title, name } = serverInfoOf(initializeResult);
  const said = [description, title === name ? '' : title, instructionsOf(initializeResult)].map(firstSentence);
  return said.find((words) => words !== '') ?? '';
}

function firstSentence(text: unknown): string {
  const lines = textOf(text)
    .slice(0, 20 * LONGEST)
    .split(/\r?\n/);
  const line = lines.map((one) => one.replace(MARKS, '').trim()).find((one) => one !== '') ?? '';
  const [sentence = ''] = line.split(SENTENCE_END);
  return sentence.length <= LONGEST ? sentence : `${sentence.slice(0, LONGEST - 1)}…`;
}
