import { describe, expect, test } from 'vitest';
import { homeDir, settleHome, xdgCacheDir, xdgConfigDir } from '../../../src/local/home-dir.ts';
import { stateDir } from '../../../src/local/state-dir.ts';

const ofSystem = () => '/home/me';

describe('the home', () => {
  test('is where HOME says', () => {
    expect(homeDir({ HOME: '/elsewhere' }, ofSystem)).toBe('/elsewhere');
  });

  test.each([[undefined], [''], ['.'], ['relative/dir'], ['~']])('is what the system has where HOME is %j', (HOME) => {
    expect(homeDir({ HOME }, ofSystem)).toBe('/home/me');
    const environment = { HOME };
    settleHome(environment, ofSystem);
    expect(environment).toEqual({ HOME: '/home/me' });
  });

  test.each([[undefined], [''], ['relative']])('is nowhere where the system has %j', (known) => {
    expect(() => homeDir({ HOME: '' }, () => known)).toThrow(expect.objectContaining({ code: 'HOME_UNKNOWN' }));
    const environment = { HOME: '' };
    settleHome(environment, () => known);
    expect(environment).toEqual({ HOME: '' });
  });
});

test.each([[undefined], [''], ['.'], ['relative/dir']])(
  'directories of XDG are the usual ones where it is %j',
  (named) => {
    expect(xdgConfigDir(named, '/home/me')).toBe('/home/me/.config');
    expect(xdgCacheDir(named, '/home/me')).toBe('/home/me/.cache');
    expect(stateDir({ XDG_STATE_HOME: named }, '/home/me')).toBe('/home/me/.local/state/mcp-bridge');
  },
);

test('directories of XDG are where it says', () => {
  expect(xdgConfigDir('/c', '/home/me')).toBe('/c');
  expect(xdgCacheDir('/c', '/home/me')).toBe('/c');
  expect(stateDir({ XDG_STATE_HOME: '/s' }, '/home/me')).toBe('/s/mcp-bridge');
});
