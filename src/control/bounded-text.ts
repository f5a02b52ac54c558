// Texts of others in reports: names, reasons, requests. None is longer than its reader can bear.

const LONGEST = 200;

/** The text, or its beginning and a sign that more follows. */
export function bounded(text: string, longest = LONGEST): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
