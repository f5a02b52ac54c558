// `mcp-bridge resources`: lists the resources of servers, or reads one of them.

import { textOf } from '../../util/json-value.ts';
import { DONE, INTERRUPTED } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { patiently } from '../patience.ts';
import { printable, printJson, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import { STDOUT, saveBlobs } from '../saved-blobs.ts';
import { everyPage, recordsIn, type ToolCommandValues, withTools, wrongUsage } from '../tool-session.ts';

export interface ResourcesValues extends ToolCommandValues {
  readonly action: 'list' | 'read';
  readonly uri?: string | undefined;
  readonly server?: string | undefined;
  readonly out?: string | undefined;
}

export function resources(values: ResourcesValues, host: CliHost): Promise<number> {
  return values.action === 'list' ? list(values, host) : read(values, host);
}

async function list(values: ResourcesValues, host: CliHost): Promise<number> {
  if (values.uri !== undefined)
    throw wrongUsage('resources', 'list takes no URI: --server NAME lists those of one server');
  const found = await withTools(values, host, (client) => everyPage(client, 'resources'), { view: viewOf(values) });
  if (values.json === true) return printJson({ resources: found }, host);
  const rows = found.map(({ uri, name, mimeType, description }) => [
    ...[uri, name, mimeType, description].map((text) => textOf(text)),
  ]);
  host.stdout.write(
    rows.length === 0
      ? 'No server has resources.\n'
      : table(['URI', 'NAME', 'TYPE', 'DESCRIPTION'], rows, { width: widthOf(host) }),
  );
  return DONE;
}

async function read(values: ResourcesValues, host: CliHost): Promise<number> {
  const { uri, out } = values;
  if (uri === undefined) throw wrongUsage('resources', 'Name the URI of a resource');
  const answer = await withTools(
    values,
    host,
    (client) =>
      patiently({ host, timeoutMs: undefined }, (signal) =>
        client.request('resources/read', JSON.stringify({ uri }), { signal }),
      ),
    { view: viewOf(values) },
  );
  if (answer === undefined) return INTERRUPTED;
  if (values.json === true) return printJson(answer.result, host);
  const contents = recordsIn((answer.result as { readonly contents?: unknown } | undefined)?.contents);
  const blobs = contents.flatMap(({ blob, mimeType }) =>
    typeof blob === 'string'
      ? [{ kind: 'blob' as const, mimeType: textOf(mimeType), bytes: Buffer.from(blob, 'base64') }]
      : [],
  );
  for (const { text } of contents) if (typeof text === 'string') host.stdout.write(endedLine(text));
  if (out === STDOUT) for (const { bytes } of blobs) host.stdout.write(bytes);
  else if (out !== undefined && blobs.length > 0)
    for (const line of saveBlobs(blobs, out, host.cwd)) host.stderr.write(`${line}\n`);
  else
    for (const { mimeType, bytes } of blobs)
      host.stdout.write(`${printable(mimeType)}, ${bytes.length} bytes; --out FILE saves it\n`);
  return DONE;
}

const endedLine = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

const viewOf = ({ server }: ResourcesValues): string => (server === undefined ? 'all' : `server:${server}`);
