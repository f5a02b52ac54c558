import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from '../../../src/search/tool-words.ts';

describe('a text is split into words', () => {
  test.each([
    ['createPullRequest', 'create pull request'],
    ['list-open_issues.now', 'list open issues now'],
    ['getHTTPResponse', 'get http response'],
    ['s3Bucket', 's3 bucket'],
    ['GitHub', 'github'],
    ['BigQuery tables', 'big query bigquery tables'],
    ['the file system', 'the file system'],
    ['filesystem', 'file system'],
    ['repo PRs', 'repository pull request'],
    ['Größe öffnen', 'große offnen'],
    ['ｆｕｌｌｗｉｄｔｈ', 'fullwidth'],
    ['検索する', '検索 索す する'],
    ['GitHubの課題', 'github の課 課題'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['cre\u200bate \u202eissue', 'create issue'],
    ['🙂 .*+?[](){}|^$\\ \u0000', ''],
  ])('%j', (text, words) => {
    expect(spelledWordsOf(text).join(' ')).toBe(words);
  });

  test('whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) expect(word).not.toBe('');
        expect(wordsOf(text)).toEqual(wordsOf(text));
      }),
    );
  });
});

describe('the forms of a word are one', () => {
  test.each([
    'create creates created creating creation',
    'delete deletes deleted deleting deletion',
    'query queries querying queried',
    'issue issues',
    'branch branches',
    'run running runs',
    'get getting gets',
    'search searches searching searched',
    'navigate navigates navigation navigating',
    'box boxes',
    'movie movies',
    'install installs installed installing',
  ])('%s', (forms) => {
    expect(new Set(forms.split(' ').map(stemOf)).size).toBe(1);
  });

  test.each(['set settings', 'new news', 'state status', 'str string', 'meet meetings'])('but not of %s', (words) => {
    const [one = '', other = ''] = words.split(' ');
    expect(stemOf(one)).not.toBe(stemOf(other));
  });

  test('whether more than one is meant can be told', () => {
    expect(['issues', 'branches', 'people', 'queries'].every(isPlural)).toBe(true);
    expect(['issue', 'status', 'access', 'news', 'analysis', 'dns'].some(isPlural)).toBe(false);
  });
});
