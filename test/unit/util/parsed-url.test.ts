import { expect, test } from 'vitest';
import { fitsUrl, urlPattern } from '../../../src/discovery/url-pattern.ts';
import { parsedUrl } from '../../../src/util/parsed-url.ts';

test('a text is a URL or none, also against a base', () => {
  expect(parsedUrl('https://h.example/a')?.href).toBe('https://h.example/a');
  expect(parsedUrl('/b', 'https://h.example/a')?.href).toBe('https://h.example/b');
  expect(parsedUrl('//', new URL('https://h.example/a'))).toBeUndefined();
  expect(parsedUrl('')).toBeUndefined();
  expect(parsedUrl('https://')).toBeUndefined();
});

test('a host with letters beyond ASCII is one however often others were parsed before', () => {
  const pattern = urlPattern('https://*.evil.example/*');
  if (pattern === undefined) throw new Error('it is a pattern');
  for (let i = 0; i < 30_000; i++) {
    fitsUrl(`https://example.com/${i}`, pattern);
    parsedUrl(`https://example.com/${i}`);
  }
  expect(parsedUrl('https://bü.evil.example/mcp')?.host).toBe('xn--b-eha.evil.example');
  expect(fitsUrl('https://bü.evil.example/mcp', pattern)).toBe(true);
});
