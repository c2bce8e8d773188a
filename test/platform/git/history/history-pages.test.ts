import { describe, expect, it } from 'vitest'
import { readHistory } from '../../../../src/platform/git/history/history-pages.ts'
import { nearHistory } from '../../../../src/platform/git/history/recent-history.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { HISTORY_START, type ScriptedCommit } from '../../../support/histories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { randomNumbers } from '../random-history.ts'

const COMMITS = 30
const PAIRS = 25

function nameOf(n: number): string {
  return `refs/heads/c${n}`
}

/** Commits that follow on up to three others each, dated as they come, in pairs, or all at once. */
function tangle(seed: number): ScriptedCommit[] {
  const random = randomNumbers(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const dateOf = [(n: number) => n, (n: number) => Math.floor(n / 3), () => 0][seed % 3] ?? below
  return Array.from({ length: COMMITS }, (_, n) => {
    const near = () => nameOf(Math.max(0, n - 1 - below(6)))
    const parents =
      n === 0 || random() < 0.05 ? [] : [...new Set(Array.from({ length: 1 + below(3) }, near))]
    return { on: nameOf(n), message: `${n}`, parents, time: HISTORY_START + dateOf(n) }
  })
}

function listedByGit(repositories: Repositories, from: string, without?: string): string[] {
  const range = without === undefined ? [from] : [from, `^${without}`]
  return git(repositories, 1, 'rev-list', ...range)
    .split('\n')
    .filter(Boolean)
}

describe('a short history', () => {
  it.each([1, 2, 3, 4, 5, 6])('is that of Git (seed %i)', async (seed) => {
    const repositories = await testRepositories(1)
    writeHistory(repositories, 1, tangle(seed))
    const tips = git(repositories, 1, 'for-each-ref', '--format=%(objectname)').split('\n')
    const random = randomNumbers(seed + 100)
    const pick = () => tips[Math.floor(random() * tips.length)] ?? ''
    for (let i = 0; i < PAIRS; i++) {
      const [from, other] = [pick(), pick()]
      const without = i % 2 === 0 ? other : undefined
      const expected = listedByGit(repositories, from, without)
      expect(await nearHistory(repositories, 1, [from], [without ?? []].flat())).toEqual(expected)
      expect(await readHistory(repositories, 1, { from, without }, 1, 3)).toEqual({
        ids: expected.slice(1, 4),
        total: expected.length,
      })
    }
  })
})

describe('a long history', () => {
  it('is that of Git on each page', async () => {
    const repositories = await testRepositories(1)
    const commits = Array.from({ length: 120 }, (_, n) => ({ message: `${n}` }))
    writeHistory(repositories, 1, commits)
    const from = git(repositories, 1, 'rev-parse', 'main')
    const expected = listedByGit(repositories, from)
    for (const offset of [0, 50, 100, 120, 200])
      for (const start of [from, expected[5] ?? '']) {
        const all = expected.slice(expected.indexOf(start))
        expect(await readHistory(repositories, 1, { from: start }, offset, 30)).toEqual({
          ids: all.slice(offset, offset + 30),
          total: all.length,
        })
      }
  })
})
