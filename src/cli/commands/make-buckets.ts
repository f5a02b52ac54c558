// `mcp-bridge hosts --make-buckets`: creates the NATS buckets that hosts need, once, with administrator rights. It asks
// no daemon.

import { dirname, join } from 'node:path';
import { keepLaterCode, laterCode } from '../../local/later-code.ts';
import type { NatsSettings } from '../../model/federation-settings.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate } from '../locate.ts';
import { printJson } from '../render/table.ts';
import type { ListingValues } from './daemon-commands.ts';

interface Federation {
  makeBuckets(settings: NatsSettings): Promise<readonly { readonly bucket: string; readonly isNew: boolean }[]>;
}

export async function makeBuckets(values: ListingValues, host: CliHost): Promise<number> {
  const { loaded, configError } = await locate(values, host);
  if (configError !== undefined) throw configError;
  const { federation } = loaded.config;
  if (federation === undefined) {
    const fault = loaded.faults.find((one) => one.startsWith('federation'));
    throw new BridgeError('CONFIG_INVALID', fault ?? `${loaded.file ?? 'The config'} has no section federation`, {
      hint: 'Name NATS and the credentials of an administrator there (docs/federation.md), or name another file with --config.',
    });
  }
  keepLaterCode(join(dirname(host.program), 'hosts'));
  const buckets = await (laterCode('federation') as Federation).makeBuckets(federation.nats);
  if (values.json === true) return printJson(buckets, host);
  for (const { bucket, isNew } of buckets) host.stdout.write(`${bucket} ${isNew ? 'is made' : 'was there already'}\n`);
  return DONE;
}
