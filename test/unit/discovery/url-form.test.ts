import { expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/index.ts';
import { hostOfUrl, urlDeceit } from '../../../src/discovery/url-form.ts';
import { memoryHost } from '../../support/memory-host.ts';

test.each([
  'https://evil.example\\@api.github.com/mcp',
  'https:evil.example/x@api.github.com/mcp',
  'https:/evil.example/mcp',
  'https:///evil.example/mcp',
  'https:\\\\evil.example/mcp',
  'https://evil.example\t.github.com/mcp',
  ' https://h.example/mcp',
  'https://h.example/m\u200bcp',
  'https://a@b@evil.example/mcp',
  'https://%65vil.example/mcp',
  'https://2130706433/mcp',
  'https://0x7f.1/mcp',
  'https://evil．example/mcp',
  'https://ⓖithub.com/mcp',
  'https://h.example/a/../mcp',
  'https://h.example/%2e%2e/mcp',
  'https://h.example/.%2e/mcp',
])('a URL that can be mistaken is not used: %j', async (url) => {
  const text = JSON.stringify({ mcpServers: { s: { type: 'http', url } } });
  const files = { '/home/u/p/.mcp.json': { text } };
  const { servers } = await discoverServers(
    memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', files }),
  );
  expect(servers.map(({ state, reason }) => [state, reason])).toEqual([
    ['invalid', expect.stringMatching(/^its URL (?:can be mistaken|must begin)/)],
  ]);
});

test.each([
  'https://h.example',
  'https://h.example/',
  'HTTPS://H.Example/Mcp?a=b%20c#d',
  'https://h.example:443/mcp',
  'http://127.0.0.1:8080/mcp',
  'http://[::1]:80/mcp',
  'https://user:pa%40ss@h.example/mcp',
  'https://bücher.example/mcp',
  'https://xn--bcher-kva.example/mcp',
  'https://h.example/ü/%C3%BC/a%2Fb/{x}',
  'wss://h.example:443/mcp',
  'https://h.example/mcp?next=https:\u002f\u002fother.example/a/../b',
])('an honest one is: %s', (url) => {
  expect(urlDeceit(url)).toBeUndefined();
});

test('the host is the one that is asked, and shows no value of a variable', () => {
  expect(hostOfUrl('https://api.github.com@evil.example/x', 'https://api.github.com@evil.example/x')).toBe(
    'evil.example',
  );
  expect(hostOfUrl('https://bücher.example/', 'https://bücher.example/')).toBe('xn--bcher-kva.example');
  const V = `$${'{KEY}'}`;
  expect(hostOfUrl('https://sesame.evil.example/', `https://${V}.evil.example/`)).toBe(`${V}.evil.example`);
  expect(hostOfUrl('https://h.example/sesame', `https://h.example/${V}`)).toBe('h.example');
});
