import { beforeEach, describe, expect, it } from 'vitest'
import { diffTrees } from '../../../../src/platform/git/diffs/diff.ts'
import { findHunk, type LinePlace } from '../../../../src/platform/git/diffs/hunks.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

let repositories: Repositories

const lines = (count: number) => Array.from({ length: count }, (_, i) => `${i + 1}\n`).join('')

beforeEach(async () => {
  repositories = await testRepositories(1)
  const edited = lines(40).replace('10\n', 'ten\n').replace('30\n', '30\n30a\n30b\n')
  writeHistory(repositories, 1, [
    { message: 'one', files: { edited: lines(40), gone: lines(6), picture: Buffer.from([0, 1]) } },
    {
      message: 'two',
      files: {
        edited,
        gone: null,
        made: `${lines(5)}ü${'x'.repeat(50)}\n`,
        picture: Buffer.from([0, 2]),
        end: 'no end',
      },
    },
  ])
})

async function hunkOf(path: string, place: LinePlace): Promise<string | undefined> {
  const [from, to] = ['main~1', 'main'].map((name) => git(repositories, 1, 'rev-parse', name))
  const window = { from: path, offset: 0, limit: 1 }
  const [file] = (await diffTrees(repositories, 1, from ?? '', to ?? '', { lines: false, window }))
    .files
  return file && findHunk(repositories, 1, file, place, 10)
}

describe('the hunk around a line', () => {
  it.each<[string, LinePlace['side'], number, string | undefined]>([
    ['edited', 'new', 7, '@@ -7,1 +7,1 @@\n 7'],
    ['edited', 'new', 10, '@@ -8,3 +8,3 @@\n 8\n 9\n-10\n+ten'],
    ['edited', 'old', 10, '@@ -7,4 +7,3 @@\n 7\n 8\n 9\n-10'],
    ['edited', 'old', 11, '@@ -9,3 +9,3 @@\n 9\n-10\n+ten\n 11'],
    ['edited', 'new', 32, '@@ -29,2 +29,4 @@\n 29\n 30\n+30a\n+30b'],
    ['edited', 'old', 31, '@@ -30,2 +30,4 @@\n 30\n+30a\n+30b\n 31'],
    // In no hunk, or in none of that side.
    ['edited', 'new', 6, undefined],
    ['edited', 'new', 20, undefined],
    ['edited', 'new', 43, undefined],
    ['edited', 'new', 0, undefined],
    ['gone', 'old', 5, '@@ -2,4 +0,0 @@\n-2\n-3\n-4\n-5'],
    ['gone', 'new', 1, undefined],
    ['made', 'new', 1, '@@ -0,0 +1,1 @@\n+1'],
    ['made', 'new', 6, '@@ -0,0 +3,4 @@\n+3\n+4\n+5\n+üxxxxxxxxx'],
    ['end', 'new', 1, '@@ -0,0 +1,1 @@\n+no end'],
    ['picture', 'new', 1, undefined],
    ['kept', 'new', 1, undefined],
  ])('ends with it: %s, %s %i', async (path, side, line, expected) => {
    expect(await hunkOf(path, { side, line })).toBe(expected)
  })
})
