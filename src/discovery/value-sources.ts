// Where the values of a definition come from that it does not say itself: the variable, the file or the input that each
// header, variable or URL takes. A repository that sends `$AWS_SECRET_ACCESS_KEY` in a header must not look harmless.

import { printable } from '../util/printable.ts';
import type { Launch } from './discovered-server.ts';

/** Such as `$NAME`, `the file ~/x`, `the input x`. */
export type Sources = Readonly<Record<string, readonly string[]>>;

const REFERENCE =
  /\$\{\{\s*([^{}]+?)\s*\}\}|\$\{([^{}]+)\}|\{((?:env|file):[^{}]+)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g;

/** By the names of those that take any. */
function sourcesIn(values: Readonly<Record<string, string>>): Sources {
  const found = Object.entries(values).flatMap(([name, text]) => {
    const sources = sourcesOf(text);
    return sources.length === 0 ? [] : [[printable(name), sources] as const];
  });
  return Object.fromEntries(found);
}

function sourcesOf(text: string): string[] {
  return [
    ...new Set([...text.matchAll(REFERENCE)].map((match) => printable(named(match.slice(1).find(Boolean) ?? '')))),
  ];
}

function named(reference: string): string {
  const [, kind, rest = ''] =
    /^(env|file|input|inputs|secrets|user_config|config|command)[:.](.*)$/s.exec(reference) ?? [];
  if (kind === 'file') return `the file ${rest}`;
  if (kind !== undefined && kind !== 'env') return `the ${kind.replace(/s$/, '')} ${rest}`;
  return `$${(kind === 'env' ? rest : reference).replace(/:-.*$/s, '')}`;
}

/** All that a definition sends to the other side, or starts it with. */
export function sourcesOfLaunch({ headers, env, url }: Pick<Launch, 'headers' | 'env' | 'url'>): {
  readonly headers: Sources;
  readonly variables: Sources;
  readonly url: readonly string[];
} {
  return { headers: sourcesIn(headers), variables: sourcesIn(env), url: sourcesOf(url ?? '') };
}
