import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  latestCommits,
  listChangedPaths,
  listNewCommits,
  losesCommits,
} from '../../../../src/platform/git/history/new-commits.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { HISTORY_START, type ScriptedCommit } from '../../../support/histories.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'
import {
  git,
  gitProcessesOf,
  scratchFolder,
  settleFiles,
  testRepositories,
  writeHistory,
} from '../fixture.ts'

const SIDE = 'refs/heads/side'

async function repositoryWith(commits: readonly ScriptedCommit[]): Promise<Repositories> {
  const repositories = await testRepositories(1)
  writeHistory(repositories, 1, commits)
  return repositories
}

const idOf = (repositories: Repositories, name: string) => git(repositories, 1, 'rev-parse', name)

async function all(texts: AsyncIterable<string>): Promise<string[]> {
  const found = []
  for await (const text of texts) found.push(text)
  return found
}

const madeRef = (n: number) => `refs/made/${n}`

/** Commits that follow each other in a random way, each on a ref of its own. */
function misdatedHistory(random: Random) {
  return Array.from({ length: 60 }, (_, n) => {
    const others = random.below(4) === 0 ? [n - 1 - random.below(10)] : []
    const parents = new Set([n - 1 - random.below(2), ...others])
    return {
      on: madeRef(n),
      message: `${n}`,
      parents: [...parents].filter((parent) => parent >= 0).map(madeRef),
      // Stretches of wrong dates, since Git does not stop at the first few.
      time: HISTORY_START + n - (Math.floor(n / 10) % 2) * 100_000,
    }
  })
}

