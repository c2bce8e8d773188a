import { describe, expect, it } from 'vitest'
import {
  dueSteps,
  fullDueTime,
  isDueWhenQuiet,
  pruneDueTime,
} from '../../../../src/forge/repositories/maintenance/due-steps.ts'
import type { PackState, RepositoryState } from '../../../../src/platform/git/maintenance/state.ts'

const EMPTY: RepositoryState = {
  looseObjects: 0,
  looseBytes: 0,
  packs: [],
  objects: 0,
  objectsSinceGraph: 0,
  looseRefs: 0,
  packedRefs: 0,
  hasMultiPackIndex: false,
  hasBitmap: false,
  graphMs: undefined,
}

const pack = (objects: number, fields: Partial<PackState> = {}): PackState => ({
  name: `pack-${objects}.pack`,
  bytes: objects * 100,
  indexBytes: objects * 28,
  objects,
  changeMs: 0,
  isShared: false,
  isLinked: false,
  isKept: false,
  isCruft: false,
  ...fields,
})
const packs = (...objects: number[]) => objects.map((count) => pack(count))
const tidy = { hasBitmap: true, hasMultiPackIndex: true, graphMs: 1 }

type Row = [what: string, state: Partial<RepositoryState>, due: string, whenQuiet?: string]

const ROWS: Row[] = [
  ['nothing', {}, ''],
  ['64 loose objects', { looseObjects: 64 }, ''],
  ['65 loose objects', { looseObjects: 65 }, '', 'geometric commit-graph'],
  ['512 loose objects', { looseObjects: 512 }, '', 'geometric commit-graph'],
  ['513 loose objects', { looseObjects: 513 }, 'geometric commit-graph'],
  [
    'loose objects in a large repository',
    { looseObjects: 600, objects: 9_000, ...tidy },
    'geometric bitmap commit-graph',
  ],
  ['four packs alike', { packs: packs(9, 9, 9, 9) }, ''],
  ['five packs alike', { packs: packs(9, 9, 9, 9, 9) }, 'geometric commit-graph'],
  ['five packs in progression', { packs: packs(16, 1, 4, 2, 8) }, '', 'geometric commit-graph'],
  [
    'packs that forks share',
    { packs: [...packs(9, 9, 9), ...[1, 2, 3].map(() => pack(9, { isShared: true }))] },
    '',
  ],
  [
    'packs that are kept',
    { packs: [...packs(9, 9, 9), ...[1, 2, 3].map(() => pack(9, { isKept: true }))] },
    '',
  ],
  [
    'a pack of unreachable objects',
    { packs: [...packs(9, 9, 9, 9), pack(9, { isCruft: true })] },
    '',
  ],
  ['an import', { packs: packs(5_000), objects: 5_000 }, 'bitmap'],
  [
    'an import without a graph',
    { packs: packs(5_000), objects: 5_000, objectsSinceGraph: 5_000 },
    'bitmap commit-graph',
  ],
  ['an import of 1,999 objects', { packs: packs(1_999), objects: 1_999 }, ''],
  ['a tidy repository', { packs: packs(5_000), objects: 5_000, ...tidy }, ''],
  [
    'a tenth of commits without a graph',
    { packs: packs(5_000), objects: 5_000, ...tidy, objectsSinceGraph: 501 },
    'commit-graph',
  ],
  [
    'less than a tenth',
    { packs: packs(5_000), objects: 5_000, ...tidy, objectsSinceGraph: 499 },
    '',
  ],
  ['a few commits of a small repository', { objects: 150, objectsSinceGraph: 150 }, ''],
  [
    '501 commits of a large repository',
    { packs: packs(90_000), objects: 90_000, ...tidy, objectsSinceGraph: 1_503 },
    'commit-graph',
  ],
  ['256 loose refs', { looseRefs: 256 }, ''],
  ['257 loose refs', { looseRefs: 257 }, 'refs'],
  ['257 loose refs of many', { looseRefs: 257, packedRefs: 5_000 }, ''],
  ['as many loose refs as are counted', { looseRefs: 4_096, packedRefs: 500_000 }, 'refs'],
]

describe('steps that a repository needs', () => {
  it.each(ROWS)('%s', (_what, fields, due, whenQuiet = due) => {
    const state = { ...EMPTY, ...fields }
    expect(dueSteps(state, false).join(' ')).toBe(due)
    expect(dueSteps(state, true).join(' ')).toBe(whenQuiet)
    expect(isDueWhenQuiet(state)).toBe(whenQuiet.includes('geometric'))
  })
})

const DAY_MS = 24 * 60 * 60_000

describe('the step `full`', () => {
  it.each<[what: string, state: Partial<RepositoryState>, isWorthwhile: boolean]>([
    ['nothing', {}, false],
    ['one pack', { packs: packs(100) }, false],
    ['a fifth in small packs', { packs: packs(80, 20) }, false],
    ['more than a fifth in small packs', { packs: packs(79, 21) }, true],
    ['more than a fifth in loose objects', { packs: packs(79), looseBytes: 2_100 }, true],
    ['a pack of a fork', { packs: [pack(80), pack(80, { isShared: true })] }, false],
    ['a pack that is kept', { packs: [pack(80), pack(80, { isKept: true })] }, false],
    ['unreachable objects', { packs: [pack(80), pack(80, { isCruft: true })] }, false],
  ])('for %s: %s', (_what, fields, isWorthwhile) => {
    const expected = isWorthwhile ? 31 * DAY_MS : undefined
    expect(fullDueTime({ ...EMPTY, ...fields }, DAY_MS)).toBe(expected)
  })
})

describe('the step `prune`', () => {
  it.each<[what: string, state: Partial<RepositoryState>, dueTime: number | undefined]>([
    ['nothing', {}, undefined],
    ['packs and loose objects', { packs: packs(80, 20), looseObjects: 900 }, undefined],
    ['unreachable objects', { packs: [pack(80), pack(1, { isCruft: true })] }, 8 * DAY_MS],
  ])('for %s: %s', (_what, fields, dueTime) => {
    expect(pruneDueTime({ ...EMPTY, ...fields }, DAY_MS)).toBe(dueTime)
  })
})
