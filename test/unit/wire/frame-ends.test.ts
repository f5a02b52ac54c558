import { describe, expect, test } from 'vitest';
import { answeredId, endsOf } from '../../../src/wire/frame-ends.ts';

const idOf = (message: string): number | undefined => {
  const bytes = Buffer.from(message);
  return answeredId(endsOf(bytes, 0, bytes.length));
};
const long = 'x'.repeat(5000);

describe('the id of an answer that is dropped', () => {
  test.each([
    [`{"jsonrpc":"2.0","id":7,"result":"${long}"}`],
    [`{"id":7,"jsonrpc":"2.0","error":{"message":"${long}"}}`],
    [`{ "id" : 7 , "result" : "${long}"}`],
    [`{"result":{"a":"${long}"},"jsonrpc":"2.0","id":7}`],
    [`{"jsonrpc":"2.0","result":{"a":"${long}"},"id":7}`],
    [`{"result":{"id":9,"a":"${long}"},"id":7,"jsonrpc":"2.0"} `],
  ])('is found at either end of %.30s…', (message) => {
    expect(JSON.parse(message)).toMatchObject({ id: 7 });
    expect(idOf(message)).toBe(7);
  });

  test.each([
    [
      'a request of the server, whose ids are its own',
      `{"jsonrpc":"2.0","id":7,"method":"roots/list","params":"${long}"}`,
    ],
    ['a request with its id at the end', `{"method":"x","params":"${long}","id":7}`],
    ['an id that is no number', `{"id":"7","result":"${long}"}`],
    ['an id in the middle', `{"a":"${long}","id":7,"result":"${long}"}`],
    ['one at the end of a member', `{"result":{"a":"${long}","id":7}}`],
    ['one inside a string', `{"result":"${long},\\"id\\":7}"}`],
    ['no id at all', `{"result":"${long}"}`],
  ])('is not guessed for %s', (_, message) => {
    expect(idOf(message)).toBeUndefined();
  });
});
