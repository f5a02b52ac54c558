// How the tables of this folder say where clients keep their definitions. `at` begins with the name of a base
// (bases.ts); a segment with a star stands for all names that fit. Several paths with bars between them are looked at
// directory by directory.

import type { FormatName } from '../formats/format.ts';
import type { Platform } from '../host.ts';

export interface ClientPlace {
  readonly client: string;
  readonly at: string;
  readonly format: FormatName;
  /** `project` below a project's directory, else `user`. A star is what the star of the path stood for. */
  readonly scope?: string;
  readonly on?: readonly Platform[];
  /** Of the places with the same word only the first that is there counts. */
  readonly instead?: string;
}

type Detail = Omit<ClientPlace, 'client' | 'at' | 'format'>;

export function place(client: string, at: string, format: FormatName, detail: Detail = {}): ClientPlace {
  return { client, at, format, ...detail };
}
