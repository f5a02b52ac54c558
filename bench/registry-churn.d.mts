export interface Churn {
  readonly processes: number;
  readonly durationMs: number;
  readonly killPeriodMs: number;
  readonly file: string;
}

export function churn(options: Churn): Promise<{
  readonly counts: {
    readonly readings: number;
    readonly registered: number;
    readonly killed: number;
    readonly most: number;
  };
  readonly faults: readonly string[];
}>;
