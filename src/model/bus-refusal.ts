// Something from another host that was refused, for the audit log. Its names are claims of the sender, except those
// that the bus vouches for.

export interface BusRefusal {
  /**
   * `request`: a call of another host. `answer`: sent by an owner. `entry`: an entry in the list of hosts. `letter`: a
   * message for agents. `message`: dropped before it was read.
   */
  readonly what: 'request' | 'answer' | 'entry' | 'letter' | 'message';
  readonly why: string;
  readonly user?: string | undefined;
  readonly host?: string | undefined;
  readonly server?: string | undefined;
  /** How many of them, where several were refused together; else one. */
  readonly count?: number | undefined;
}