describe('a move of a branch', () => {
  it('brings its commits, of which the latest are listed', async () => {
    const repositories = await repositoryWith(
      ['one', 'two', 'three', 'four'].map((message) => ({ message })),
    )
    const [one = '', two, three, four = ''] = [3, 2, 1, 0].map((n) =>
      idOf(repositories, `main~${n}`),
    )
    const list = (from: string | undefined, limit = 9) =>
      latestCommits(repositories, 1, { from, to: four }, limit)
    expect(await list(one)).toEqual([four, three, two])
    expect(await list(one, 2)).toEqual([four, three])
    expect(await list(undefined)).toEqual([four, three, two, one])
    expect(await list(four)).toEqual([])
  })

  it('lists the commits of a line and of a merge without a process, as Git does', async () => {
    const repositories = await repositoryWith([
      { message: 'one' },
      { on: SIDE, message: 'side one', parents: ['refs/heads/main'] },
      { on: SIDE, message: 'side two' },
      { message: 'two' },
      { message: 'merge', parents: ['refs/heads/main', SIDE] },
      { on: SIDE, message: 'side three' },
      { message: 'three' },
    ])
    const [main, side] = [idOf(repositories, 'main'), idOf(repositories, SIDE)]
    const [merge, two, one] = [1, 2, 3].map((n) => idOf(repositories, `main~${n}`))
    settleFiles()
    const moves = [
      [two, merge, 3],
      [one, two, 1],
      [merge, main, 1],
      [one, merge, undefined],
      [merge, side, undefined],
      [side, main, undefined],
    ] as const
    for (const [from, to = '', count] of moves) {
      const listed = () => latestCommits(repositories, 1, { from, to }, 9)
      const expected = git(repositories, 1, 'rev-list', to, `^${from}`).split('\n')
      expect(await listed()).toEqual(expected)
      const processes = await gitProcessesOf(repositories, listed)
      expect(processes === 0).toBe(count !== undefined)
      if (count !== undefined) expect(expected).toHaveLength(count)
    }
  })

  it('loses commits unless the old head is an ancestor of the new one', async () => {
    const repositories = await repositoryWith([
      { message: 'one' },
      { on: SIDE, message: 'side', parents: ['refs/heads/main'] },
      { message: 'two' },
    ])
    const [one, two, side] = [
      idOf(repositories, 'main~1'),
      idOf(repositories, 'main'),
      idOf(repositories, 'side'),
    ]
    const loses = (from: string | undefined, to: string) =>
      losesCommits(repositories, 1, { from, to }, {})
    expect(await loses(one, two)).toBe(false)
    expect(await loses(two, one)).toBe(true)
    expect(await loses(two, side)).toBe(true)
    expect(await loses(two, two)).toBe(false)
    expect(await loses(undefined, two)).toBe(false)
  })

  it('loses no commits because of wrong dates', async () => {
    const backdated = Array.from({ length: 20 }, (_, n) => ({
      message: `old ${n}`,
      time: HISTORY_START - 100_000 + n,
    }))
    const repositories = await repositoryWith([
      { message: 'base' },
      { message: 'tip' },
      ...backdated,
    ])
    const move = { from: idOf(repositories, 'main~20'), to: idOf(repositories, 'main') }
    expect(await losesCommits(repositories, 1, move, {})).toBe(false)
    const brought = await all(listNewCommits(repositories, 1, move, {}))
    expect(brought).toEqual(
      git(repositories, 1, 'rev-parse', ...backdated.map((_, n) => `main~${n}`)).split('\n'),
    )
  })

  it.each([1, 2, 3, 4])(
    'is judged correctly in a history with random dates (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const history = misdatedHistory(random)
      const repositories = await repositoryWith(history)
      const ids = git(repositories, 1, 'rev-parse', ...history.map(({ on }) => on)).split('\n')
      const reached = new Map<string, ReadonlySet<string>>()
      for (const [n, { on, parents }] of history.entries()) {
        reached.set(
          on,
          new Set([ids[n] ?? '', ...parents.flatMap((parent) => [...(reached.get(parent) ?? [])])]),
        )
      }
      for (let i = 0; i < 25; i++) {
        const [a, b] = [random.below(ids.length), random.below(ids.length)]
        const [from = '', to = ''] = [ids[a], ids[b]]
        const [had, has] = [reached.get(madeRef(a)), reached.get(madeRef(b))]
        expect(await losesCommits(repositories, 1, { from, to }, {}), `${a} to ${b}`).toBe(
          !has?.has(from),
        )
        const brought = await all(listNewCommits(repositories, 1, { from, to }, {}))
        const overlooked = [...(has ?? [])].filter((id) => !had?.has(id) && !brought.includes(id))
        expect(overlooked, `${a} to ${b}`).toEqual([])
      }
    },
  )

  it('adds commits; a new branch adds those that are on no other branch', async () => {
    const repositories = await repositoryWith([
      { message: 'one' },
      { message: 'two' },
      { on: 'refs/elsewhere', message: 'three', parents: ['refs/heads/main'] },
    ])
    const [one, two] = [idOf(repositories, 'main~1'), idOf(repositories, 'main')]
    const three = idOf(repositories, 'refs/elsewhere')
    const brings = (from: string | undefined, to: string) =>
      all(listNewCommits(repositories, 1, { from, to }, {}))
    expect(await brings(one, three)).toEqual([three, two])
    expect(await brings(undefined, three)).toEqual([three])
    expect(await brings(undefined, two)).toEqual([])
    expect(await brings(three, one)).toEqual([])
  })

  it('changes the paths of the result and of all commits in between', async () => {
    const odd = 'b "ü"\n\t;c'
    const repositories = await repositoryWith([
      { message: 'one', files: { a: '1', moved: 'a text\nof some\nlines\n' } },
      { on: SIDE, message: 'side', parents: ['refs/heads/main'], files: { side: '1' } },
      { message: 'two', files: { [odd]: '1', a: '2' } },
      {
        message: 'three',
        files: { [odd]: null, moved: null, 'to/there': 'a text\nof some\nlines\n' },
      },
      { message: 'merge', parents: ['refs/heads/main', SIDE], files: { side: '1', evil: '1' } },
    ])
    const [first, last] = [idOf(repositories, 'main~3'), idOf(repositories, 'main')]
    const paths = async (from: string | undefined, to: string) =>
      [...new Set(await all(listChangedPaths(repositories, 1, { from, to }, {})))].sort()
    expect(await paths(first, last)).toEqual(['a', odd, 'evil', 'moved', 'side', 'to/there'])
    // Back again nothing is new, and everything another.
    expect(await paths(last, first)).toEqual(['a', 'evil', 'moved', 'side', 'to/there'])
    expect(await paths(undefined, last)).toEqual([])
    git(repositories, 1, 'update-ref', '-d', 'refs/heads/main')
    git(repositories, 1, 'update-ref', '-d', SIDE)
    expect(await paths(undefined, first)).toEqual(['a', 'moved'])
  })

  it('is judged while its objects are in quarantine', async () => {
    const repositories = await repositoryWith([{ message: 'one', files: { a: '1' } }])
    const from = idOf(repositories, 'main')
    const objects = join(repositoryPath(repositories, 1), 'objects')
    const kept = join(await scratchFolder(), 'kept')
    await cp(objects, kept, { recursive: true })
    writeHistory(repositories, 1, [
      { message: 'two', files: { b: '1' }, parents: ['refs/heads/main^0'] },
    ])
    const to = idOf(repositories, 'main')
    git(repositories, 1, 'update-ref', 'refs/heads/main', from)
    // A colon would end a path in a list of them.
    const quarantine = join(await scratchFolder(), 'in: "coming"')
    await mkdir(quarantine)
    await cp(objects, quarantine, { recursive: true })
    await rm(objects, { recursive: true })
    await cp(kept, objects, { recursive: true })
    const move = { from, to }
    expect(await losesCommits(repositories, 1, move, { quarantine })).toBe(false)
    expect(await all(listNewCommits(repositories, 1, move, { quarantine }))).toEqual([to])
    expect(new Set(await all(listChangedPaths(repositories, 1, move, { quarantine })))).toEqual(
      new Set(['b']),
    )
    await expect(losesCommits(repositories, 1, move, {})).rejects.toThrow('merge-base')
  })
})
