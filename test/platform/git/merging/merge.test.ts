import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { independentCommits } from '../../../../src/platform/git/history/independent-commits.ts'
import type { Merges } from '../../../../src/platform/git/merging/merge.ts'
import { mergeCommits } from '../../../../src/platform/git/merging/merge.ts'
import {
  closeRepositories,
  createRepository,
  deleteRepository,
  MAX_READERS,
  poolOf,
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const OURS = 'refs/heads/ours'
const THEIRS = 'refs/heads/theirs'

const AUTHOR = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']

async function repositoryWith(commits: readonly ScriptedCommit[]): Promise<Repositories> {
  const repositories = await testRepositories()
  await createRepository(repositories, 1, 'ours')
  writeHistory(repositories, 1, commits)
  return repositories
}

const heads = (repositories: Repositories) =>
  git(repositories, 1, 'rev-parse', OURS, THEIRS).split('\n')

function merge(repositories: Repositories) {
  const [ours = '', theirs = ''] = heads(repositories)
  return mergeCommits(repositories, 1, ours, theirs)
}

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

describe('independent commits', () => {
  it('are reachable from no other commit, whatever their dates', async () => {
    const old = Array.from({ length: 20 }, (_, n) => ({
      on: THEIRS,
      message: `old ${n}`,
      time: 1_000_000 + n,
    }))
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
    expect(await independentCommits(repositories, 1, [theirs, base, ours])).toEqual(
      new Set([theirs, ours]),
    )
  })
})

describe('a merge of two commits', () => {
  it('reports conflicts and nothing else', async () => {
    const repositories = await repositoryWith([
      {
        on: OURS,
        message: 'base',
        files: { a: 'a\n', 'b\n"ö': 'b\n', c: text(['1', '2', '3', '4', '5']) },
      },
      {
        on: THEIRS,
        message: 'theirs',
        parents: [OURS],
        files: { a: null, 'b\n"ö': 'x\n', c: text(['x', '2', '3', '4', '5']) },
      },
      {
        on: OURS,
        message: 'ours',
        files: { a: 'x\n', 'b\n"ö': 'y\n', c: text(['1', '2', '3', '4', 'y']) },
      },
    ])
    expect(await merge(repositories)).toEqual({
      outcome: 'conflict',
      paths: ['a', 'b\n"ö'],
      text: expect.stringMatching(
        /^CONFLICT \(modify\/delete\): a deleted in (?:.|\n)*CONFLICT \(content\): Merge conflict in b\n"ö\n$/,
      ),
    })
  })

  it('reports unrelated histories', async () => {
    const repositories = await repositoryWith([
      { on: OURS, message: 'one', files: { a: 'a\n' } },
      { on: THEIRS, message: 'other', files: { b: 'b\n' } },
    ])
    expect(await merge(repositories)).toEqual({ outcome: 'unrelated' })
  })

  it('ends soon despite many conflicts', async () => {
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

  it('fails for ids that are no commits', async () => {
    const repositories = await repositoryWith([{ on: OURS, message: 'one', files: { a: 'a\n' } }])
    await expect(mergeCommits(repositories, 1, '--help', 'x')).rejects.toThrow('no ids of commits')
    await expect(mergeCommits(repositories, 1, '1'.repeat(40), '2'.repeat(40))).rejects.toThrow(
      'there is no commit',
    )
  })
})

describe('successive merges in a repository', () => {
  /** Branches that each change a file of their own. */
  async function withBranches(count: number): Promise<Repositories> {
    const branches = Array.from({ length: count }, (_, i) => ({
      on: `refs/heads/b${i}`,
      message: `b${i}`,
      parents: [OURS],
      files: { [`file-${i}`]: 'theirs\n' },
    }))
    return repositoryWith([
      { on: OURS, message: 'base', files: { file: 'base\n' } },
      ...branches,
      { on: OURS, message: 'ours', files: { file: 'ours\n' } },
    ])
  }

  const at = (repositories: Repositories, revision: string) =>
    git(repositories, 1, 'rev-parse', revision)

  /** Merges a branch, and makes sure that it has become what git makes of it. */
  async function expectMerged(repositories: Repositories, branch: string) {
    const merged = await mergeCommits(
      repositories,
      1,
      at(repositories, OURS),
      at(repositories, branch),
    )
    if (merged.outcome !== 'clean') throw new Error(merged.outcome)
    expect(merged.treeId).toBe(git(repositories, 1, 'merge-tree', '--write-tree', OURS, branch))
    return merged.treeId
  }

  function kept(repositories: Repositories) {
    const pool = poolOf<Merges>(repositories, 'merge-tree')
    const merges = pool.take(1)
    if (merges) pool.add(1, merges)
    return merges
  }

  /** Those whose working directory is the repository (proc_pid_cwd(5)). */
  function processesIn(repositories: Repositories): number[] {
    const path = repositoryPath(repositories, 1)
    return readdirSync('/proc').flatMap((name) => {
      try {
        return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === path ? Number(name) : []
      } catch {
        // Gone meanwhile, or somebody else's.
        return []
      }
    })
  }

  it('use one process', async () => {
    const repositories = await withBranches(3)
    await expectMerged(repositories, 'b0')
    const first = kept(repositories)
    expect(first).toBeDefined()
    await expectMerged(repositories, 'b1')
    await expectMerged(repositories, 'b2')
    expect(kept(repositories)).toBe(first)
  })

  it('find objects that were added or repacked between them', async () => {
    const repositories = await withBranches(4)
    await expectMerged(repositories, 'b0')
    const first = kept(repositories)
    writeHistory(repositories, 1, [
      {
        on: 'refs/heads/packed',
        message: 'packed',
        parents: [OURS],
        files: { 'new/file': 'new\n' },
      },
    ])
    await expectMerged(repositories, 'packed')
    const treeId = await expectMerged(repositories, 'b1')
    const commit = git(
      repositories,
      1,
      ...AUTHOR,
      'commit-tree',
      treeId,
      '-p',
      OURS,
      '-p',
      'b1',
      '-m',
      'merge',
    )
    git(repositories, 1, 'update-ref', OURS, commit)
    await expectMerged(repositories, 'b2')
    git(repositories, 1, 'repack', '-adq')
    git(repositories, 1, 'prune-packed')
    await expectMerged(repositories, 'b3')
    expect(kept(repositories)).toBe(first)
    git(repositories, 1, 'fsck', '--full', '--strict')
  })

  it('use the attributes of our side', async () => {
    const lines = (middle: string) => text(['first', middle, 'last'])
    const repositories = await repositoryWith([
      { on: OURS, message: 'base', files: { file: lines('base') } },
      { on: 'refs/heads/b0', message: 'b0', parents: [OURS], files: { other: 'other\n' } },
      { on: THEIRS, message: 'theirs', parents: [OURS], files: { file: lines('theirs') } },
      { on: OURS, message: 'ours', files: { file: lines('ours') } },
    ])
    await expectMerged(repositories, 'b0')
    expect(await merge(repositories)).toMatchObject({ outcome: 'conflict' })
    expect(kept(repositories)).toBeUndefined()
    await mergeCommits(repositories, 1, at(repositories, 'b0'), at(repositories, OURS))
    expect(kept(repositories)).toBeDefined()
    writeHistory(repositories, 1, [
      {
        on: OURS,
        message: 'attributes',
        parents: [`${OURS}^0`],
        files: { '.gitattributes': 'file merge=union\n' },
      },
    ])
    const merged = await merge(repositories)
    if (merged.outcome !== 'clean') throw new Error(merged.outcome)
    expect(git(repositories, 1, 'cat-file', '-p', `${merged.treeId}:file`)).toBe(
      'first\nours\ntheirs\nlast',
    )
    await mergeCommits(repositories, 1, at(repositories, `${OURS}~1`), at(repositories, 'b0'))
    expect(
      await mergeCommits(repositories, 1, at(repositories, `${OURS}~1`), at(repositories, THEIRS)),
    ).toMatchObject({
      outcome: 'conflict',
    })
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'continue after %s has ended the idle process',
    async (signal) => {
      const repositories = await withBranches(2)
      await expectMerged(repositories, 'b0')
      const processes = processesIn(repositories)
      expect(processes.length).toBe(1)
      for (const pid of processes) process.kill(pid, signal)
      await expect.poll(() => processesIn(repositories)).toEqual([])
      await expectMerged(repositories, 'b1')
    },
  )

  it('can run at the same time and leave one process', async () => {
    const repositories = await withBranches(4)
    await Promise.all([0, 1, 2, 3].map((n) => expectMerged(repositories, `b${n}`)))
    expect(kept(repositories)).toBeDefined()
    await closeRepositories(repositories)
    expect(kept(repositories)).toBeUndefined()
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
  })

  it('leave no process in a deleted repository', async () => {
    const repositories = await withBranches(1)
    await expectMerged(repositories, 'b0')
    await deleteRepository(repositories, 1)
    expect(kept(repositories)).toBeUndefined()
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
  })

  it('hold no slot of a reader while none runs', async () => {
    const repositories = await withBranches(1)
    await expectMerged(repositories, 'b0')
    const leave = await Promise.all(
      Array.from({ length: MAX_READERS }, () => repositories.readers.acquire()),
    )
    expect(leave.length).toBe(MAX_READERS)
  })
})
