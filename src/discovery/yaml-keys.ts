// The keys of a YAML document. The parser compares each with all others of its map, and writes those that are no texts
// out again and again: a small file would keep everybody waiting for minutes. So they are looked at here, once.

import { type Document, isScalar, visit } from 'yaml';
import { SyntaxFault } from './json-document.ts';

/** Those that are twice in one map; the last one counts. Throws a SyntaxFault for a key that is no text. */
export function keysTwiceIn(document: Document): string[] {
  const twice: string[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (key !== null && !isScalar(key)) throw new SyntaxFault('a key in it is no text', 1, 1);
        const name = String(key?.value);
        if (seen.has(name)) twice.push(name);
        seen.add(name);
      }
    },
  });
  return twice;
}
