import { describe, expect, test } from 'vitest';
import { contentFailure, failureOf, networkFailure, statusFailure } from '../../../src/downstream/remote-failure.ts';

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error('s3cret', { cause }), { code });

describe('a failure on the way to a server at a URL', () => {
  test.each([
    ['ECONNREFUSED', 'could not be reached: connection refused (ECONNREFUSED)'],
    ['ENOTFOUND', 'could not be reached: its host name is unknown (ENOTFOUND)'],
    ['EAI_AGAIN', 'could not be reached: its host name cannot be looked up now (EAI_AGAIN)'],
    ['CERT_HAS_EXPIRED', 'could not be reached: its certificate has expired (CERT_HAS_EXPIRED)'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'could not be reached: its certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN)'],
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'could not be reached: its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
    [
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'could not be reached: it does not speak TLS there (ERR_SSL_WRONG_VERSION_NUMBER)',
    ],
    ['HPE_INVALID_CONSTANT', 'could not be reached: it does not speak HTTP there (HPE_INVALID_CONSTANT)'],
    ['EOTHER', 'could not be reached (EOTHER)'],
  ])('of the kind %s is one sentence', (code, sentence) => {
    expect(networkFailure(coded(code)).message).toBe(sentence);
    expect(networkFailure(new TypeError('fetch failed', { cause: coded(code) })).message).toBe(sentence);
    const each = new AggregateError([coded(code), coded('EOTHER')]);
    expect(networkFailure(new TypeError('fetch failed', { cause: each })).message).toBe(sentence);
  });

  test.each([
    [401, false, 'says that the bridge is not authorized (HTTP 401)'],
    [403, false, 'denies access (HTTP 403)'],
    [404, false, 'is not at its url (HTTP 404)'],
    [404, true, 'has ended the session'],
    [418, false, 'refused the request (HTTP 418)'],
    [302, false, 'redirects to another server, which the bridge does not follow (HTTP 302)'],
    [500, true, 'failed (HTTP 500)'],
    [503, false, 'failed (HTTP 503)'],
  ])('of the status %i is one sentence', (status, isOpen, sentence) => {
    expect(statusFailure(status, isOpen).message).toBe(sentence);
  });

  test('never repeats the answer', () => {
    const said = [
      failureOf(new Error('s3cret')),
      failureOf('s3cret'),
      contentFailure('text/html; s3cret'),
      contentFailure('<s3cret>'),
      contentFailure(null),
    ];
    expect(said.map(({ message }) => message)).toEqual([
      'cannot be used, because of a fault in mcp-bridge (Error)',
      'cannot be used, because of a fault in mcp-bridge (string)',
      'does not speak MCP at its url: it answered with text/html instead of JSON',
      'does not speak MCP at its url: it answered with something instead of JSON',
      'does not speak MCP at its url: it answered with something instead of JSON',
    ]);
  });
});
