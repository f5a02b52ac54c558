// Places that are not the same on every machine of a platform: a client's own settings say where its file is. And files
// that define servers by running something, which are told and not read.

import { diagnostic } from './diagnostic.ts';
import type { Gathering } from './gathering.ts';
import type { Location } from './locations.ts';
import { projectDirs } from './machine.ts';
import { basesOf } from './places/bases.ts';
import { textAt } from './tree.ts';

/** The locations, with those before them that have taken their place. */
export async function withMoved(locations: readonly Location[], { reader, machine }: Gathering): Promise<Location[]> {
  const { path } = machine;
  const [data = ''] = basesOf(machine).get('DATA')?.dirs ?? [];
  const reading = await reader.read(path.join(data, 'Jan', 'settings.json'), 'json');
  const folder = reading.kind === 'document' ? textAt(reading.document.value, 'data_folder') : undefined;
  if (folder === undefined || !path.isAbsolute(folder)) return [...locations];
  const moved = path.join(folder, 'mcp_config.json');
  return locations.flatMap((location) =>
    location.client === 'jan' && location.path !== moved ? [{ ...location, path: moved }, location] : [location],
  );
}

/** Crush runs these files, and takes over what they set. */
export async function tellShellFiles({ reader, machine, report }: Gathering): Promise<void> {
  const config = (basesOf(machine).get('XC')?.dirs ?? []).map((dir) => machine.path.join(dir, 'crush'));
  const dirs = [...config, ...(machine.hasProject ? projectDirs(machine) : [])];
  await Promise.all(
    dirs.map(async (dir) => {
      const path = machine.path.join(dir, 'crushrc');
      if ((await reader.peek(path, machine.hasProject)) === undefined) return;
      const message = `${path} is a shell file, which Crush runs. It is not run here: put its servers into crush.json.`;
      report(diagnostic('executes', message, { path }));
    }),
  );
}
