// Texts from outside in reports: names, reasons, requests. Each is cut to a maximum length.

const LONGEST = 200;

/** The text, or its beginning and a sign that more follows. */
export function bounded(text: string, longest = LONGEST): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
