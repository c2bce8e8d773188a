import { describe, expect, it } from 'vitest'
import { independentCommits, mergeCommits } from '../../src/git/merge.ts'
import { createRepository, type Repositories } from '../../src/git/repositories.ts'
import type { ScriptedCommit } from '../support/histories.ts'
import { git, testRepositories, writeHistory } from './fixture.ts'

const OURS = 'refs/heads/ours'
const THEIRS = 'refs/heads/theirs'

async function repositoryWith(commits: readonly ScriptedCommit[]): Promise<Repositories> {
  const repositories = await testRepositories()
  await createRepository(repositories, 1, 'ours')
  writeHistory(repositories, 1, commits)
  return repositories
}

const heads = (repositories: Repositories) => git(repositories, 1, 'rev-parse', OURS, THEIRS).split('\n')

function merge(repositories: Repositories) {
  const [ours = '', theirs = ''] = heads(repositories)
  return mergeCommits(repositories, 1, ours, theirs)
}

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

describe('the independent ones among commits', () => {
  it('are those that no other leads to, whatever their dates say', async () => {
    const old = Array.from({ length: 20 }, (_, n) => ({ on: THEIRS, message: `old ${n}`, time: 1_000_000 + n }))
    const repositories = await repositoryWith([
      { on: OURS, message: 'base' },
      { on: THEIRS, message: 'begin', parents: [OURS], time: 1_000_000 },
      ...old,
    ])
    const [base = '', theirs = ''] = heads(repositories)
    expect([...(await independentCommits(repositories, 1, [base, theirs]))]).toEqual([theirs])
    expect([...(await independentCommits(repositories, 1, [base, base]))]).toEqual([base])
    writeHistory(repositories, 1, [{ on: OURS, message: 'ours', parents: [OURS] }])
    const [ours = ''] = heads(repositories)
    expect(await independentCommits(repositories, 1, [theirs, base, ours])).toEqual(new Set([theirs, ours]))
  })
})

describe('a merge of two commits', () => {
  it('says what does not go together, and nothing about what does', async () => {
    const repositories = await repositoryWith([
      { on: OURS, message: 'base', files: { a: 'a\n', 'b\n"ö': 'b\n', c: text(['1', '2', '3', '4', '5']) } },
      {
        on: THEIRS,
        message: 'theirs',
        parents: [OURS],
        files: { a: null, 'b\n"ö': 'x\n', c: text(['x', '2', '3', '4', '5']) },
      },
      { on: OURS, message: 'ours', files: { a: 'x\n', 'b\n"ö': 'y\n', c: text(['1', '2', '3', '4', 'y']) } },
    ])
    expect(await merge(repositories)).toEqual({
      outcome: 'conflict',
      paths: ['a', 'b\n"ö'],
      text: expect.stringMatching(
        /^CONFLICT \(modify\/delete\): a deleted in (?:.|\n)*CONFLICT \(content\): Merge conflict in b\n"ö\n$/,
      ),
    })
  })

  it('is none where no commit leads to both', async () => {
    const repositories = await repositoryWith([
      { on: OURS, message: 'one', files: { a: 'a\n' } },
      { on: THEIRS, message: 'other', files: { b: 'b\n' } },
    ])
    expect(await merge(repositories)).toEqual({ outcome: 'unrelated' })
  })

  it('ends soon, however much is in conflict', async () => {
    const files = (content: string) =>
      Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`folder/file-${i}`, content]))
    const repositories = await repositoryWith([
      { on: OURS, message: 'base', files: files('a\n') },
      { on: THEIRS, message: 'theirs', parents: [OURS], files: files('b\n') },
      { on: OURS, message: 'ours', files: files('c\n') },
    ])
    const merged = await merge(repositories)
    expect('paths' in merged && merged.paths.length).toBeLessThan(5000)
  })

  it('fails for what are no commits', async () => {
    const repositories = await repositoryWith([{ on: OURS, message: 'one', files: { a: 'a\n' } }])
    await expect(mergeCommits(repositories, 1, '--help', 'x')).rejects.toThrow('no ids of commits')
    await expect(mergeCommits(repositories, 1, '1'.repeat(40), '2'.repeat(40))).rejects.toThrow('there is no commit')
  })
})
