import { beforeEach, describe, expect, it } from 'vitest'
import { diffTrees } from '../../../../src/platform/git/diffs/diff.ts'
import { followLines } from '../../../../src/platform/git/diffs/hunks.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

/** Where the lines of files are after a change, by path. */
async function follow(
  before: Record<string, string[]>,
  after: Record<string, string[] | null>,
  wanted: number[],
) {
  const files = (version: Record<string, string[] | null>) =>
    Object.fromEntries(
      Object.entries(version).map(([path, lines]) => [path, lines && textOf(lines)]),
    )
  writeHistory(repositories, 1, [
    { message: 'before', files: files(before) },
    { message: 'after', files: files(after) },
  ])
  const [from = '', to = ''] = ['main~1', 'main'].map((name) =>
    git(repositories, 1, 'rev-parse', name),
  )
  const options = { lines: false, window: { offset: 0, limit: 1_000 } }
  const { files: pairs } = await diffTrees(repositories, 1, from, to, options)
  const followed = await followLines(
    repositories,
    1,
    pairs.map((pair) => ({ pair, lines: wanted })),
  )
  return new Map(pairs.map(({ path }, i) => [path, followed[i] ?? new Map<number, number>()]))
}

describe('line numbers', () => {
  it('move with added and deleted lines, and end when their line changes', async () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f']
    const places = await follow(
      { one: before, two: before, three: before },
      { one: ['new', ...before], two: ['a', 'B', 'c', 'e', 'more', 'f', 'end'], three: null },
      [6, 1, 2, 3, 4, 5],
    )
    expect(Object.fromEntries(places.get('one') ?? [])).toEqual({
      1: 2,
      2: 3,
      3: 4,
      4: 5,
      5: 6,
      6: 7,
    })
    expect(Object.fromEntries(places.get('two') ?? [])).toEqual({ 1: 1, 3: 3, 5: 4, 6: 6 })
    expect(places.get('three')?.size).toBe(0)
  })

  it('follow the text through random changes', async () => {
    // A generator of its own, so that a failure repeats itself (Numerical Recipes, "An even quicker
    // generator").
    let seed = 1
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed % below
    }
    const before: Record<string, string[]> = {}
    const after: Record<string, string[]> = {}
    for (let file = 0; file < 100; file++) {
      const path = `file${String(file).padStart(3, '0')}`
      const old = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`)
      before[path] = old
      after[path] = [
        `new ${file}`,
        ...old.flatMap((line) =>
          random(10) === 0 ? [] : random(10) === 0 ? [line, `more ${random(100)}`] : [line],
        ),
      ]
    }
    const wanted = Array.from({ length: 60 }, (_, i) => i + 1)
    const places = await follow(before, after, wanted)
    expect(places.size).toBe(100)
    for (const [path, found] of places) {
      const expected = wanted.flatMap((line) => {
        const place = (after[path] ?? []).indexOf(`line ${line}`)
        return place < 0 ? [] : [[line, place + 1]]
      })
      expect([...found].sort(([a], [b]) => a - b)).toEqual(expected)
    }
  })
})
