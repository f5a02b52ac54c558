// What cannot hold where a client and a server are of different eras, by revision of the suite: each check, and why. A listed
// check that holds after all fails the run as well.

const keys =
  'A question of a server of 2025 has no key: the bridge makes one up. The suite wants the key of its own server.';
const unforeseen =
  'Nobody knows before what a tool of 2025 will ask. The client that cannot answer is not asked, and the outcome of the call is passed on.';
const stateless =
  'The call of a server of 2025 waits at that server, so answers without a state belong to none. The bridge refuses them, and runs no tool twice.';

export const CROSSINGS = {
  // Clients of 2025 before a server of 2026.
  '2025-11-25': [],
  // Clients of 2026 before a server of 2025.
  '2026-07-28': [
    {
      scenario: 'input-required-result-basic-elicitation',
      check: 'sep-2322-elicitation-incomplete',
      why: keys,
      id: 'C4',
    },
    {
      scenario: 'input-required-result-basic-elicitation',
      check: 'sep-2322-elicitation-complete',
      why: keys,
      id: 'C4',
    },
    { scenario: 'server-stateless', check: 'sep-2575-server-rejects-undeclared-capability', why: unforeseen, id: 'C7' },
    { scenario: 'server-stateless', check: 'sep-2575-missing-capability-http-400', why: unforeseen, id: 'C7' },
    {
      scenario: 'input-required-result-missing-input-response',
      check: 'sep-2322-missing-response-rerequests',
      why: stateless,
      id: 'C9',
    },
    {
      scenario: 'input-required-result-ignore-extra-params',
      check: 'sep-2322-ignore-unexpected-params',
      why: stateless,
      id: 'C9',
    },
  ],
};
