// Splits a question into its wishes: `find a hotel in Paris, then book a table` has two. It knows the marks and words
// between wishes, never the tools. One wish too many costs little, because the whole question is searched too.

const MOST_WISHES = 8;

const SENTENCES = /(?<=[.!?;\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|[\r\n]+|;/u;
/** Words between two wishes of a sentence. */
const JOINTS =
  /,?\s+(?:and\s+then|then|and\s+also|and|as\s+well\s+as|but\s+also|plus|afterwards|while)\s+|,\s+(?=(?:then|also|finally|please|could|can|would)\s)/iu;

/** Paths, addresses and the like: these are arguments of a tool, and do not say what it is for. */
const PATH = /(?<![\p{L}\p{N}.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@-]+(?:[/\\][\w.@-]*)+/gu;
/** A file without its directory. Only endings that no product name has: `next.js` is no file here. */
const FILE =
  /(?<![\w.@/])[\w-]+\.(bib|bmp|conf|csv|docx?|gif|html?|ini|jpe?g|json|log|md|mp[34]|pdf|png|pptx?|sqlite|svg|tsv|txt|wav|xlsx?|xml|ya?ml|zip)\b/giu;
const FILE_ENDING = /\.([A-Za-z]\w{0,4})$/;
const URL_TEXT = /\bhttps?:\/\/[^\s"'<>)\]]+/giu;

/**
 * Replaces a path by `file` and its ending, and an address by `url`: their words come from the user, not from the tool.
 */
export function withoutArguments(question: string): string {
  return question
    .replace(URL_TEXT, ' url ')
    .replace(FILE, ' file $1 ')
    .replace(PATH, (path) => ` file ${FILE_ENDING.exec(path)?.[1]?.toLowerCase() ?? ''} `);
}

/** The wishes of a question, in order. The last one also takes everything beyond the limit. */
export function wishesIn(question: string): string[] {
  const parts = question
    .split(SENTENCES)
    .flatMap((sentence) => sentence.split(JOINTS))
    .filter((part) => /[\p{L}\p{N}]/u.test(part));
  return parts.length <= MOST_WISHES
    ? parts
    : [...parts.slice(0, MOST_WISHES - 1), parts.slice(MOST_WISHES - 1).join(' ')];
}
