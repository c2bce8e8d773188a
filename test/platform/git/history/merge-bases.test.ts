import { describe, expect, it } from 'vitest'
import { findMergeBase } from '../../../../src/platform/git/history/history.ts'
import { soleMergeBase } from '../../../../src/platform/git/history/merge-bases.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { HISTORY_START, type ScriptedCommit } from '../../../support/histories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomNumbers } from '../random-history.ts'

const COMMITS = 40
const PAIRS = 60

/**
 * Commits that follow on up to three others each, dated as they come, all at once, or at random.
 */
function tangle(seed: number): ScriptedCommit[] {
  const random = randomNumbers(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const dates = [(n: number) => n, () => 0, () => below(COMMITS)][seed % 3] ?? below
  return Array.from({ length: COMMITS }, (_, n) => {
    const near = () => nameOf(Math.max(0, n - 1 - below(6)))
    const parents =
      n === 0 || random() < 0.05 ? [] : [...new Set(Array.from({ length: 1 + below(3) }, near))]
    return { on: nameOf(n), message: `${n}`, parents, time: HISTORY_START + dates(n) }
  })
}

function nameOf(n: number): string {
  return `refs/heads/c${n}`
}

/** All that git-merge-base(1) names, for each pair. */
function basesByGit(
  repositories: Repositories,
  pairs: readonly (readonly [string, string])[],
): string[][] {
  const script = 'while read -r one other; do echo $(git merge-base --all "$one" "$other"); done'
  const input = pairs.map((pair) => `${pair.join(' ')}\n`).join('')
  const output = execFileSync('sh', ['-c', script], {
    cwd: repositoryPath(repositories, 1),
    input,
    encoding: 'utf8',
  })
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter((id) => id !== ''))
}

async function repositoryWith(commits: readonly ScriptedCommit[]): Promise<Repositories> {
  const repositories = await testRepositories(1)
  writeHistory(repositories, 1, commits)
  return repositories
}

describe('the merge base of two commits', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'equals that of Git in a random history (seed %i)',
    async (seed) => {
      const repositories = await repositoryWith(tangle(seed))
      const ids = git(repositories, 1, 'for-each-ref', '--format=%(objectname)').split('\n')
      const random = randomNumbers(seed + 1000)
      const pick = () => ids[Math.floor(random() * ids.length)] ?? ''
      const pairs = Array.from({ length: PAIRS }, () => [pick(), pick()] as const)
      const expected = basesByGit(repositories, pairs)
      expect(expected.length).toBe(PAIRS)
      let settled = 0
      for (const [i, [one, other]] of pairs.entries()) {
        const [first, ...others] = expected[i] ?? []
        const sole = await soleMergeBase(repositories, 1, one, other)
        if (sole !== undefined) {
          expect(sole ?? undefined).toBe(first)
          expect(others).toEqual([])
          settled += 1
        }
        expect(await findMergeBase(repositories, 1, one, other)).toBe(first)
      }
      expect(settled).toBeGreaterThan(PAIRS / 4)
    },
  )

  it('is found without a process when it is near, or from cached commits', async () => {
    const line = (on: string, count: number, parents: readonly string[]) =>
      Array.from({ length: count }, (_, n) => ({
        on,
        message: `${on} ${n}`,
        ...(n === 0 && { parents }),
      }))
    const [main, far, near] = ['refs/heads/main', 'refs/heads/far', 'refs/heads/near']
    const repositories = await repositoryWith([
      { message: 'base' },
      ...line(far, 50, [main]),
      ...line(main, 50, []),
      ...line(near, 3, [main]),
    ])
    const ids = git(repositories, 1, 'rev-parse', `${main}~50`, main, far, near).split('\n')
    const [base = '', mainId = '', farId = '', nearId = ''] = ids
    expect(await soleMergeBase(repositories, 1, nearId, mainId)).toBe(mainId)
    expect(await soleMergeBase(repositories, 1, mainId, farId)).toBeUndefined()
    expect(await findMergeBase(repositories, 1, mainId, farId)).toBe(base)
    expect(await soleMergeBase(repositories, 1, mainId, farId)).toBe(base)
  })

  it('fails when a commit does not exist', async () => {
    const repositories = await repositoryWith([{ message: 'one' }])
    const id = git(repositories, 1, 'rev-parse', 'main')
    await expect(findMergeBase(repositories, 1, id, '1'.repeat(40))).rejects.toMatchObject({
      kind: 'NOT_FOUND',
    })
  })
})
