// The prompts of the server, by name, and the completion of their arguments. Each `run` returns messages.
import { image, resource, text } from './content.mjs';

const fromUser = (...contents) => contents.map((content) => ({ role: 'user', content }));

export const prompts = {
  test_simple_prompt: {
    description: 'A prompt without arguments',
    run: () => fromUser(text('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    description: 'A prompt with two arguments',
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
    run: ({ arg1, arg2 }) => fromUser(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    description: 'A prompt with a resource in it',
    arguments: [{ name: 'resourceUri', description: 'URI of the resource to embed', required: true }],
    run: ({ resourceUri }) =>
      fromUser(
        resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: {
    description: 'A prompt with an image in it',
    run: () => fromUser(image, text('Please analyze the image above.')),
  },
};

const WORDS = ['paris', 'park', 'party', 'test', 'testing'];

export function complete({ value }) {
  const values = WORDS.filter((word) => word.startsWith(value));
  return { values, total: values.length, hasMore: false };
}
