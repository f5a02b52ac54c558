// Whether a tool says of itself that it should not be used any more. What it says of packages, fields or its server is
// something else.

const SIGNS = [
  /^\W*deprecated\b/i,
  /[[({*]\s*deprecated\b/i,
  /\bDEPRECATED\b/,
  /\b(?:tool|function|method|endpoint|command|this)\s+(?:is|was|has been)\s+(?:now\s+)?deprecated\b/i,
];

export function isDeprecated(description: string): boolean {
  return /deprecated/i.test(description) && SIGNS.some((sign) => sign.test(description));
}
