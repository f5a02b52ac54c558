// Definitions that come from no file that discovery reads.

import type { PlacedEntry } from './definition.ts';
import { entriesOfMap, type ParsedFile } from './formats/format.ts';
import type { Location } from './locations.ts';
import { isTree } from './tree.ts';

export interface GivenServers {
  /** `bridge` for the bridge's own. */
  readonly client: string;
  /** `dynamic` for flags and the bridge's own config, `hosted` for connectors. */
  readonly scope: string;
  /** Where they come from, for people. */
  readonly file: string;
  readonly servers: unknown;
}

type Surroundings = Pick<ParsedFile, 'machine' | 'report' | 'isProject'>;

/** They come before all that was found. */
export function givenEntries(given: readonly GivenServers[], surroundings: Surroundings): PlacedEntry[] {
  const entries = given.flatMap(({ client, scope, file: path, servers }) => {
    const location: Location = {
      client,
      scope,
      format: 'bridge',
      path,
      pattern: [],
      project: undefined,
      instead: undefined,
    };
    const parsed: ParsedFile = { ...surroundings, value: servers, location, path, companion: undefined };
    const place = client === 'bridge' ? ['mcpServers'] : [];
    return (isTree(servers) ? entriesOfMap(parsed, servers, place) : []).map((entry) => ({
      ...entry,
      ...{ client, scope, location, path, realpath: path },
      sources: [{ client, scope, name: entry.name, file: path }],
      awaitsApproval: false,
      isStale: false,
    }));
  });
  return entries.map((entry, i) => ({ ...entry, order: i - entries.length }));
}
