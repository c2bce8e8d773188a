import { describe, expect, it } from 'vitest'
import { storeBlob, storeCommit } from '../../../../src/platform/git/objects/object-writes.ts'
import { editTree, type TreeEdit } from '../../../../src/platform/git/objects/tree-edits.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { ADA, git, testRepositories } from '../fixture.ts'

const MODE = 0o100644

/** A repository and a tree with `a/b/c`, `a/d` and `e`. */
async function filled() {
  const repositories = await testRepositories(1)
  const blobId = await storeBlob(repositories, 1, Buffer.from('content\n'))
  const put = (path: string, mode = MODE): TreeEdit => ({ path, file: { blobId, mode } })
  const remove = (path: string): TreeEdit => ({ path, file: undefined })
  const base = await editTree(repositories, 1, undefined, [put('a/b/c'), put('a/d'), put('e')])
  return { repositories, put, remove, base }
}

const pathsOf = (repositories: Repositories, tree: string) =>
  git(repositories, 1, 'ls-tree', '-r', '--name-only', tree).split('\n').join(' ')

describe('a tree', () => {
  it.each<
    [what: string, edits: (make: Awaited<ReturnType<typeof filled>>) => TreeEdit[], paths: string]
  >([
    ['is what it was without edits', () => [], 'a/b/c a/d e'],
    [
      'gets new files at any depth',
      ({ put }) => [put('x/y/z'), put('a/b/f')],
      'a/b/c a/b/f a/d e x/y/z',
    ],
    ['loses folders that have nothing left', ({ remove }) => [remove('a/b/c'), remove('e')], 'a/d'],
    [
      'may have a folder instead of a file',
      ({ put, remove }) => [remove('e'), put('e/f')],
      'a/b/c a/d e/f',
    ],
    [
      'may have a file instead of a folder',
      ({ put, remove }) => [remove('a/b/c'), put('a/b')],
      'a/b a/d e',
    ],
    [
      'does not mind what is not there',
      ({ remove }) => [remove('x'), remove('a/x/y')],
      'a/b/c a/d e',
    ],
    ['may lose everything', ({ remove }) => ['a/b/c', 'a/d', 'e'].map(remove), ''],
  ])('%s', async (_, edits, paths) => {
    const made = await filled()
    const { repositories, base } = made
    expect(pathsOf(repositories, await editTree(repositories, 1, base, edits(made)))).toBe(paths)
  })

  it('is sorted and has no empty folders, as in Git', async () => {
    const { repositories, put, base } = await filled()
    // Git orders folders as if a slash were behind their names.
    const edits = [put('a.txt'), put('a-b'), put('a0'), put('run', 0o100755)]
    const treeId = await editTree(repositories, 1, base, edits)
    const { id: commit } = await storeCommit(repositories, 1, {
      treeId,
      parentIds: [],
      author: ADA,
      committer: ADA,
      message: 'm\n',
    })
    git(repositories, 1, 'update-ref', 'refs/heads/main', commit)
    expect(git(repositories, 1, 'fsck', '--full', '--strict', '--no-dangling')).toBe('')
    expect(git(repositories, 1, 'ls-tree', '--name-only', commit).split('\n')).toEqual([
      'a-b',
      'a.txt',
      'a',
      'a0',
      'e',
      'run',
    ])
    expect(git(repositories, 1, 'ls-tree', commit, 'run')).toMatch(/^100755/)
  })

  it('preserves entries with unusual modes', async () => {
    const { repositories, put, base } = await filled()
    const link = `160000 commit ${'1'.repeat(40)}\tmodule`

    const mktree = ['-C', repositoryPath(repositories, 1), 'mktree', '--missing']
    const input = `${git(repositories, 1, 'ls-tree', base)}\n${link}\n`
    const withModule = execFileSync('git', mktree, { input, encoding: 'utf8' }).trim()
    const edited = await editTree(repositories, 1, withModule, [put('new')])
    expect(git(repositories, 1, 'ls-tree', edited)).toContain(link)
  })

  it('rejects names that Git rejects', async () => {
    const { repositories, put, base } = await filled()
    for (const path of ['.git', 'a/.GIT/config', '..', 'a//b']) {
      await expect(editTree(repositories, 1, base, [put(path)])).rejects.toThrow('invalid name')
    }
  })
})
