// How the daemon finds out that a client has gone without a word.

export interface LivenessSettings {
  /** How long a client may be silent before it is pinged; 0 pings nobody. */
  readonly pingPeriodMs: number;
  /** Pings in a row without an answer, after which a client counts as gone. */
  readonly maxMissedPings: number;
  /** Whether that also goes for clients that have never answered one, such as a person with `nc`. */
  readonly cutOffSilentClients: boolean;
}

export const DEFAULT_LIVENESS: LivenessSettings = {
  pingPeriodMs: 30_000,
  maxMissedPings: 3,
  cutOffSilentClients: false,
};
