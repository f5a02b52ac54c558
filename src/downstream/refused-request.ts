// Who has refused a request over HTTP: the server itself, by an answer to it, or what stands before it and looks at no more
// than the headers. What was said is looked at for that alone, and is told to nobody.

import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';

/** What refuses for the sake of a header says less. */
const MOST_BYTES = 65_536;

/** Whether the server may have answered the request of this id; takes the body. */
export async function isAnswered(id: unknown, response: Response): Promise<boolean> {
  const contentType = response.headers.get('content-type')?.toLowerCase();
  if (contentType?.startsWith('text/event-stream') === true) return true;
  const said = await textOf(response);
  return said === undefined || messagesIn(said).some((message) => membersOf(message).id === id);
}

/** Undefined if it is long, or broken. */
async function textOf({ body }: Response): Promise<string | undefined> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return undefined;
    }
  } catch {
    return undefined; // nobody knows what would have followed
  }
  return Buffer.concat(chunks).toString();
}

function messagesIn(text: string): readonly unknown[] {
  try {
    const said: unknown = JSON.parse(text);
    return Array.isArray(said) ? said : [said];
  } catch (error) {
    expectSyntaxError(error);
    return []; // no JSON is no answer
  }
}
