// `mcp-bridge send`: sends a message to another client, and prints the answer.

import type { Answer } from '../../client/tool-client.ts';
import { membersOf, textOf } from '../../util/json-value.ts';
import { printableJson } from '../../util/printable.ts';
import { DONE, INTERRUPTED } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { WhereValues } from '../locate.ts';
import { patiently, timeoutIn } from '../patience.ts';
import { argumentsFrom, argumentsIn } from '../tool-arguments.ts';
import { ofCommand, withTools, wrongUsage } from '../tool-session.ts';
import { forSender } from '../undelivered.ts';

export interface SendValues extends WhereValues {
  readonly to: string;
  readonly method?: string | undefined;
  readonly arguments?: readonly string[] | undefined;
  readonly params?: string | undefined;
  readonly notify?: boolean | undefined;
  readonly message?: string | undefined;
  readonly 'in-reply-to'?: string | undefined;
  readonly timeout?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function send(values: SendValues, host: CliHost): Promise<number> {
  const timeoutMs = timeoutIn(values.timeout, 'send');
  const { method, params } = values.message === undefined ? messageIn(values) : letterIn(values);
  // A daemon started now would have no clients to send to.
  const answer = await withTools({ ...values, 'no-autostart': true }, host, (client) =>
    patiently({ host, timeoutMs }, (signal) => client.request(method, params, { signal, isAct: true })).catch(
      (error: unknown) => {
        throw forSender(error, values.to);
      },
    ),
  );
  if (answer === undefined) return INTERRUPTED;
  print(answer, values, host);
  return DONE;
}

function messageIn({ to, method, params, notify, arguments: pairs = [] }: SendValues): {
  readonly method: string;
  readonly params: string;
} {
  if (method === undefined) throw wrongUsage('send', 'Name a method, or give a text with --message');
  if (params !== undefined && pairs.length > 0)
    throw wrongUsage('send', 'Params come in one way: KEY=VALUE, or --params');
  const given = ofCommand('send', () =>
    params === undefined
      ? argumentsFrom(pairs, { server: to, tool: method, inputSchema: {} })
      : argumentsIn(params, '--params'),
  );
  const message = `{"to":${JSON.stringify(to)},"method":${JSON.stringify(method)},"params":${given}`;
  return { method: 'bridge/send', params: `${message}${notify === true ? ',"notify":true' : ''}}` };
}

function letterIn(values: SendValues): { readonly method: string; readonly params: string } {
  const { to, method, message: text, 'in-reply-to': inReplyTo, notify, params } = values;
  if (method !== undefined || params !== undefined || notify === true)
    throw wrongUsage('send', '--message goes into a mailbox, and takes no method, --params or --notify');
  return { method: 'bridge/post', params: JSON.stringify({ to, text, inReplyTo }) };
}

function print(answer: Answer, { json, notify, message }: SendValues, host: CliHost): void {
  if (json === true || (notify !== true && message === undefined))
    host.stdout.write(`${printableJson(answer.text())}\n`);
  else if (message !== undefined)
    host.stdout.write(`It is in the mailbox, as ${textOf(membersOf(answer.result).id)}\n`);
  else host.stdout.write('It is on its way\n');
}
