import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { diffTrees } from '../../../../src/platform/git/diffs/diff.ts'
import { countLines, diffPairs } from '../../../../src/platform/git/diffs/pair-diffs.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomHistory } from '../random-history.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)
const lines = (count: number, word = 'line') =>
  Array.from({ length: count }, (_, i) => `${word} ${i}\n`).join('')

/** The files that the latest commit changes. */
async function latestFiles() {
  const window = { offset: 0, limit: 100 }
  return (await diffTrees(repositories, 1, idOf('main~1'), idOf('main'), { lines: false, window }))
    .files
}

async function countLatest(
  options: Partial<Parameters<typeof countLines>[3]> = {},
): Promise<string[]> {
  const files = await latestFiles()
  const counts = await countLines(repositories, 1, files, { maxLines: 1000, ...options })
  return files.map(
    ({ kind, path }, i) => `${kind} ${path} +${counts[i]?.additions} -${counts[i]?.deletions}`,
  )
}

describe('pairs of files', () => {
  it('are compared as given, for all kinds of files', async () => {
    const submodule = (digit: string) => ({ mode: '160000', id: digit.repeat(40) })
    writeHistory(repositories, 1, [
      {
        message: 'one',
        files: {
          changed: 'a\nb\n',
          gone: lines(3),
          old: lines(20),
          mode: 'x\n',
          picture: Buffer.from([0, 1]),
          link: { mode: '120000', content: 'here' },
          'file or link': 'f\n',
          module: submodule('1'),
          'ends without': 'x',
        },
      },
      {
        message: 'two',
        files: {
          changed: 'a\nc\nd\n',
          gone: null,
          old: null,
          new: `${lines(20)}more\n`,
          empty: '',
          made: 'diff --git a/000000 b/000000\n@@ -1 +1 @@\n',
          mode: { mode: '100755', content: 'x\n' },
          picture: Buffer.from([0, 2]),
          link: { mode: '120000', content: 'there' },
          'file or link': { mode: '120000', content: 'f' },
          module: submodule('2'),
          'ends without': 'x\n',
        },
      },
    ])
    expect((await countLatest()).sort()).toEqual([
      'added empty +0 -0',
      'added made +2 -0',
      'deleted gone +0 -3',
      'modified changed +2 -1',
      'modified ends without +1 -1',
      'modified file or link +1 -1',
      'modified link +1 -1',
      'modified mode +0 -0',
      'modified module +1 -1',
      'modified picture +0 -0',
      'renamed new +1 -0',
    ])
  })

  it.each([100, 101, 102, 103])(
    'have the same hunks in pages as in the whole difference: history %i',
    async (seed) => {
      writeHistory(repositories, 1, randomHistory(seed))
      const [from, to] = [idOf('main~3'), idOf('main')]
      const counted: string[] = []
      for (let offset = 0; ; offset += 2) {
        const window = { offset, limit: 2 }
        const { files } = await diffTrees(repositories, 1, from, to, { lines: false, window })
        if (files.length === 0) break
        const counts = await countLines(repositories, 1, files, { maxLines: 1000 })
        for (const [i, { oldPath, path }] of files.entries()) {
          counted.push(
            `${counts[i]?.additions} ${counts[i]?.deletions} ${oldPath === undefined ? '' : `${oldPath}|`}${path}`,
          )
        }
      }
      // One record for each file: both counts and its path or, behind nothing, two records with its
      // paths.
      const records = git(
        repositories,
        1,
        'diff-tree',
        '-r',
        '-z',
        '--numstat',
        '--find-copies',
        from,
        to,
      ).split('\0')
      const expected: unknown[] = []
      while (records.length > 1) {
        const [counts = '', path = ''] = records.shift()?.split(/(?<=^[0-9-]+\t[0-9-]+)\t/) ?? []
        const paths = path === '' ? `${records.shift()}|${records.shift()}` : path
        const [added, deleted] = counts.split('\t')
        // A binary file that became a link has no counts there, and the line of the link here.
        expected.push(
          added === '-' ? expect.stringContaining(paths) : `${added} ${deleted} ${paths}`,
        )
      }
      expect(counted).toEqual(expected)
      expect(counted.length).toBeGreaterThan(5)
    },
  )

  it.each([
    ['all', [0, 0, 0]],
    ['change', [1, 0, 0]],
    ['eol', [1, 1, 0]],
    [undefined, [1, 1, 1]],
  ] as const)('can ignore white space: %s', async (ignoredWhitespace, expected) => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { 'a new': 'ab\n', 'b more': 'a b\n', 'c end': 'a\n' } },
      { message: 'two', files: { 'a new': 'a b\n', 'b more': 'a  b\n', 'c end': 'a \n' } },
    ])
    const files = await latestFiles()
    const counts = await countLines(repositories, 1, files, { ignoredWhitespace, maxLines: 10 })
    expect(counts.map(({ additions }) => additions)).toEqual(expected)
  })

  it('have counts up to a number of lines, including unchanged ones', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { few: lines(20), many: '' } },
      {
        message: 'two',
        files: { few: lines(20).replace('line 9\n', 'nine\n'), many: lines(1500) },
      },
    ])
    expect(await countLatest()).toEqual(['modified few +1 -1', 'modified many +1000 -0'])
    // Three unchanged lines, and the one that is gone.
    expect(await countLatest({ maxLines: 4 })).toEqual([
      'modified few +0 -1',
      'modified many +4 -0',
    ])
    expect(await countLatest({ maxLines: 0 })).toEqual([
      'modified few +0 -0',
      'modified many +0 -0',
    ])
  })

  it('leave no files, even when the caller stops early', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { a: lines(10) } },
      { message: 'two', files: { a: lines(10, 'other') } },
    ])
    const seen: string[] = []
    const options = { contextLines: 0, maxLineBytes: 5 }
    await diffPairs(
      repositories,
      1,
      await latestFiles(),
      options,
      (pair, line) => seen.push(`${pair} ${line}`) < 2,
    )
    expect(seen).toEqual([
      expect.stringMatching(/^0 @@ -1,10 \+1,10 @@/),
      expect.stringMatching(/^0 -line 0/),
    ])
    expect(await readdir(join(repositories.folder, 'scratch'))).toEqual([])
    expect(git(repositories, 1, 'fsck', '--unreachable', '--no-progress')).toBe('')
    expect(await countLines(repositories, 1, [], { maxLines: 1 })).toEqual([])
  })
})
