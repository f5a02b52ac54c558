// Whether a URI may have come from a template (RFC 6570): what stands between the variables must be there, in order.
// Generously so: which server is asked depends on it, and not what that answers.

export function matchesTemplate(template: string, uri: string): boolean {
  const [first = '', ...others] = template.split(/\{[^{}]*\}/);
  const last = others.pop();
  if (last === undefined) return uri === template;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  for (const literal of others) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.length - last.length >= at && uri.endsWith(last);
}
