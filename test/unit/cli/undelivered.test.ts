// Why a message did not arrive: the command decides by what the daemon says for programs, whatever its words are.

import { describe, expect, test } from 'vitest';
import { forSender } from '../../../src/cli/undelivered.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';

function refusal(code: string, facts: object): BridgeError {
  return new BridgeError('REQUEST_REFUSED', 'Some words', {
    hint: 'Some advice.',
    cause: { code: -32602, message: 'Some words', data: { code, hint: 'Some advice.', ...facts } },
  });
}

describe('a message that did not arrive', () => {
  test.each([
    ['MESSAGE_NOT_ACCEPTED', { reason: 'mailboxes-need-restart' }, /^Some advice\. mcp-bridge restart$/],
    ['MESSAGE_NOT_ACCEPTED', { reason: 'mailboxes-need-setting' }, /^Some advice\. Then: mcp-bridge restart$/],
    ['MESSAGE_NOT_ACCEPTED', { reason: 'view-without-mailbox' }, /^Some advice\. .*mcp-bridge clients$/],
    ['MESSAGE_NOT_ACCEPTED', { reason: 'method-not-accepted' }, /^To see .*mcp-bridge clients$/],
    ['CLIENT_NOT_FOUND', { near: ['other'] }, /^Some advice\.$/],
    ['CLIENT_NOT_FOUND', { near: [] }, /^To see .*mcp-bridge clients$/],
  ])('because of %s with %j has its advice by these', (code, facts, hint) => {
    expect(forSender(refusal(code, facts), 'b')).toMatchObject({ hint: expect.stringMatching(hint) as string });
  });
});
