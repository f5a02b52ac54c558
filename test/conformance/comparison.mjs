// Compares what the suite found in two places, check by check: which there are, how they ended, and their details but
// for what differs between any two runs.

const OF_THE_MOMENT = new Set(['timestamp', 'date']);
/** How often the suite has asked for a task until it was over. */
const OF_POLLS = 'messagesValidated';
/** How many notices came: lists change for all. */
const LISTENED = ['inspectedNotificationCount', 'narrowFramesCount'];
/** Whose log messages reach whom is not said by the protocol, so a neighbour's may be among what a client gets. */
const OF_NEIGHBOURS = new Set(['logs', 'logCount', 'messagesValidated', 'results', ...LISTENED]);

/**
 * Scenarios about HTTP itself. The bridge speaks it, and so does what stands before the server where there is no bridge: each in
 * its own way. So they are not compared, and the bridge has to pass them.
 */
const OF_HTTP = new Set([
  ...['dns-rebinding-protection', 'server-session-lifecycle', 'server-sse-polling', 'server-sse-multiple-streams'],
  ...['http-header-validation', 'http-custom-header-server-validation'],
]);

export const isOfHttp = (scenario) => OF_HTTP.has(scenario);

/** The checks of a scenario about HTTP that did not hold, as differences from what is wanted. */
export function failures(foundChecks) {
  const failed = foundChecks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (foundChecks.length === 0) return [{ check: 'all', wanted: 'to pass', found: 'it was not run' }];
  return failed.map(({ id, status, errorMessage }) => ({
    check: id,
    wanted: 'to pass',
    found: status,
    said: errorMessage,
  }));
}

/** The bridge looks at who asks itself, and refuses in its own words. */
const IN_OWN_WORDS =
  /^sep-2575-(request-meta-invalid|http-server-meta-invalid|server-unsupported|http-server-unsupported|http-server-header-mismatch)/;

const withoutNames = (text) =>
  text
    .replace(/"io\.modelcontextprotocol\/subscriptionId":\d+/g, 'SUBSCRIPTION')
    .replace(/"(id|subscriptionId)":\d{13}/g, 'ID')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/HOST\/mcp\/server\/[\w-]+/g, 'HOST/mcp')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g, 'SESSION');

/** What is stable of a check, as text. */
function stable(check, { hasNeighbours, crosses, polls }) {
  if (check === undefined) return 'no such check';
  const { id, status, errorMessage, details } = check;
  if (crosses) return status;
  const isInOwnWords = IN_OWN_WORDS.test(id);
  const isLeftOut = (key) =>
    OF_THE_MOMENT.has(key) ||
    (polls && key === OF_POLLS) ||
    (hasNeighbours && OF_NEIGHBOURS.has(key)) ||
    (isInOwnWords && key === 'message');
  const kept = (key, value) => (isLeftOut(key) ? undefined : sorted(value));
  return withoutNames(JSON.stringify({ status, errorMessage, details }, kept));
}

/** The order of members is for the wire comparison to look at. */
const sorted = (value) =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));

/** By id and, as an id may come more than once, how many of it came before. */
function keyed(checks) {
  const seen = new Map();
  const keyOf = ({ id }) => {
    const before = seen.get(id) ?? 0;
    seen.set(id, before + 1);
    return before === 0 ? id : `${id} (${before + 1})`;
  };
  return new Map(checks.map((check) => [keyOf(check), check]));
}

/** The checks of one scenario that differ: `{ check, wanted, found }`. */
export function differences(wantedChecks, foundChecks, how) {
  const [wanted, found] = [keyed(wantedChecks), keyed(foundChecks)];
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .map((check) => ({
      check,
      wanted: stable(wanted.get(check), how),
      found: stable(found.get(check), how),
    }))
    .map((pair) => (how.crosses ? { ...pair, said: found.get(pair.check)?.errorMessage } : pair))
    .filter((pair) => pair.wanted !== pair.found);
}

/** In a word: how a scenario ended. */
export function outcome(checks) {
  if (checks.length === 0) return 'none';
  const statuses = new Set(checks.map(({ status }) => status));
  if (statuses.has('FAILURE')) return 'fail';
  return statuses.has('WARNING') ? 'warn' : 'pass';
}

/** What the suite has to say against a scenario. */
export function complaints(checks) {
  if (checks.length === 0) return 'it was not run';
  return checks
    .filter(({ errorMessage }) => errorMessage !== undefined)
    .map(({ id, errorMessage }) => `${id}: ${errorMessage}`)
    .join('; ');
}
