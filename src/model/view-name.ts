// The names of views as people, clients, tokens and configs write them, and their paths under /mcp. This is the only
// list of them.

const PLAIN_VIEWS: readonly string[] = ['discover', 'all', 'code'];
const NAMED_VIEW = /^(server|toolset):(.+)$/s;
/** The path of one server, or of a set of tools. */
const NAMED_PATH = /^\/(server|toolset)\/([^/]{1,1024})$/;

/** The names of views, for messages and help. */
export const VIEW_NAMES = 'discover, all, code, server:NAME, or toolset:NAME';

/** True for the name of a view, whether or not it exists. */
export function isViewName(text: string): boolean {
  return PLAIN_VIEWS.includes(text) || NAMED_VIEW.test(text);
}

/** The path of a view, below the common path. `view` is a view's name. */
export function pathOfView(view: string): string {
  const [, kind, name] = NAMED_VIEW.exec(view) ?? [];
  return name === undefined ? `/${view}` : `/${kind}/${encodeURIComponent(name)}`;
}

/** The view at such a path; undefined if there is none. */
export function viewAtPath(path: string): string | undefined {
  const plain = path.slice(1);
  if (PLAIN_VIEWS.includes(plain)) return plain;
  const [, kind, name] = NAMED_PATH.exec(path) ?? [];
  const decoded = name === undefined ? undefined : decodedName(name);
  return decoded === undefined ? undefined : `${kind}:${decoded}`;
}

function decodedName(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
