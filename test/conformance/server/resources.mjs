// The resources of the server: some fixed ones, and one family of them behind a template.
import { PNG } from './content.mjs';

const fixed = {
  'test://static-text': {
    name: 'Static text',
    mimeType: 'text/plain',
    holds: { text: 'This is the content of the static text resource.' },
  },
  'test://static-binary': { name: 'Static binary', mimeType: 'image/png', holds: { blob: PNG } },
  'test://watched-resource': { name: 'Watched', mimeType: 'text/plain', holds: { text: 'Watched resource content.' } },
};

export const listedResources = Object.entries(fixed).map(([uri, { name, mimeType }]) => ({
  uri,
  name,
  description: `${name}, for testing`,
  mimeType,
}));

export const listedTemplates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'Data by id',
    description: 'Data by id, for testing',
    mimeType: 'application/json',
  },
];

/** Undefined if there is none. */
export function readResource(uri) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
  }
  if (!Object.hasOwn(fixed, uri)) return undefined;
  return { uri, mimeType: fixed[uri].mimeType, ...fixed[uri].holds };
}
