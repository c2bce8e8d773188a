import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runGit } from '../../../../src/platform/git/processes/child-process.ts'
import {
  isRefName,
  listRefs,
  type RefTransactions,
  readDefaultBranch,
  readRef,
  resolveCommit,
  setDefaultBranch,
  updateRefs,
} from '../../../../src/platform/git/refs/refs.ts'
import {
  deleteRepository,
  poolOf,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import {
  createFilledRepository,
  git,
  storeCommit,
  testRepositories,
  writeHistory,
} from '../fixture.ts'

const MAIN = 'refs/heads/main'
const NOBODY = '1'.repeat(40)

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}

async function filled() {
  const repositories = await testRepositories()
  const first = await createFilledRepository(repositories, 1)
  const second = await storeCommit(repositories, 1, 'second')
  return { repositories, first, second }
}

describe('a name for a branch', () => {
  it.each([
    'main',
    'feature/x',
    'v1.0',
    'ü',
    'a./b',
    'a'.repeat(250),
    'refs/heads/x',
    '{a}',
    'a@b',
  ])('may be %s', (name) => {
    expect(isRefName(name)).toBe(true)
  })

  it.each([
    '',
    '@',
    'HEAD',
    '-d',
    '.a',
    'a/.b',
    'a..b',
    'a.lock',
    'a.lock/b',
    'a.',
    'a/',
    '/a',
    'a//b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    'a@{1}',
    'a\0',
    'a\nb',
    'a\x7f',
    '\ud800',
    'a'.repeat(251),
    // Within the length in characters, beyond it in bytes.
    'ü'.repeat(126),
    'a/'.repeat(600).slice(0, -1),
  ])('may not be %j', (name) => {
    expect(isRefName(name)).toBe(false)
  })

  it.each(['main', 'a./b', 'ü', 'a..b', 'a.lock', '.a', 'a//b', 'a@{1}', '{a}', 'a~1'])(
    'is valid as in Git: %s',
    async (name) => {
      const repositories = await testRepositories(1)
      const judge = () => git(repositories, 1, 'check-ref-format', `refs/heads/${name}`)
      if (isRefName(name)) expect(judge()).toBe('')
      else expect(judge).toThrow()
    },
  )
})

