// The interfaces for letters between agents of different hosts: the mailboxes here, and the way to other hosts.

/** A letter on its way to another host. Sender and receiver are named as on their own hosts. */
export interface MailedLetter {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
  /** The number of earlier letters in this exchange of replies. */
  readonly hops: number;
}

export interface ListedAgents {
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  /** The number of agents that are left out. */
  readonly more: number;
}

/** The agents of other hosts. */
export interface AgentsElsewhere {
  /**
   * Puts a letter into a mailbox on another host. Rejects with the reason if it is refused, or if the outcome is
   * unknown.
   */
  post(host: string, letter: MailedLetter): Promise<{ readonly id: string }>;
  /** The agents of other hosts that `asker` may write to, as `NAME@HOST`. */
  list(asker: string): Promise<ListedAgents>;
}

/** The agents of this host. */
export interface AgentsHere {
  /** Takes a letter from another host. Throws if it is refused. */
  receive(host: string, letter: MailedLetter): { readonly id: string };
  /** The agents that `asker`, of another host, may write to. */
  agentsFor(asker: string): ListedAgents;
}
