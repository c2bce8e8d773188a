import { beforeEach, describe, expect, it } from 'vitest'
import { EMPTY_TREE } from '../../../../src/platform/git/core/object-ids.ts'
import {
  countChanges,
  type DiffOptions,
  diffPaths,
  diffTrees,
} from '../../../../src/platform/git/diffs/diff.ts'
import type { ChangedFile } from '../../../../src/platform/git/diffs/diff-reader.ts'
import { diffCommits } from '../../../../src/platform/git/diffs/patches.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomHistory } from '../random-history.ts'

const ALL: DiffOptions = { lines: true, window: { offset: 0, limit: 100 } }

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

/** The part of a change that tells files apart at a glance. */
function brief({ kind, path, oldPath, additions, deletions, isBinary }: ChangedFile): string {
  return `${kind} ${oldPath === undefined ? '' : `${oldPath} -> `}${path} ${isBinary ? 'binary' : `+${additions} -${deletions}`}`
}

async function briefDiff(
  from: string,
  to: string,
  options: Partial<DiffOptions> = {},
): Promise<string[]> {
  return (await diffTrees(repositories, 1, from, to, { ...ALL, ...options })).files.map(brief)
}

const lines = (count: number, word = 'line') =>
  Array.from({ length: count }, (_, i) => `${word} ${i}\n`).join('')

describe('the difference of two trees', () => {
  it('lists each changed file with numbers of lines', async () => {
    writeHistory(repositories, 1, [
      {
        message: 'one',
        files: {
          kept: 'k',
          changed: lines(3),
          gone: 'a\nb\n',
          old: lines(30),
          picture: Buffer.from([0, 1]),
        },
      },
      {
        message: 'two',
        files: {
          changed: `${lines(3)}more\n`,
          gone: null,
          old: null,
          'moved here': `${lines(30)}x\n`,
          made: 'new\n',
          picture: Buffer.from([0, 2]),
        },
      },
    ])
    expect(await briefDiff('main~1', 'main').catch(String)).toEqual([
      'modified changed +1 -0',
      'deleted gone +0 -2',
      'added made +1 -0',
      'renamed old -> moved here +1 -0',
      'modified picture binary',
    ])
  })

  it('finds the origin of copies that share half of their content', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { source: lines(30) } },
      {
        message: 'two',
        files: {
          source: `${lines(30)}x\n`,
          copy: `${lines(20)}${lines(8, 'other')}`,
          fresh: lines(30, 'b'),
        },
      },
    ])
    expect(await briefDiff('main~1', 'main')).toEqual([
      'copied source -> copy +8 -10',
      'added fresh +30 -0',
      'modified source +1 -0',
    ])
  })

  it('does not search for copies among thousands of files, but for moved files', async () => {
    const many = (word: string) =>
      Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`many/${i}`, `${word} ${i}\n`]))
    writeHistory(repositories, 1, [
      { message: 'one', files: { ...many('one'), source: lines(30), old: lines(30, 'old') } },
      {
        message: 'two',
        files: {
          ...many('two'),
          source: `${lines(30)}x\n`,
          copy: lines(30),
          old: null,
          new: `${lines(30, 'old')}x\n`,
        },
      },
    ])
    expect(
      (await briefDiff('main~1', 'main', { window: { offset: 0, limit: 2000 } })).filter(
        (text) => !/many/.test(text),
      ),
    ).toEqual(['added copy +30 -0', 'renamed old -> new +1 -0', 'modified source +1 -0'])
  })

  it('finds only unchanged moved files when there is too much content', async () => {
    // Zeros: little in the repository, and much to read.
    writeHistory(repositories, 1, [
      { message: 'one', files: { large: Buffer.alloc(65 * 1024 * 1024), old: lines(30) } },
    ])
    const large = { mode: '100644', id: idOf('main:large') }
    const files = { large: null, larger: large, old: null, new: `${lines(30)}x\n` }
    writeHistory(repositories, 1, [{ message: 'two', parents: [idOf('main')], files }])
    expect(await briefDiff(idOf('main~1'), idOf('main'))).toEqual([
      'renamed large -> larger binary',
      'added new +31 -0',
      'deleted old +0 -30',
    ])
  })

  it.each([
    [{ offset: 0, limit: 2 }, ['a', 'b']],
    [{ offset: 3, limit: 2 }, ['d', 'e']],
    [{ offset: 5, limit: 2 }, []],
    [{ from: 'b', offset: 0, limit: 2 }, ['b', 'c']],
    [{ from: 'b', offset: 2, limit: 9 }, ['d', 'e']],
    [{ from: 'bb', offset: 0, limit: 2 }, []],
  ])('keeps the files of a window, and counts all: %j', async (window, expected) => {
    const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((path) => [path, 'x\n']))
    writeHistory(repositories, 1, [{ message: 'many', files }])
    const diff = await diffTrees(repositories, 1, EMPTY_TREE, idOf('main'), { ...ALL, window })
    expect(diff.files.map(({ path, additions }) => [path, additions])).toEqual(
      expected.map((path) => [path, 1]),
    )
    expect(diff).toMatchObject({ totalFiles: 5, additions: 5, deletions: 0 })
  })

  it('can be limited to paths, without a search for moved files', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { old: lines(30) } },
      { message: 'two', files: { old: null, new: lines(30) } },
    ])
    const { files } = await diffPaths(repositories, 1, idOf('main~1'), idOf('main'), ALL.window)
    expect(files.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['added new', 'deleted old'])
  })

  it('accepts any characters in paths', async () => {
    const odd = [':100644 100644', '1\t2\tx', 'a\nb', '-', ' ', 'ü']
    writeHistory(repositories, 1, [
      { message: 'odd', files: Object.fromEntries(odd.map((path) => [path, 'x\n'])) },
    ])
    const { files } = await diffTrees(repositories, 1, EMPTY_TREE, idOf('main'), ALL)
    expect(files.map(({ path }) => path).sort()).toEqual([...odd].sort())
  })
})

