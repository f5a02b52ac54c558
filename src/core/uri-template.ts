// Whether a URI may have come from a template (RFC 6570): what stands between the variables must be there, in order.
// Generously so: which server is asked first depends on it, and not what that answers.

/** What looking through all templates of one list may take, in characters that are compared: some milliseconds. */
export const MOST_TEMPLATE_STEPS = 2_000_000;
/** To look at a template that does not even begin as the URI does. */
const STEPS_EACH = 32;

/** The templates of one list, taken apart when they are first asked about. */
export class TemplateSet {
  readonly #templates: Iterable<string>;
  #literals: (readonly string[])[] | undefined;
  /** Taken by the last question. */
  steps = 0;

  constructor(templates: Iterable<string>) {
    this.#templates = templates;
  }

  /** Says no for a URI that it would take too long to find the template of: then all servers are asked in turn. */
  fits(uri: string): boolean {
    this.#literals ??= Array.from(this.#templates, literalsOf);
    this.steps = 0;
    for (const literals of this.#literals) {
      const steps = STEPS_EACH + (isFramed(literals, uri) ? stepsToSearch(literals, uri) : 0);
      if (this.steps + steps > MOST_TEMPLATE_STEPS) return false;
      this.steps += steps;
      if (comesFrom(literals, uri)) return true;
    }
    return false;
  }
}

export function matchesTemplate(template: string, uri: string): boolean {
  return comesFrom(literalsOf(template), uri);
}

function literalsOf(template: string): readonly string[] {
  return template.split(/\{[^{}]*\}/);
}

function comesFrom(literals: readonly string[], uri: string): boolean {
  if (!isFramed(literals, uri)) return false;
  if (literals.length === 1) return true;
  let at = (literals[0] ?? '').length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.length - (literals.at(-1) ?? '').length >= at;
}

/** Whether it begins and ends as the template does. */
function isFramed(literals: readonly string[], uri: string): boolean {
  const [first = ''] = literals;
  if (literals.length === 1) return uri === first;
  return uri.startsWith(first) && uri.endsWith(literals.at(-1) ?? '');
}

/** At worst a literal is compared as a whole at each place of the URI. */
function stepsToSearch(literals: readonly string[], uri: string): number {
  const inner = literals.slice(1, -1);
  return inner.reduce((sum, literal) => sum + literal.length, 0) * uri.length;
}
