// A figure that something was promised about. A missed one is said, and fails nothing: the machine may be busy.

/** `value` should be at most `limit`. */
export const atMost = (what, value, limit, unit = '') => ({ what, value, limit, unit, sense: '<=' });
/** `value` should be at least `limit`. */
export const atLeast = (what, value, limit, unit = '') => ({ what, value, limit, unit, sense: '>=' });

export function verdictOf({ value, limit, sense }) {
  if (!Number.isFinite(value)) return 'not measured';
  return (sense === '<=' ? value <= limit : value >= limit) ? 'met' : 'MISSED';
}
