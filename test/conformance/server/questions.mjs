// The tools that ask the client, as data that both eras use: rounds of questions, and what is answered in the end. A server
// of 2025 sends each question as a request; one of 2026 sends a round as an `input_required` result.
import { text } from './content.mjs';
import { defaultsForm, enumsForm, userForm } from './forms.mjs';

const form = (name, type = 'string') => ({ type: 'object', properties: { [name]: { type } }, required: [name] });
const elicit = (message, requestedSchema) => ({ method: 'elicitation/create', params: { message, requestedSchema } });
const sample = (words, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens },
});
const ROOTS = { method: 'roots/list' };

const NO_ARGUMENTS = { type: 'object', properties: {} };
const oneText = (name, description) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description } },
  required: [name],
});

/** What a user has said. */
const said = ({ action, content }) => `action=${action}, content=${JSON.stringify(content)}`;
const isSaid = () => [text('Thank you.')];

const asks = (description, rounds, finish, more = {}) => ({
  description,
  inputSchema: NO_ARGUMENTS,
  rounds: rounds.map((round) => () => round),
  finish,
  ...more,
});

const completed = (description, message, requestedSchema) =>
  asks(description, [{ answer: elicit(message, requestedSchema) }], ({ answer }) => [
    text(`Elicitation completed: ${said(answer)}`),
  ]);

/** A tool has `rounds`, each a function of the arguments, and `finish`, from the answers of the last round to content. */
export const asking = {
  test_sampling: {
    description: 'Asks the client to sample',
    inputSchema: oneText('prompt', 'The prompt to send to the LLM'),
    rounds: [({ prompt }) => ({ answer: sample(prompt) })],
    finish: ({ answer }) => [text(`LLM response: ${answer.content.text}`)],
  },
  test_elicitation: {
    description: 'Asks the user',
    inputSchema: oneText('message', 'The message to show the user'),
    rounds: [({ message }) => ({ answer: elicit(message, userForm) })],
    finish: ({ answer }) => [text(`User response: ${said(answer)}`)],
  },
  test_elicitation_sep1034_defaults: completed(
    'Asks the user with defaults of all primitive types',
    'Please review these values',
    defaultsForm,
  ),
  test_elicitation_sep1330_enums: completed('Asks the user with all kinds of enums', 'Please choose', enumsForm),
  test_input_required_result_elicitation: asks(
    'Asks for a name',
    [{ user_name: elicit('What is your name?', form('name')) }],
    ({ user_name }) => [text(`Hello, ${user_name.content?.name}!`)],
  ),
  test_input_required_result_sampling: asks(
    'Asks for a capital',
    [{ capital_question: sample('What is the capital of France?') }],
    ({ capital_question }) => [text(capital_question.content.text)],
  ),
  test_input_required_result_list_roots: asks('Asks for the roots', [{ client_roots: ROOTS }], ({ client_roots }) => [
    text(client_roots.roots.map(({ uri }) => uri).join()),
  ]),
  test_input_required_result_request_state: asks(
    'Asks, with a state',
    [{ confirm: elicit('Please confirm', form('ok', 'boolean')) }],
    () => [text('state-ok')],
    { hasState: true },
  ),
  test_input_required_result_tampered_state: asks(
    'Asks, with a state that is signed',
    [{ confirm: elicit('Please confirm', form('ok', 'boolean')) }],
    isSaid,
    { hasState: true },
  ),
  test_input_required_result_multiple_inputs: asks(
    'Asks three things at once',
    [
      {
        user_name: elicit('What is your name?', form('name')),
        greeting: sample('Generate a greeting', 50),
        client_roots: ROOTS,
      },
    ],
    isSaid,
    { hasState: true },
  ),
  test_input_required_result_multi_round: asks(
    'Asks twice',
    [
      { step1: elicit('Step 1: What is your name?', form('name')) },
      { step2: elicit('Step 2: What is your favorite color?', form('color')) },
    ],
    isSaid,
    { hasState: true },
  ),
  test_input_required_result_capabilities: asks(
    'Asks what the client can answer',
    [{ user_name: elicit('What is your name?', form('name')), greeting: sample('Generate a greeting', 50) }],
    isSaid,
    { onlyWhatIsDeclared: true },
  ),
  test_streaming_elicitation: asks(
    'Asks the user while it works',
    [{ answer: elicit('Please go on', form('ok', 'boolean')) }],
    isSaid,
  ),
};

/** A tool that asks clients whatever they can do; a server of 2026 refuses it instead to those that cannot sample. */
export const demanding = {
  test_missing_capability: asks('Needs a client that can sample', [{ answer: sample('Hello') }], isSaid),
};

/** A prompt that asks; `finish` returns messages. */
export const askingPrompts = {
  test_input_required_result_prompt: {
    description: 'A prompt that asks for its context',
    rounds: [() => ({ user_context: elicit('What context should the prompt use?', form('context')) })],
    finish: ({ user_context }) => [{ role: 'user', content: text(`Context: ${user_context.content?.context}`) }],
  },
};

/** Capability by method. */
const CAPABILITY = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** The questions of a round, without those that the client could not answer if the tool says so. */
export function questionsOf({ rounds, onlyWhatIsDeclared = false }, round, args, declared) {
  const questions = Object.entries(rounds[round](args));
  return Object.fromEntries(
    questions.filter(([, { method }]) => !onlyWhatIsDeclared || declared[CAPABILITY[method]] !== undefined),
  );
}
