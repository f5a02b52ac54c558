// The key of an instance: what it is for. Who may use the instance follows from this.

import type { ClientCapabilities } from '../protocol/initialize.ts';

/** The client that an instance is for. */
interface InstanceOwner {
  /** All that the client says of itself. */
  readonly clientInfo: object | undefined;
}

export interface InstanceKey<Owner extends InstanceOwner = InstanceOwner> {
  /** The capabilities that the instance is offered: those of the client that has it started. */
  capabilities: ClientCapabilities;
  /** The key of the roots of its clients; undefined until the instance has asked for roots. */
  rootsKey: string | undefined;
  /** The one client that it is for; undefined if several may use it. */
  owner: Owner | undefined;
}

/** The key of clients without roots. */
export const NO_ROOTS_KEY = '';

/** The key of an instance that was told of a change and has not asked for the new roots. No client has this key. */
export const ROOTS_IN_DOUBT = 'in doubt';

/** The key of an instance whose clients have different roots. */
export const ROOTS_DISAGREED = 'disagreed';

/**
 * The key of an instance that has asked for roots during calls: the roots of these clients apply, and are not certain
 * yet.
 */
export const ROOTS_UNDECIDED = 'undecided';
