// What a server asks of the person who runs `call`.

import { expect, test } from 'vitest';
import { answered } from '../../../src/cli/elicitation.ts';
import { fakeHost } from '../../support/cli-host.ts';

const SCHEMA = {
  type: 'object',
  required: ['name', 'colour'],
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2 },
    age: { type: 'integer', minimum: 0 },
    colour: { type: 'string', enum: ['red', 'blue'] },
    wants: { type: 'array', items: { type: 'string', enum: ['tea', 'milk'] } },
    news: { type: 'boolean', default: false },
  },
};

async function typed(lines: readonly string[], params: object = { message: 'Who are you?', requestedSchema: SCHEMA }) {
  const host = fakeHost('/nowhere', '/nowhere', { columns: 80, answer: lines.join('\n') });
  const answer = await answered(params, host);
  return { answer, said: host.complaints() };
}

test('a form is filled in field by field, each as its type asks for', async () => {
  const { answer, said } = await typed(['', 'Ann', '42', '2', 'tea, 2', 'yes']);
  expect(answer).toEqual({
    action: 'accept',
    content: { name: 'Ann', age: 42, colour: 'blue', wants: ['tea', 'milk'], news: true },
  });
  expect(said).toContain('Who are you?');
  expect(said).toContain('1) red');
});

test('an invalid value is asked for again, and an optional one may be left out', async () => {
  const { answer, said } = await typed(['y', 'A', 'Ann', 'old', '-1', '', 'green', 'red', '', '']);
  expect(answer).toEqual({ action: 'accept', content: { name: 'Ann', colour: 'red', news: false } });
  expect(said).toContain('It has at least 2 characters.');
  expect(said).toContain('It is a number.');
  expect(said).toContain('It is at least 0.');
  expect(said).toContain('It is none of these.');
});

test('it can be declined, and cancelled, also by the end of the input', async () => {
  expect((await typed(['n'])).answer).toEqual({ action: 'decline' });
  expect((await typed(['c'])).answer).toEqual({ action: 'cancel' });
  expect((await typed(['y', 'Ann'])).answer).toEqual({ action: 'cancel' });
});

test('questions other than forms are not answered here', async () => {
  expect((await typed([], { mode: 'url', url: 'https://x.example', message: 'Go there' })).answer).toBeUndefined();
});
