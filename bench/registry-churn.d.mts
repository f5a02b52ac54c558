export interface Counts {
  readonly readings: number;
  readonly registered: number;
  readonly killed: number;
  readonly most: number;
}

export interface Churn {
  readonly processes: number;
  readonly isEnough: (counts: Counts, tookMs: number) => boolean;
  readonly killPeriodMs: number;
  readonly file: string;
}

export function churn(options: Churn): Promise<{ readonly counts: Counts; readonly faults: readonly string[] }>;
