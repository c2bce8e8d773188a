import { beforeEach, describe, expect, it } from 'vitest'
import { findMergeBase, readCommits } from '../../../../src/platform/git/history/history.ts'
import { readHistory } from '../../../../src/platform/git/history/history-pages.ts'
import { lastChanges } from '../../../../src/platform/git/history/last-changes.ts'
import { listTree } from '../../../../src/platform/git/objects/trees.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { ADA, git, testRepositories, writeHistory } from '../fixture.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

async function messages(ids: readonly string[]): Promise<(string | undefined)[]> {
  const commits = await readCommits(repositories, 1, ids)
  return ids.map((id) => commits.get(id)?.message)
}

describe('a history', () => {
  beforeEach(() => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { 'a/x': '1', b: '1' } },
      { message: 'two', files: { b: '2' } },
      {
        on: 'refs/heads/side',
        message: 'side',
        files: { 'a/y': '1' },
        parents: ['refs/heads/main'],
      },
      { message: 'three', files: { 'a/x': '3' } },
      { message: 'merge', parents: ['refs/heads/main', 'refs/heads/side'], files: { 'a/y': '1' } },
    ])
  })

  it.each([
    ['all of it', {}, ['merge', 'three', 'side', 'two', 'one']],
    // The merge has what neither of its parents has.
    ['a directory', { path: 'a' }, ['merge', 'three', 'side', 'one']],
    ['a file', { path: 'b' }, ['two', 'one']],
    ['a path that is a pattern', { path: '*' }, []],
    ['a path that looks like an option', { path: '--all' }, []],
    ['since a time', { since: ADA.time + 4 }, ['merge', 'three']],
    ['until a time', { until: ADA.time + 2 }, ['two', 'one']],
  ])('is listed and counted: %s', async (_, part, expected) => {
    const history = { from: idOf('main'), ...part }
    const { ids, total } = await readHistory(repositories, 1, history, 0, 10)
    expect(await messages(ids)).toEqual(expected)
    expect(total).toBe(expected.length)
  })

  it('is listed in pages without the ancestors of another commit', async () => {
    const history = { from: idOf('main'), without: idOf('side') }
    const page = (offset: number, limit: number) =>
      readHistory(repositories, 1, history, offset, limit)
    expect(await messages((await page(0, 10)).ids)).toEqual(['merge', 'three'])
    expect(await messages((await page(1, 1)).ids)).toEqual(['three'])
    expect(await page(2 ** 40, 1)).toEqual({ ids: [], total: 2 })
  })
})

describe('the merge base of two commits', () => {
  it('equals that of git merge-base', async () => {
    const [main, side] = ['refs/heads/main', 'refs/heads/side']
    writeHistory(repositories, 1, [
      { message: 'one' },
      { on: side, message: 'a', parents: [main] },
      { message: 'b' },
      // Criss-cross: each has merged the other.
      { on: 'refs/heads/x', message: 'x', parents: [main, side] },
      { on: 'refs/heads/y', message: 'y', parents: [side, main] },
      { on: 'refs/heads/alone', message: 'alone' },
    ])
    for (const [one, other] of [
      ['main', 'side'],
      ['x', 'main'],
      ['main', 'y'],
      ['x', 'y'],
      ['y', 'x'],
      ['main', 'main'],
    ]) {
      const expected = git(repositories, 1, 'merge-base', one ?? '', other ?? '')
      expect(await findMergeBase(repositories, 1, idOf(one ?? ''), idOf(other ?? ''))).toBe(
        expected,
      )
    }
    expect(await findMergeBase(repositories, 1, idOf('main'), idOf('alone'))).toBeUndefined()
    await expect(async () => findMergeBase(repositories, 1, 'main', '--all')).rejects.toThrow(
      'no ids of commits',
    )
  })
})

describe('commits', () => {
  it('are read by id, without ids of other objects', async () => {
    writeHistory(repositories, 1, [
      { message: 'one\n\nmore', files: { a: '1' }, author: 'Grüß <g@example.org>' },
    ])
    const id = idOf('main')
    const commits = await readCommits(repositories, 1, [
      id,
      '0'.repeat(40),
      idOf('main^{tree}'),
      idOf('main:a'),
    ])
    expect([...commits.values()]).toEqual([
      {
        id,
        treeId: idOf('main^{tree}'),
        parentIds: [],
        author: { name: 'Grüß', email: 'g@example.org', time: ADA.time + 1, offsetMinutes: 60 },
        committer: { name: 'Grüß', email: 'g@example.org', time: ADA.time + 1, offsetMinutes: 60 },
        message: 'one\n\nmore',
        signature: undefined,
      },
    ])
  })

  it('are truncated when they are too long', async () => {
    writeHistory(repositories, 1, [{ message: 'x'.repeat(10_000) }, { message: 'next' }])
    const ids = [idOf('main~1'), idOf('main')]
    const commits = await readCommits(repositories, 1, ids, 1000)
    expect(commits.get(ids[0] ?? '')?.message).toMatch(/^x{500,1000}$/)
    expect(commits.get(ids[1] ?? '')?.message).toBe('next')
  })
})

describe('the last changes of a directory', () => {
  async function lastMessages(directory: string): Promise<Record<string, string | undefined>> {
    const commit = idOf('main')
    const tree = idOf(directory === '' ? 'main^{tree}' : `main:${directory}`)
    const { entries } = await listTree(repositories, 1, tree, { offset: 0, limit: 100 })
    const full = entries.map((entry) => ({
      ...entry,
      path: directory === '' ? entry.path : `${directory}/${entry.path}`,
    }))
    const changes = await lastChanges(repositories, 1, commit, directory, full)
    const commits = await readCommits(repositories, 1, [...changes.values()])
    return Object.fromEntries(
      full.map(({ path }) => [path, commits.get(changes.get(path) ?? '')?.message]),
    )
  }

  it('are found for files and directories by one walk', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { 'a/x': '1', 'a/deep/z': '1', b: '1', 'ü \n': '1' } },
      { message: 'two', files: { 'a/x': '2' } },
      { message: 'deep', files: { 'a/deep/z': '2' } },
      { message: 'gone', files: { c: '1' } },
      { message: 'back', files: { c: null } },
    ])
    expect(await lastMessages('')).toEqual({ a: 'deep', b: 'one', 'ü \n': 'one' })
    expect(await lastMessages('a')).toEqual({ 'a/deep': 'deep', 'a/x': 'two' })
  })

  it('are the commits that created the current objects, in any merge', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { mine: '1', theirs: '1', both: '1', lost: '1' } },
      {
        on: 'refs/heads/side',
        message: 'side',
        parents: ['refs/heads/main'],
        files: { theirs: '2', both: '2', lost: '2' },
      },
      { message: 'main', files: { mine: '2', both: '3' } },
      // `lost` stays as it was before the branch.
      {
        message: 'merge',
        parents: ['refs/heads/main', 'refs/heads/side'],
        files: { theirs: '2', both: '4' },
      },
    ])
    expect(await lastMessages('')).toEqual({
      mine: 'main',
      theirs: 'side',
      both: 'merge',
      lost: 'one',
    })
  })
})