describe('updating refs', () => {
  it('creates, moves and deletes refs that have the expected values', async () => {
    const { repositories, first, second } = await filled()
    await updateRefs(repositories, 1, [
      { name: MAIN, from: first, to: second },
      { name: 'refs/heads/new', from: undefined, to: first },
    ])
    expect(await readRef(repositories, 1, MAIN)).toBe(second)
    expect(await readRef(repositories, 1, 'refs/heads/new')).toBe(first)
    await updateRefs(repositories, 1, [{ name: 'refs/heads/new', from: first, to: undefined }])
    expect(await readRef(repositories, 1, 'refs/heads/new')).toBeUndefined()
  })

  it.each([
    ['moved', MAIN, NOBODY],
    ['there already', MAIN, undefined],
    ['gone', 'refs/heads/gone', NOBODY],
  ])('refuses a ref that is %s, and with it the whole transaction', async (_, name, from) => {
    const { repositories, first, second } = await filled()
    const updates = [
      { name: 'refs/heads/new', from: undefined, to: first },
      { name, from, to: second },
    ]
    await expect(updateRefs(repositories, 1, updates)).rejects.toMatchObject({ kind: 'STALE' })
    expect(await readRef(repositories, 1, 'refs/heads/new')).toBeUndefined()
    expect(await readRef(repositories, 1, MAIN)).toBe(first)
  })

  it('lets one of two concurrent writers win', async () => {
    const { repositories, first, second } = await filled()
    const third = await storeCommit(repositories, 1, 'third')
    const races = [second, third].map((to) =>
      updateRefs(repositories, 1, [{ name: MAIN, from: first, to }]),
    )
    const outcomes = (await Promise.allSettled(races)).map(({ status }) => status).sort()
    expect(outcomes).toEqual(['fulfilled', 'rejected'])
  })

  it.each([
    ['below another', 'refs/heads/main/x'],
    ['above another', 'refs/heads/deep'],
  ])('refuses a name %s, loose or packed', async (_, name) => {
    const { repositories, first } = await filled()
    await updateRefs(repositories, 1, [{ name: 'refs/heads/deep/er', from: undefined, to: first }])
    const make = () => updateRefs(repositories, 1, [{ name, from: undefined, to: first }])
    await expect(make()).rejects.toMatchObject({ kind: 'NAME_COLLISION' })
    git(repositories, 1, 'pack-refs', '--all')
    await expect(make()).rejects.toMatchObject({ kind: 'NAME_COLLISION' })
  })

  it('reports a lock of another writer', async () => {
    const { repositories, first, second } = await filled()
    writeFileSync(join(repositoryPath(repositories, 1), `${MAIN}.lock`), '')
    const moved = updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    await expect(moved).rejects.toMatchObject({ kind: 'LOCKED' })
  })

  it('waits for a lock that is held for a moment, as git pack-refs does', async () => {
    const { repositories, first, second } = await filled()
    const lock = join(repositoryPath(repositories, 1), `${MAIN}.lock`)
    writeFileSync(lock, '')
    const moved = updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    // Longer than the 100 ms of Git's default.
    setTimeout(() => rmSync(lock), 300)
    await moved
    expect(await readRef(repositories, 1, MAIN)).toBe(second)
  })

  it('refuses an object that does not exist', async () => {
    const { repositories, first } = await filled()
    const moved = updateRefs(repositories, 1, [{ name: MAIN, from: first, to: NOBODY }])
    await expect(moved).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  })

  it.each([
    ['HEAD', NOBODY],
    ['main', NOBODY],
    ['refs/heads/a b', NOBODY],
    // Would begin another instruction.
    ['refs/heads/x\0delete refs/heads/main', NOBODY],
    ['refs/heads/x', 'main'],
  ])('refuses the ref %j with the value %s', async (name, to) => {
    const { repositories } = await filled()
    await expect(
      updateRefs(repositories, 1, [{ name, from: undefined, to }]),
    ).rejects.toMatchObject({
      kind: 'INVALID_NAME',
    })
  })

  it('uses one process until a failure, and then another one', async () => {
    const { repositories, first, second } = await filled()
    const kept = () => {
      const pool = poolOf<RefTransactions>(repositories, 'update-ref')
      const transactions = pool.take(1)
      if (transactions) pool.add(1, transactions)
      return transactions
    }
    const transactions = kept()
    expect(transactions).toBeDefined()
    await updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    expect(kept()).toBe(transactions)
    const stale = updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    await expect(stale).rejects.toMatchObject({ kind: 'STALE' })
    expect(kept()).toBeUndefined()
    await updateRefs(repositories, 1, [{ name: MAIN, from: second, to: first }])
    await kept()?.end()
    await updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    expect(await readRef(repositories, 1, MAIN)).toBe(second)
    await deleteRepository(repositories, 1)
    expect(kept()).toBeUndefined()
  })

  it('sees refs and objects that other processes have created', async () => {
    const { repositories, first, second } = await filled()
    await updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    git(repositories, 1, 'update-ref', MAIN, first)
    git(repositories, 1, 'pack-refs', '--all', '--prune')
    await updateRefs(repositories, 1, [{ name: MAIN, from: first, to: second }])
    git(repositories, 1, 'update-ref', 'refs/heads/a/b', first)
    const below = updateRefs(repositories, 1, [
      { name: 'refs/heads/a', from: undefined, to: first },
    ])
    await expect(below).rejects.toMatchObject({ kind: 'NAME_COLLISION' })
    await updateRefs(repositories, 1, [{ name: 'refs/heads/c', from: undefined, to: first }])
    git(repositories, 1, 'update-ref', '-d', 'refs/heads/a/b')
    git(repositories, 1, 'pack-refs', '--all', '--prune')
    await updateRefs(repositories, 1, [{ name: 'refs/heads/a', from: undefined, to: first }])
    writeHistory(repositories, 1, [{ on: 'refs/heads/pushed', message: 'pushed' }])
    git(repositories, 1, 'repack', '-adq')
    const pushed = git(repositories, 1, 'rev-parse', 'pushed')
    await updateRefs(repositories, 1, [{ name: MAIN, from: second, to: pushed }])
    expect(git(repositories, 1, 'rev-parse', MAIN, 'a')).toBe(`${pushed}\n${first}`)
    git(repositories, 1, 'fsck', '--full', '--strict')
  })

  it('loses no update while Git moves the same ref', async () => {
    const { repositories, first } = await filled()
    const commits = [first]
    for (let n = 0; n < 20; n += 1) commits.push(await storeCommit(repositories, 1, `commit ${n}`))
    const other = runGit(
      ['update-ref', '--stdin', '-z'],
      { processes: repositories.processes, repository: repositoryPath(repositories, 1) },
      commits
        .slice(1, 11)
        .flatMap((to, n) => `start\0update ${MAIN}\0${to}\0${commits[n]}\0commit\0`)
        .join(''),
    )
    let [moved, refused] = [0, 0]
    for (let n = 10; n < 20 && refused < 10_000; ) {
      const [from, to] = [commits[n], commits[n + 1]]
      const outcome = await updateRefs(repositories, 1, [{ name: MAIN, from, to }]).catch(
        (error: unknown) => error,
      )
      if (outcome === undefined) {
        moved += 1
        n += 1
      } else {
        expect(outcome).toMatchObject({ kind: expect.stringMatching(/^(?:STALE|LOCKED)$/) })
        refused += 1
      }
    }
    expect((await other).stdout.match(/commit: ok/g)?.length).toBe(10)
    expect(moved).toBe(10)
    expect(await readRef(repositories, 1, MAIN)).toBe(commits[20])
  })

  it('does nothing without updates', async () => {
    const { repositories } = await filled()
    await expect(updateRefs(repositories, 1, [])).resolves.toBeUndefined()
  })
})

