// The texts that calls carry: as long as asked for, each different from all others, and each able to say whether an
// answer holds exactly it.

const SAMPLES = {
  /** Escapes in JSON every few bytes, as in files of code, which is what agents mostly send. */
  code: '\tconst name = read("a/b.txt");\n  if (!name) return "\\\\none";\n',
  /** No escapes at all. */
  plain: 'abcdefghijklmnopqrstuvwxyz012345',
};
const LONGEST_TAG = 24;

/** Returns textOf(tag): the text that begins with this tag. */
export function sampleTexts(kind, bytes) {
  const sample = SAMPLES[kind];
  const filler = sample.repeat(Math.ceil(bytes / sample.length)).slice(0, Math.max(0, bytes - LONGEST_TAG));
  const fillerJson = JSON.stringify(filler).slice(1, -1);
  return (tag) => {
    const head = tag.padEnd(LONGEST_TAG, '.');
    return { json: `"${head}${fillerJson}"`, isIn: (result) => isExactly(result?.content, head, filler) };
  };
}

function isExactly(content, head, filler) {
  const text = content?.length === 1 ? content[0].text : undefined;
  if (typeof text !== 'string' || text.length !== head.length + filler.length) return false;
  return text.startsWith(head) && text.endsWith(filler);
}
