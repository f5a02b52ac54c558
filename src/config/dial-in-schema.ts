// `dialIn`: the names under which programs that connect by themselves may offer their tools to everybody.

import type { DialInServer } from '../model/server-definition.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { isServerName, SERVER_NAME_RULE } from '../protocol/inbound-server.ts';
import type { Reader } from './reader.ts';

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
  const fields = reader.section(entry, place);
  reader.keys(fields, place, ['description', 'timeoutMs', 'startTimeoutMs', 'trustHints']);
  if (!isServerName(name)) reader.fault(place, `needs a name of ${SERVER_NAME_RULE}`);
  if (isDefined(name)) reader.fault(place, 'is in mcpServers too');
  const definition: DialInServer = {
    name,
    transport: 'dial-in',
    description: typeof fields.description === 'string' ? fields.description : '',
    timeoutMs: reader.optionalCount(fields.timeoutMs, `${place}.timeoutMs`),
    startTimeoutMs: reader.optionalCount(fields.startTimeoutMs, `${place}.startTimeoutMs`),
    idleMs: undefined,
    sharing: 'shared',
    trustHints: reader.flag(fields.trustHints, `${place}.trustHints`, false),
    tools: NO_FILTER,
  };
  return reader.errors > before ? undefined : definition;
}
