// Logs each step of each call, so that a person can follow it. It listens only if the log level is `debug`, so it costs
// nothing otherwise. It never logs arguments or results.

import { codeIn } from '../protocol/rpc-error.ts';
import type { LogFields, Logger } from '../util/logger.ts';
import { Field } from '../wire/envelope.ts';
import type { Events, ObservedCall } from './events.ts';

/** The maximum length of a logged text that a client has chosen. */
const MOST_SHOWN = 200;

/** Logs each step of each call, at the level `debug`. */
export function logCalls(events: Events, logger: Logger): void {
  const step = (text: string, { session, idText }: ObservedCall, more?: LogFields): void =>
    logger.debug(text, { clientId: session.clientId, id: shown(idText), ...more });

  events.toolWanted.on(({ clientId, name, view }, { b }, envelope) => {
    const tool = envelope.has(Field.name) ? shown(envelope.raw(b, Field.name)) : undefined;
    logger.debug('a tool is asked for', { clientId, name, view: view?.name, tool });
  });
  events.callBegun.on((call) => step('call begun', call, { role: call.plan.role }));
  events.callWaiting.on((call, why) => step('call waits', call, { for: why }));
  events.callSent.on((call, server) => step('call sent', call, { server, serverRequestId: call.serverRequestId }));
  events.callProgressed.on((call, server) => step('server goes on with the call', call, { server }));
  events.serverAnswered.on((call, server, hasResult) =>
    step('server answered', call, { server, with: hasResult ? 'result' : 'error' }),
  );
  events.serverSilent.on((call, server) => step('server will not answer', call, { server }));
  events.callSuspended.on((call) => step('call answered with questions', call));
  events.callContinued.on((retry) => step('call goes on', retry));
  events.callAnsweredHere.on((call) => step('call answered by the bridge', call));
  events.callFailed.on((call, error) =>
    step('call failed', call, { code: typeof error === 'string' ? codeIn(error) : error.code }),
  );
  events.callGivenUp.on((call, why) => step('call given up', call, { because: why }));
  events.callEnded.on((call) => step('call ended', call));
}

const shown = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
