// Variables that a client adds to the environment of its servers, whatever their entries say. They are about the client and
// where it works: they tell no servers apart, and nobody has to agree to them.

const GIVEN = new Set([
  ...['CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_ROOT', 'CLAUDE_PLUGIN_DATA'],
  ...['PLUGIN_ROOT', 'PLUGIN_DATA'],
]);

type Texts = Readonly<Record<string, string>>;

/** As an entry would write them. */
export function givenAsWritten(given: Texts): Texts {
  return Object.fromEntries(Object.keys(given).map((name) => [name, `\${${name}}`]));
}

/** The variables of an environment that are the entry's own; `written` is the same before any variable was filled in. */
export function withoutGiven(env: Texts, written: Texts): Texts {
  const isGiven = (name: string): boolean => GIVEN.has(name) && written[name] === `\${${name}}`;
  const names = Object.keys(env);
  return names.some(isGiven) ? Object.fromEntries(Object.entries(env).filter(([name]) => !isGiven(name))) : env;
}
