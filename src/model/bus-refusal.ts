// Something of another host that was not taken, as the audit log has it. All names are the word of whoever has sent it, but for what the bus vouches for.

export interface BusRefusal {
  /**
   * `request`: a call of another host. `answer`: what an owner has sent. `entry`: what stands on the list of hosts. `letter`: a message for agents.
   * `message`: one that was dropped before it was read.
   */
  readonly what: 'request' | 'answer' | 'entry' | 'letter' | 'message';
  readonly why: string;
  readonly user?: string | undefined;
  readonly host?: string | undefined;
  readonly server?: string | undefined;
  /** How many of them, where several were refused together; else one. */
  readonly count?: number | undefined;
}
