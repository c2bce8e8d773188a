import { beforeEach, describe, expect, it } from 'vitest'
import {
  type ChangedFile,
  type DiffOptions,
  diffCommits,
  diffTrees,
  EMPTY_TREE,
  streamDiff,
  streamPatch,
} from '../../src/git/diff.ts'
import { textOf } from '../../src/git/reading.ts'
import { createRepository, type Repositories } from '../../src/git/repositories.ts'
import { git, testRepositories, writeHistory } from './fixture.ts'

const ALL: DiffOptions = { lines: true, renames: true, maxFiles: 100 }

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories()
  await createRepository(repositories, 1, 'main')
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

/** The part of a change that tells files apart at a glance. */
function brief({ kind, path, oldPath, additions, deletions, isBinary }: ChangedFile): string {
  return `${kind} ${oldPath === undefined ? '' : `${oldPath} -> `}${path} ${isBinary ? 'binary' : `+${additions} -${deletions}`}`
}

async function briefDiff(from: string, to: string, options: Partial<DiffOptions> = {}): Promise<string[]> {
  return (await diffTrees(repositories, 1, from, to, { ...ALL, ...options })).files.map(brief)
}

const lines = (count: number, word = 'line') => Array.from({ length: count }, (_, i) => `${word} ${i}\n`).join('')

describe('the difference of two trees', () => {
  it('says how each file differs, and by how many lines', async () => {
    writeHistory(repositories, 1, [
      {
        message: 'one',
        files: { kept: 'k', changed: lines(3), gone: 'a\nb\n', old: lines(30), picture: Buffer.from([0, 1]) },
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

  it('finds no renames when it is not to', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { old: lines(30) } },
      { message: 'two', files: { old: null, new: lines(30) } },
    ])
    expect(await briefDiff('main~1', 'main', { renames: false })).toEqual(['added new +30 -0', 'deleted old +0 -30'])
  })

  it('counts files beyond those that it keeps', async () => {
    writeHistory(repositories, 1, [{ message: 'many', files: { a: 'x\n', b: 'x\n', c: 'x\n' } }])
    expect(await diffTrees(repositories, 1, EMPTY_TREE, idOf('main'), { ...ALL, maxFiles: 2 })).toMatchObject({
      files: [{ path: 'a' }, { path: 'b' }],
      totalFiles: 3,
      additions: 3,
      deletions: 0,
    })
  })

  it.each([
    ['all', 'modified blanks +0 -0'],
    ['change', 'modified blanks +0 -0'],
    ['eol', 'modified blanks +0 -0'],
  ] as const)('leaves white space out of the counts: %s', async (ignoredWhitespace, expected) => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { blanks: 'a b\n', other: 'x\n' } },
      { message: 'two', files: { blanks: 'a b  \n', other: 'y\n' } },
    ])
    expect(await briefDiff('main~1', 'main', { ignoredWhitespace })).toEqual([expected, 'modified other +1 -1'])
  })

  it('takes paths for what they are, whatever is in them', async () => {
    const odd = [':100644 100644', '1\t2\tx', 'a\nb', '-', ' ', 'ü']
    writeHistory(repositories, 1, [{ message: 'odd', files: Object.fromEntries(odd.map((path) => [path, 'x\n'])) }])
    const { files } = await diffTrees(repositories, 1, EMPTY_TREE, idOf('main'), ALL)
    expect(files.map(({ path }) => path).sort()).toEqual([...odd].sort())
  })
})

describe('the differences of commits', () => {
  it('are against the parents that are named, for many commits at once', async () => {
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

describe('a difference as text', () => {
  it('is what git apply takes, or git am', async () => {
    writeHistory(repositories, 1, [
      { message: 'first', files: { a: 'a\n' } },
      { message: 'second', files: { a: 'b\n' } },
    ])
    const diff = await textOf(streamDiff(repositories, 1, idOf('main~1'), idOf('main')))
    expect(diff).toContain('diff --git a/a b/a')
    expect(diff).toContain('-a\n+b\n')
    const mail = await textOf(streamPatch(repositories, 1, idOf('main~1'), idOf('main')))
    expect(mail).toMatch(/^From [0-9a-f]{40} .*\nFrom: Ada <ada@example.org>\n/)
    expect(mail).toContain('Subject: [PATCH] second')
    expect(await textOf(streamPatch(repositories, 1, undefined, idOf('main~1')))).toContain('Subject: [PATCH] first')
  })
})
