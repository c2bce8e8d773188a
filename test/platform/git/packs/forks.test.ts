import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { draftFork, fetchCommit } from '../../../../src/platform/git/packs/forks.ts'
import { setDefaultBranch } from '../../../../src/platform/git/refs/refs.ts'
import {
  createRepository,
  deleteRepository,
  discardDraft,
  publishDraft,
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFile, execFileSync } from '../../../support/programs.ts'
import {
  createFilledRepository,
  git,
  gitAt,
  storeCommit,
  testRepositories,
  writeHistory,
} from '../fixture.ts'

const PARENT = 7
const FORK = 8

async function fork(repositories: Repositories): Promise<void> {
  await publishDraft(repositories, await draftFork(repositories, PARENT), FORK)
}

/** Regular files below the objects of a repository. */
function objectFiles(repositories: Repositories, id: number): string[] {
  const folder = join(repositoryPath(repositories, id), 'objects')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
}

/** Makes loose objects of all that is in packs. */
function loosen(repositories: Repositories, id: number): void {
  const path = repositoryPath(repositories, id)
  for (const pack of readdirSync(join(path, 'objects/pack')).filter((name) =>
    name.endsWith('.pack'),
  )) {
    const outside = join(path, pack)
    renameSync(join(path, 'objects/pack', pack), outside)
    rmSync(join(path, 'objects/pack', pack.replace(/pack$/, 'idx')))
    execFileSync('git', ['-C', path, 'unpack-objects', '-q'], { input: readFileSync(outside) })
    rmSync(outside)
  }
}

describe('a fork', () => {
  it('has the branches, the tags and the default branch, but no internal refs of its parent', async () => {
    const repositories = await testRepositories()
    const commit = await createFilledRepository(repositories, PARENT)
    git(repositories, PARENT, 'update-ref', 'refs/heads/a/b', commit)
    git(
      repositories,
      PARENT,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@example.org',
      'tag',
      '-m',
      'one',
      'v1',
      commit,
    )
    git(repositories, PARENT, 'update-ref', 'refs/pull/1/head', commit)
    git(repositories, PARENT, 'update-ref', 'refs/notes/commits', commit)
    await setDefaultBranch(repositories, PARENT, 'a/b')
    await fork(repositories)
    const refs = git(
      repositories,
      PARENT,
      'for-each-ref',
      '--format=%(objectname) %(refname) %(*objectname)',
    )
    const shared = refs.split('\n').filter((line) => /refs\/(heads|tags)\//.test(line))
    expect(shared).toHaveLength(3)
    expect(
      git(
        repositories,
        FORK,
        'for-each-ref',
        '--format=%(objectname) %(refname) %(*objectname)',
      ).split('\n'),
    ).toEqual(shared)
    expect(git(repositories, FORK, 'symbolic-ref', 'HEAD')).toBe('refs/heads/a/b')
    git(repositories, FORK, 'fsck', '--full', '--strict')
  })

  it.each([
    ['loose objects', () => {}],
    ['a pack', (repositories: Repositories) => git(repositories, PARENT, 'repack', '-adq')],
  ])('takes no space for %s of its parent', async (_, prepare) => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, PARENT)
    prepare(repositories)
    await fork(repositories)
    const files = objectFiles(repositories, FORK)
    expect(files.length).toBeGreaterThan(1)
    expect(files.filter((path) => statSync(path).nlink !== 2)).toEqual([])
  })

  it('stays complete whatever happens to its parent', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, PARENT)
    await fork(repositories)
    git(repositories, PARENT, 'update-ref', '-d', 'refs/heads/main')
    git(repositories, PARENT, 'gc', '--quiet', '--prune=now')
    git(repositories, FORK, 'fsck', '--full', '--strict')
    await deleteRepository(repositories, PARENT)
    git(repositories, FORK, 'gc', '--quiet', '--prune=now')
    git(repositories, FORK, 'fsck', '--full', '--strict')
    expect(git(repositories, FORK, 'show', 'main:README.md')).toBe('# first')
  })

  it('and its parent change independently', async () => {
    const repositories = await testRepositories()
    const first = await createFilledRepository(repositories, PARENT)
    await fork(repositories)
    const second = await storeCommit(repositories, FORK, 'second')
    git(repositories, FORK, 'update-ref', 'refs/heads/main', second)
    expect(git(repositories, PARENT, 'rev-parse', 'main')).toBe(first)
    expect(() => git(repositories, PARENT, 'cat-file', '-e', second)).toThrow()
  })

  it('of an empty repository is empty', async () => {
    const repositories = await testRepositories()
    await createRepository(repositories, PARENT, 'trunk')
    await fork(repositories)
    expect(git(repositories, FORK, 'for-each-ref')).toBe('')
    expect(git(repositories, FORK, 'symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
  })

  it('does not contain objects of a push that is not accepted', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, PARENT)
    const objects = join(repositoryPath(repositories, PARENT), 'objects')
    mkdirSync(join(objects, 'tmp_objdir-incoming-x/pack'), { recursive: true })
    writeFileSync(join(objects, 'tmp_objdir-incoming-x/pack/pack-1.pack'), 'half')
    writeFileSync(join(objects, 'pack/tmp_pack_x'), 'half')
    await fork(repositories)
    const foreign = objectFiles(repositories, FORK).filter((path) => path.includes('tmp_'))
    expect(foreign).toEqual([])
  })

  it('is complete even when Git repacks its parent meanwhile', async () => {
    const repositories = await testRepositories()
    await createRepository(repositories, PARENT, 'main')
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${i}`, `${i}`]))
    writeHistory(repositories, PARENT, [{ message: 'many', files }])
    for (let round = 0; round < 5; round++) {
      loosen(repositories, PARENT)
      const [draft] = await Promise.all([
        draftFork(repositories, PARENT),
        execFile('git', ['-C', repositoryPath(repositories, PARENT), 'repack', '-adq']),
      ])
      gitAt(draft, 'fsck', '--full', '--strict', '--no-dangling')
      await discardDraft(draft)
    }
  })

  it('leaves no files when its parent does not exist', async () => {
    const repositories = await testRepositories()
    await expect(draftFork(repositories, PARENT)).rejects.toMatchObject({ kind: 'NO_REPOSITORY' })
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
  })
})

describe('a fetched commit', () => {
  it('does not wait for slow readers', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, PARENT)
    await createRepository(repositories, FORK, 'main')
    const commit = git(repositories, PARENT, 'rev-parse', 'main').trim()
    const leave: (() => void)[] = []
    for (let isFull = false; !isFull; ) {
      await repositories.streams.acquire().then(
        (left) => leave.push(left),
        () => {
          isFull = true
        },
      )
    }
    await fetchCommit(repositories, FORK, PARENT, commit)
    expect(git(repositories, FORK, 'cat-file', '-t', commit).trim()).toBe('commit')
    for (const left of leave) left()
  })
})
