// The pages of MCP Apps in joined views. A tool names its page by a `ui:` URI, and two servers may use the same URI. So
// a joined view adds the server to the URI, in tools and in the list of resources. It never decides which server is
// asked.

import { isRecord } from '../util/json-value.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

const OUTWARD = 'mcp-bridge://';
/** Hosts look for pages under this scheme only. */
const OUTWARD_PAGE = 'ui://mcp-bridge/';

/** True for the page of an app. */
export function isPage(uri: string): boolean {
  return uri.startsWith('ui:');
}

/** The URI by which a joined view names a resource of one server. */
export function outwardUri(alias: string, uri: string): string {
  return `${isPage(uri) ? OUTWARD_PAGE : OUTWARD}${alias}/${uri}`;
}

/** Splits such a URI into the alias and the server's own URI; undefined for all other URIs. */
export function inwardUri(uri: string): { readonly alias: string; readonly uri: string } | undefined {
  const prefix = [OUTWARD, OUTWARD_PAGE].find((one) => uri.startsWith(one));
  if (prefix === undefined) return undefined;
  const slash = uri.indexOf('/', prefix.length);
  return slash < 0 ? undefined : { alias: uri.slice(prefix.length, slash), uri: uri.slice(slash + 1) };
}

/** The older member for a page's URI, from before `_meta.ui`; hosts still read it. */
const OLD_PAGE = 'ui/resourceUri';

/** The pages that the definition of a tool names: each URI with its place, in order. */
export function pagesNamedIn(tool: Buffer): readonly (Span & { readonly uri: string })[] {
  const meta = findMembers(tool, 0, ['_meta'])?.spans.get('_meta');
  const members = meta && findMembers(tool, meta.from, ['ui', OLD_PAGE])?.spans;
  const ui = members?.get('ui');
  const named = [ui && findMembers(tool, ui.from, ['resourceUri'])?.spans.get('resourceUri'), members?.get(OLD_PAGE)];
  return named
    .flatMap((span) => {
      const uri: unknown = span && JSON.parse(tool.toString('utf8', span.from, span.to));
      return span !== undefined && typeof uri === 'string' && isPage(uri) ? [{ ...span, uri }] : [];
    })
    .sort((a, b) => a.from - b.from);
}

/** The `_meta` of a tool with the page's URI in a joined view. */
export function withOutwardPage(meta: unknown, alias: string): unknown {
  if (!isRecord(meta)) return meta;
  const { ui, [OLD_PAGE]: old } = meta;
  return {
    ...meta,
    ...(isRecord(ui) && { ui: uiWithOutwardPage(ui, alias) }),
    ...(typeof old === 'string' && isPage(old) && { [OLD_PAGE]: outwardUri(alias, old) }),
  };
}

/** The `_meta.ui` of a tool with the page's URI in a joined view. */
export function uiWithOutwardPage(ui: Readonly<Record<string, unknown>>, alias: string): object {
  const { resourceUri } = ui;
  return typeof resourceUri === 'string' && isPage(resourceUri)
    ? { ...ui, resourceUri: outwardUri(alias, resourceUri) }
    : ui;
}

/** True for a tool that only apps may call: no model is shown it. `ui` is `_meta.ui` of its definition. */
export function isForAppsOnly(ui: Readonly<Record<string, unknown>> | undefined): boolean {
  const visibility: unknown = ui?.visibility;
  return Array.isArray(visibility) && visibility.length > 0 && !visibility.includes('model');
}
