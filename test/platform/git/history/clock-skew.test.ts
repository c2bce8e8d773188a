import { describe, expect, it } from 'vitest'
import {
  listContainedCommits,
  listMergedCommits,
} from '../../../../src/platform/git/history/commits-of-merge.ts'
import { findMergeBase } from '../../../../src/platform/git/history/history.ts'
import { readHistory } from '../../../../src/platform/git/history/history-pages.ts'
import { soleMergeBase } from '../../../../src/platform/git/history/merge-bases.ts'
import { nearHistory } from '../../../../src/platform/git/history/recent-history.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { HISTORY_START, type ScriptedCommit } from '../../../support/histories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { isLongTier } from '../../../support/tier.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomNumbers } from '../random-history.ts'

const PAIRS = 40
const SEEDS = isLongTier ? 12 : 4
/** Seconds by which clocks are wrong. */
const MAX_DRIFT = 3_600

/** A graph of up to 45 commits, made minutes or seconds apart by three people whose clocks drift. */
function driftingHistory(seed: number): ScriptedCommit[] {
  const random = randomNumbers(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const [count, step, reach] = [3 + below(43), [1, 60, 600][seed % 3] ?? 1, 1 + below(8)]
  const clocks = [0, below(MAX_DRIFT), -below(MAX_DRIFT)]
  return Array.from({ length: count }, (_, n) => {
    const near = () => nameOf(Math.max(0, n - 1 - below(reach)))
    const parents =
      n === 0 || random() < 0.04 ? [] : [...new Set(Array.from({ length: 1 + below(3) }, near))]
    const time = HISTORY_START + n * step + (clocks[below(3)] ?? 0)
    return { on: nameOf(n), message: `${n}`, parents, time }
  })
}

function nameOf(n: number): string {
  return `refs/heads/c${n}`
}

/** What git prints for each of several lists of arguments. */
function printed(repositories: Repositories, calls: readonly (readonly string[])[]): string[][] {
  const script = 'while read -r line; do echo $(git $line); done'
  const input = calls.map((args) => `${args.join(' ')}\n`).join('')
  const cwd = repositoryPath(repositories, 1)
  return execFileSync('sh', ['-c', script], { cwd, input, encoding: 'utf8' })
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter(Boolean))
}

describe('a history by clocks that drift', () => {
  it.each(Array.from({ length: SEEDS }, (_, n) => n))('is that of Git (seed %i)', async (seed) => {
    const repositories = await testRepositories(1)
    writeHistory(repositories, 1, driftingHistory(seed))
    const ids = git(repositories, 1, 'for-each-ref', '--format=%(objectname)').split('\n')
    const random = randomNumbers(seed + 1_000)
    const pick = () => ids[Math.floor(random() * ids.length)] ?? ''
    const triples = Array.from({ length: PAIRS }, () => [pick(), pick(), pick()] as const)
    const listed = printed(
      repositories,
      triples.flatMap(([one, other, third]) => [
        ['rev-list', one, `^${other}`],
        ['rev-list', one, third, `^${other}`],
        ['rev-list', one],
        ['merge-base', '--all', one, other],
        ['rev-list', one, `^${other}`, `^${third}`],
      ]),
    )
    for (const [i, [one, other, third]] of triples.entries()) {
      const [range = [], both = [], all = [], bases = [], two = []] = listed.slice(i * 5, i * 5 + 5)
      expect(await nearHistory(repositories, 1, [one], [other])).toEqual(range)
      const page = await readHistory(repositories, 1, { from: one, without: other }, 0, 1_000)
      expect(page).toEqual({ ids: range, total: range.length })
      expect(await listMergedCommits(repositories, 1, [one, third], other, 1_000)).toEqual(both)
      expect(await nearHistory(repositories, 1, [one], [])).toEqual(all)
      expect(await nearHistory(repositories, 1, [one], [other, third])).toEqual(two)
      expect(await listContainedCommits(repositories, 1, [one], [other])).toEqual(
        range.includes(one) ? [] : [one],
      )
      expect(await findMergeBase(repositories, 1, one, other)).toBe(bases[0])
      const sole = await soleMergeBase(repositories, 1, one, other)
      if (sole !== undefined) expect([sole ?? []].flat()).toEqual(bases)
    }
  })

  it('is that of Git with dates that no calendar has', async () => {
    const repositories = await testRepositories(1)
    const times = ['9223372036854775807', '36028797018963968', '1770000000', '0']
    const tree = git(repositories, 1, 'hash-object', '-t', 'tree', '-w', '/dev/null')
    const hash = (time: string, ...parents: string[]) =>
      execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], {
        cwd: repositoryPath(repositories, 1),
        encoding: 'utf8',
        input: [
          `tree ${tree}`,
          ...parents.map((parent) => `parent ${parent}`),
          `author Ada <ada@example.org> ${time} +0000`,
          `committer Ada <ada@example.org> ${time} +0000\n\n${time}\n`,
        ].join('\n'),
      }).trimEnd()
    const [base, ...sides] = [hash('5'), ...times.map((time) => hash(time, hash('5')))] as const
    const tip = hash('1', ...sides)
    const [all] = printed(repositories, [['rev-list', tip]])
    expect(await nearHistory(repositories, 1, [tip], [])).toEqual(all)
    expect(all).toEqual([tip, ...sides.slice(0, 3), base, sides[3]])
  })
})
