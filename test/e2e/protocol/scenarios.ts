// All scenarios of the protocol.

import { CALL_SCENARIOS } from './calls.ts';
import { ELICITATION_SCENARIOS } from './elicitations.ts';
import { LIFECYCLE_SCENARIOS } from './lifecycle.ts';
import { LIST_SCENARIOS } from './lists.ts';
import { QUESTION_SCENARIOS } from './questions.ts';
import { RESOURCE_SCENARIOS } from './resources.ts';
import type { ProtocolScenario } from './scenario.ts';
import { TASK_SCENARIOS } from './tasks.ts';
import { UNTOUCHED_SCENARIOS } from './untouched.ts';

export const PROTOCOL_SCENARIOS: readonly ProtocolScenario[] = [
  ...LIFECYCLE_SCENARIOS,
  ...CALL_SCENARIOS,
  ...LIST_SCENARIOS,
  ...RESOURCE_SCENARIOS,
  ...QUESTION_SCENARIOS,
  ...ELICITATION_SCENARIOS,
  ...TASK_SCENARIOS,
  ...UNTOUCHED_SCENARIOS,
];
