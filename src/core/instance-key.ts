// The key of an instance: the clients it is for. This decides who may use the instance.

import type { ClientCapabilities } from '../protocol/initialize.ts';

/** The client that an instance is for. */
interface InstanceOwner {
  /** The client's own description of itself. */
  readonly clientInfo: object | undefined;
}

export interface InstanceKey<Owner extends InstanceOwner = InstanceOwner> {
  /** The capabilities that the server is offered: those of the client that started the instance. */
  capabilities: ClientCapabilities;
  /** The key of its clients' roots; undefined until the server has asked for roots. */
  rootsKey: string | undefined;
  /** The only client that may use it; undefined if several may. */
  owner: Owner | undefined;
}

/** The key of clients without roots. */
export const NO_ROOTS_KEY = '';

/** The key of an instance that was told of changed roots and has not asked for them yet. No client has this key. */
export const ROOTS_IN_DOUBT = 'in doubt';

/** The key of an instance whose clients have different roots. */
export const ROOTS_DISAGREED = 'disagreed';

/**
 * The key of an instance that asked for roots during calls. The roots of those calls' clients apply, but are not
 * certain yet.
 */
export const ROOTS_UNDECIDED = 'undecided';