describe('a page of the difference', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'is the part of the whole that Git prints (history %i)',
    async (seed) => {
      writeHistory(repositories, 1, randomHistory(seed))
      const [from, to] = [idOf('main~3'), idOf('main')]
      const { files } = await diffTrees(repositories, 1, from, to, ALL)
      const bare = files.map((file) => ({ ...file, additions: 0, deletions: 0, isBinary: false }))
      for (let offset = 0; offset <= bare.length; offset++) {
        const window = { offset, limit: 2 }
        const page = await diffTrees(repositories, 1, from, to, { lines: false, window })
        expect(page.files).toEqual(bare.slice(offset, offset + 2))
        expect(page.totalFiles).toBe(bare.length)
      }
      for (const [index, { path }] of bare.entries()) {
        const window = { from: path, offset: 1, limit: 2 }
        const page = await diffTrees(repositories, 1, from, to, { lines: false, window })
        expect(page.files).toEqual(bare.slice(index + 1, index + 3))
      }
    },
  )

  it('of a path that has not changed is empty', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { a: 'a\n' } },
      { message: 'two', files: { b: 'b\n' } },
    ])
    const window = { from: 'a', offset: 0, limit: 10 }
    const page = await diffTrees(repositories, 1, idOf('main~1'), idOf('main'), {
      lines: false,
      window,
    })
    expect(page).toMatchObject({ files: [], totalFiles: 1 })
  })

  it('is read again once the objects are gone', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { a: 'a\n' } },
      { message: 'two', files: { b: 'b\n' } },
    ])
    const [from, to] = [idOf('main~1'), idOf('main')]
    const page = () =>
      diffTrees(repositories, 1, from, to, { lines: false, window: { offset: 0, limit: 10 } })
    expect((await page()).totalFiles).toBe(1)
    git(repositories, 1, 'update-ref', 'refs/heads/main', from)
    git(repositories, 1, 'prune', '--expire=now')
    await expect(page()).rejects.toThrow()
  })
})

describe('the number of changes between two trees', () => {
  it('counts moved files once', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { old: lines(30), gone: 'a\nb\n', picture: Buffer.from([0]) } },
      {
        message: 'two',
        files: { old: null, new: `${lines(30)}x\n`, gone: null, picture: Buffer.from([0, 1]) },
      },
    ])
    const count = () => countChanges(repositories, 1, idOf('main~1'), idOf('main'))
    expect(await count()).toEqual({ totalFiles: 3, additions: 1, deletions: 2 })
    expect(await count()).toBe(await count())
  })
})

describe('the changes of commits', () => {
  it('are relative to the given parents, for many commits at once', async () => {
    writeHistory(repositories, 1, [
      { message: 'first', files: { a: 'a\n' } },
      { message: 'empty' },
      // With its counts as long as an object id.
      { message: 'long', files: { ['0'.repeat(36)]: 'x\n' } },
      { on: 'refs/heads/side', message: 'side', files: { b: 'b\n' }, parents: ['refs/heads/main'] },
      { message: 'main', files: { a: 'c\n' } },
      { message: 'merge', parents: ['refs/heads/main', 'refs/heads/side'], files: { b: 'b\n' } },
    ])
    const steps = ['main', 'main~1', 'main~2', 'main~3', 'main~4'].map((name) => ({
      id: idOf(name),
      parentId: name === 'main~4' ? undefined : idOf(`${name}^1`),
    }))
    const diffs = await diffCommits(repositories, 1, steps, ALL)
    expect(steps.map(({ id }) => diffs.get(id)?.files.map(brief))).toEqual([
      ['added b +1 -0'],
      ['modified a +1 -1'],
      [`added ${'0'.repeat(36)} +1 -0`],
      [],
      ['added a +1 -0'],
    ])
  })
})
