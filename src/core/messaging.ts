// The interface by which core hands messages between clients on. The room messaging implements it.

import type { AcceptedMethods } from '../protocol/accepted-methods.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ClientRequest } from './call.ts';
import type { OwnTools } from './joined-view.ts';
import type { Session } from './session.ts';

export interface Messaging {
  /** The message tools for a client that may use them. */
  toolsFor(accepted: AcceptedMethods): OwnTools | undefined;
  /** A client has got its id; `wantedId` is the id that it asked for. */
  joined(session: Session, accepted: AcceptedMethods, wantedId: string | undefined): void;
  /** A client has lost its connection and may come back. */
  wentAway(session: Session): void;
  left(session: Session): void;
  /** Answers a request about other clients, or for one of them. */
  request(session: Session, request: ClientRequest, envelope: Envelope): void;
  notice(session: Session, frame: Frame, envelope: Envelope): void;
  /** The daemon is about to end: calls that wait for a message are answered. */
  endWaits(): void;
}