describe('listing refs', () => {
  it('returns refs with the prefixes by name, including packed ones', async () => {
    const { repositories, first, second } = await filled()
    git(repositories, 1, 'pack-refs', '--all')
    await updateRefs(repositories, 1, [
      { name: 'refs/heads/a', from: undefined, to: second },
      { name: 'refs/tags/v1', from: undefined, to: first },
      { name: 'refs/pull/1/head', from: undefined, to: first },
    ])
    expect(await collect(listRefs(repositories, 1, ['refs/heads/', 'refs/tags/']))).toEqual([
      { name: 'refs/heads/a', id: second },
      { name: MAIN, id: first },
      { name: 'refs/tags/v1', id: first },
    ])
  })

  it('ends Git when the reader stops', async () => {
    const { repositories, first } = await filled()
    await updateRefs(repositories, 1, [{ name: 'refs/heads/a', from: undefined, to: first }])
    for await (const { name } of listRefs(repositories, 1, ['refs/heads/'])) {
      expect(name).toBe('refs/heads/a')
      break
    }
  })

  it('fails when the repository does not exist', async () => {
    const repositories = await testRepositories()
    mkdirSync(repositoryPath(repositories, 9), { recursive: true })
    // The data folder may be inside of somebody's own repository, which is not the one that was
    // asked for.
    execFileSync('git', ['init', '-q', repositories.folder])
    await expect(collect(listRefs(repositories, 9, ['refs/']))).rejects.toThrow(
      'not a git repository',
    )
  })
})

describe('the default branch', () => {
  it('can be one that does not exist yet', async () => {
    const { repositories } = await filled()
    await setDefaultBranch(repositories, 1, 'later/on')
    expect(await readDefaultBranch(repositories, 1)).toBe('later/on')
    expect(await readRef(repositories, 1, 'HEAD')).toBeUndefined()
  })

  it('can only be a branch', async () => {
    const { repositories } = await filled()
    await expect(setDefaultBranch(repositories, 1, '../../config')).rejects.toMatchObject({
      kind: 'INVALID_NAME',
    })
  })
})

describe('a revision', () => {
  it('is resolved by branch, tag, ref, id and number of ancestors', async () => {
    const { repositories, first, second } = await filled()
    git(
      repositories,
      1,
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'tag',
      '-a',
      'v1',
      '-m',
      'one',
      second,
    )
    const child = git(
      repositories,
      1,
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit-tree',
      `${first}^{tree}`,
      '-p',
      first,
      '-m',
      'x',
    )
    await updateRefs(repositories, 1, [
      { name: 'refs/heads/v1', from: undefined, to: child },
      { name: `refs/heads/${second}`, from: undefined, to: first },
    ])
    const cases: [text: string, commit: string | undefined][] = [
      ['HEAD', first],
      ['main', first],
      ['refs/tags/v1', second],
      // The branch, though there is a tag of that name.
      ['v1', child],
      ['v1~1', first],
      ['v1^', first],
      ['v1~2', undefined],
      [first, first],
      // The commit, though there is a branch of that name.
      [second, second],
      [first.slice(0, 8), first],
      [`${child}~`, first],
      [git(repositories, 1, 'rev-parse', `${first}^{tree}`), undefined],
      [git(repositories, 1, 'rev-parse', 'refs/tags/v1'), second],
      [NOBODY, undefined],
      ['nothing', undefined],
      ['', undefined],
      ['~1', undefined],
    ]
    for (const [text, commit] of cases)
      expect([text, await resolveCommit(repositories, 1, text)]).toEqual([text, commit])
  })

  it.each([
    // They search the history, read a reflog or name no commit (gitrevisions(7)).
    ':/first',
    'main^{/first}',
    'main@{0}',
    '@{-1}',
    'main@{upstream}',
    'main:README.md',
    'main..main',
    '^main',
    '@',
    '../../../HEAD',
  ])('is never %s', async (text) => {
    const { repositories } = await filled()
    expect(await resolveCommit(repositories, 1, text)).toBeUndefined()
  })
})
