// The methods that a page may call, and which of them change something. All others are refused.

import { BridgeError } from '../util/bridge-error.ts';

type PageMethodKind = 'look' | 'change';

const METHODS: Readonly<Record<string, PageMethodKind>> = {
  'bridge/status': 'look',
  'bridge/connections': 'look',
  'bridge/calls': 'look',
  'bridge/instances': 'look',
  'bridge/tools': 'look',
  'bridge/answers': 'look',
  'bridge/search': 'look',
  'bridge/questions': 'look',
  'bridge/messages': 'look',
  'bridge/settings': 'look',
  'bridge/changes': 'look',
  'bridge/logs': 'look',
  'bridge/cancel': 'change',
  'bridge/accept': 'change',
  'bridge/refresh': 'change',
  'ui/discovery': 'look',
  'ui/inbox': 'look',
  'ui/audit': 'look',
  'ui/approve': 'change',
  'ui/reject': 'change',
  'ui/try': 'change',
  'ui/synonym': 'change',
};

/** Throws if this page may not use the method. */
export function checkMethod(method: string, canWrite: boolean): void {
  const kind = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (kind === undefined)
    throw new BridgeError('REQUEST_REFUSED', 'The dashboard has no such method', {
      hint: 'Is it of another version? Load the page again.',
    });
  if (kind === 'change' && !canWrite)
    throw new BridgeError('REQUEST_REFUSED', 'This dashboard can only look', {
      hint: 'To change something with it: mcp-bridge ui --write',
    });
}
