// Letters between agents of different hosts, as both sides of the daemon know them: the mailboxes here, and the way to other hosts.

/** A letter on its way to another host. The agents have the names that they have on their own hosts. */
export interface MailedLetter {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
  /** The number of letters before it that were answers to each other. */
  readonly hops: number;
}

export interface ListedAgents {
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  /** The number of those that are left out. */
  readonly more: number;
}

/** The agents of other hosts. */
export interface AgentsElsewhere {
  /** Puts a letter into a mailbox on another host. Rejects with the reason if that is refused, or nobody knows. */
  post(host: string, letter: MailedLetter): Promise<{ readonly id: string }>;
  /** The agents of other hosts that one of here may write to, as `NAME@HOST`. */
  list(asker: string): Promise<ListedAgents>;
}

/** The agents of this host. */
export interface AgentsHere {
  /** Takes a letter of another host. Throws if it is refused. */
  receive(host: string, letter: MailedLetter): { readonly id: string };
  /** The agents that one of another host may write to. */
  agentsFor(asker: string): ListedAgents;
}
