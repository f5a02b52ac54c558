// What a client has asked with cannot be understood.

import { BridgeError } from '../util/bridge-error.ts';

export function invalidParams(problem: string): BridgeError {
  return new BridgeError('MESSAGE_INVALID', problem, { hint: 'See docs/agents.md.' });
}
