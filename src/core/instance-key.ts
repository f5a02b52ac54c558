// What an instance is for: who may use it follows from this.

import type { ClientCapabilities } from './era/initialize.ts';
import type { Session } from './session.ts';

export interface InstanceKey {
  /** What it is offered: the capabilities of the client that has it started. */
  capabilities: ClientCapabilities;
  /** The roots of its clients; undefined until it has asked for any. */
  rootsKey: string | undefined;
  /** The one client that it is for. */
  owner: Session | undefined;
}
