// `dialIn`: the names under which programs that connect by themselves may offer their tools to everybody.

import type { DialInServer } from '../model/server-definition.ts';
import { DIAL_IN } from '../model/settings.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { isServerName, SERVER_NAME_RULE } from '../protocol/inbound-server.ts';
import type { Reader } from './reader.ts';
import { readSection } from './section.ts';

export function dialInOf(reader: Reader, value: unknown, isDefined: (name: string) => boolean): DialInServer[] {
  const entries = Object.entries(reader.section(value, 'dialIn'));
  return entries.flatMap(([name, entry]) => dialInServerOf(reader, name, entry, isDefined) ?? []);
}

function dialInServerOf(
  reader: Reader,
  name: string,
  entry: unknown,
  isDefined: (name: string) => boolean,
): DialInServer | undefined {
  const place = `dialIn.${name}`;
  const before = reader.errors;
  const settings = readSection(reader, entry, place, DIAL_IN);
  if (!isServerName(name)) reader.fault(place, `needs a name of ${SERVER_NAME_RULE}`);
  if (isDefined(name)) reader.fault(place, 'is in mcpServers too');
  const definition: DialInServer = {
    name,
    transport: 'dial-in',
    ...settings,
    idleMs: undefined,
    sharing: 'shared',
    tools: NO_FILTER,
  };
  return reader.errors > before ? undefined : definition;
}
