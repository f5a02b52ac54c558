// The names of views: each has one path, and comes back from it.

import { expect, test } from 'vitest';
import { isViewName, pathOfView, viewAtPath } from '../../../src/model/view-name.ts';

test.each([
  ['discover', '/discover'],
  ['all', '/all'],
  ['code', '/code'],
  ['server:my files/%', '/server/my%20files%2F%25'],
  ['toolset:review', '/toolset/review'],
])('%s is at %s', (view, path) => {
  expect(isViewName(view)).toBe(true);
  expect(pathOfView(view)).toBe(path);
  expect(viewAtPath(path)).toBe(view);
});

test.each(['', 'config', 'server:', 'servers:a', 'Code', 'all '])('%j is no view', (text) => {
  expect(isViewName(text)).toBe(false);
});

test.each(['', '/', '/nothing', '/server/', '/server/a/b', '/server/%', '//all', '/server:a'])(
  '%j is no path of a view',
  (path) => {
    expect(viewAtPath(path)).toBeUndefined();
  },
);
