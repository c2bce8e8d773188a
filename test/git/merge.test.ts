import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { independentCommits, mergeCommits } from '../../src/git/merge.ts'
import { createRepository, type Repositories, repositoryPath } from '../../src/git/repositories.ts'
import type { ScriptedCommit, ScriptedFile } from '../support/histories.ts'
import { type Random, seededRandom } from '../transport/rest/random.ts'
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

/** What `git merge` makes of the same, in a work tree. */
function mergedByGit(repositories: Repositories): { treeId: string } | { conflicts: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-merge-'))
  const run = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: 'pipe' })
  try {
    const [, theirs = ''] = heads(repositories)
    run('clone', '-q', '-b', 'ours', repositoryPath(repositories, 1), '.')
    const { status } = spawnSync('git', [
      ...['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'],
      ...['merge', '-q', '--no-ff', '--no-edit', theirs],
    ])
    if (status === 0) return { treeId: run('rev-parse', 'HEAD^{tree}').trim() }
    // Mode, id, stage, tab, path: what is unmerged has a stage.
    const unmerged = run('ls-files', '-u', '-z').split('\0').slice(0, -1)
    return { conflicts: [...new Set(unmerged.map((line) => line.slice(line.indexOf('\t') + 1)))] }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

/** A few commits on a ref that change lines, add, remove and move files. */
function changes(random: Random, on: string, files: Map<string, string[]>): ScriptedCommit[] {
  return Array.from({ length: 1 + random.below(4) }, (_, n) => {
    const changed: Record<string, ScriptedFile> = {}
    const paths = [...files.keys()]
    const path = paths[random.below(paths.length)] ?? ''
    const lines = files.get(path) ?? []
    const kind = random.pick(['edit', 'edit', 'edit', 'add', 'remove', 'move'])
    if (kind === 'edit') {
      const edited = lines.with(random.below(lines.length), `${on} ${n} ${random.below(3)}`)
      files.set(path, edited)
      changed[path] = text(edited)
    } else if (kind === 'add') {
      const added = `added/${random.below(4)}`
      files.set(added, [`${random.below(3)}`])
      changed[added] = text(files.get(added) ?? [])
    } else {
      files.delete(path)
      changed[path] = null
      if (kind === 'move') {
        files.set(`moved/${path}`, lines)
        changed[`moved/${path}`] = text(lines)
      }
    }
    return { on, message: `${kind} ${n}`, files: changed }
  })
}

/** Two branches from one commit, which may have merged each other before. */
function history(seed: number): ScriptedCommit[] {
  const random = seededRandom(seed)
  const base = new Map(
    Array.from({ length: 6 }, (_, i) => [
      `folder-${i % 2}/file-${i}`,
      Array.from({ length: 20 }, (_, n) => `${i} ${n}`),
    ]),
  )
  const content = Object.fromEntries([...base].map(([path, lines]) => [path, text(lines)]))
  const [ours, theirs] = [new Map(base), new Map(base)]
  const begun = [
    { on: OURS, message: 'base', files: content },
    { on: THEIRS, message: 'begin', parents: [OURS] },
    ...changes(random, OURS, ours),
    ...changes(random, THEIRS, theirs),
  ]
  if (random.below(2) === 0) return begun
  const crossed = [
    { on: 'refs/heads/before', message: 'mark', parents: [OURS] },
    { on: OURS, message: 'cross', parents: [OURS, THEIRS] },
    { on: THEIRS, message: 'cross', parents: [THEIRS, 'refs/heads/before'] },
  ]
  return [...begun, ...crossed, ...changes(random, OURS, ours), ...changes(random, THEIRS, theirs)]
}

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
  it('is what `git merge` makes of them, in a work tree', async () => {
    const seen = { clean: 0, conflict: 0, crossed: 0 }
    for (let seed = 1; seed <= 16; seed++) {
      const repositories = await repositoryWith(history(seed))
      const [merged, byGit] = [await merge(repositories), mergedByGit(repositories)]
      if ('treeId' in byGit) {
        expect(merged, `seed ${seed}`).toEqual({ outcome: 'clean', treeId: byGit.treeId })
        seen.clean += 1
      } else {
        expect(merged, `seed ${seed}`).toMatchObject({ outcome: 'conflict', text: expect.stringContaining('CONFLICT') })
        expect('paths' in merged && [...merged.paths].sort()).toEqual(byGit.conflicts.sort())
        seen.conflict += 1
      }
      if (git(repositories, 1, 'merge-base', '--all', OURS, THEIRS).includes('\n')) seen.crossed += 1
      git(repositories, 1, 'fsck', '--full', '--strict')
    }
    // The histories are worth the comparison.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(3)
  }, 60_000)

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
    expect('paths' in merged && merged.paths.length).toBeLessThan(2000)
  })

  it('fails for what are no commits', async () => {
    const repositories = await repositoryWith([{ on: OURS, message: 'one', files: { a: 'a\n' } }])
    await expect(mergeCommits(repositories, 1, '--help', 'x')).rejects.toThrow('no ids of commits')
    await expect(mergeCommits(repositories, 1, '1'.repeat(40), '2'.repeat(40))).rejects.toThrow('merge-tree failed')
  })
})
