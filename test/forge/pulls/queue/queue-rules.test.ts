import { describe, expect, it } from 'vitest'
import {
  apply,
  endOf,
  endOfChain,
  endsBefore,
  judge,
  nextStep,
  type QueuedEntry,
  type QueueState,
  unmetContexts,
  withGroup,
} from '../../../../src/forge/pulls/queue/queue-rules.ts'
import { randomNumbers } from '../../../platform/git/random-history.ts'

const SETTINGS = { maxGroup: 4, parallel: 2, waitMs: 0 }

const entry = (id: number, changes: Partial<QueuedEntry> = {}): QueuedEntry => ({
  id,
  isJump: false,
  addTimeMs: 0,
  blockedOn: undefined,
  below: undefined,
  ...changes,
})

/** A queue whose commits are the lists of the entries that they contain. */
function simulate(settings = SETTINGS) {
  const red = new Set<number>()
  const conflicts = new Set<string>()
  /** The results of CI, which runs once for each commit. */
  const results = new Map<string, boolean>()
  const merged: number[] = []
  const failed: number[] = []
  /** Those that left because one below them left. */
  const dropped: number[] = []
  const bases: string[] = []
  let state: QueueState = { tip: 'base', groups: [], waiting: [] }
  let number = 0
  let runs = 0

  const containedIn = (commit: string) =>
    commit
      .split('+')
      .slice(1)
      .flatMap((id) => (Number(id) > 0 ? Number(id) : []))
  const isRed = (commit: string) => containedIn(commit).some((id) => red.has(id))
  const clash = (commit: string, id: number) =>
    containedIn(commit).some((other) => conflicts.has(`${other}-${id}`))

  const form = (on: string, entries: readonly QueuedEntry[]) => {
    const made: { entry: QueuedEntry; commit: string }[] = []
    const blocked = new Map<number, string>()
    const before = new Set(
      state.groups.flatMap(({ candidates }) => candidates.map(({ entry: { id } }) => id)),
    )
    for (const candidate of entries) {
      if (made.length === settings.maxGroup) break
      const taken = new Set(made.map(({ entry: { id } }) => id))
      if (endsBefore(entries, candidate, taken, settings.maxGroup)) break
      const stackedOn = candidate.below
      if (stackedOn !== undefined && !taken.has(stackedOn) && !before.has(stackedOn)) continue
      const below = made.at(-1)?.commit ?? on
      if (!clash(below, candidate.id))
        made.push({ entry: candidate, commit: `${below}+${candidate.id}` })
      else if (below === state.tip || (stackedOn === undefined && clash(state.tip, candidate.id))) {
        failed.push(candidate.id)
        blocked.set(candidate.id, 'left')
      } else blocked.set(candidate.id, below)
    }
    state = {
      ...state,
      waiting: state.waiting.flatMap((waiting) => {
        const blockedOn = blocked.get(waiting.id)
        if (blockedOn === 'left') return []
        return blockedOn === undefined ? waiting : { ...waiting, blockedOn }
      }),
    }
    if (made.length > 0) state = withGroup(state, made)
  }

  /** Numbers the groups that are new, each of which is a run, and drops those that CI does not know. */
  const announce = () => {
    state = {
      ...state,
      groups: state.groups.map((group) => {
        if (group.number !== undefined) return group
        number += 1
        runs += 1
        return { ...group, number }
      }),
    }
  }

  /** Those on one that has left leave, and those on one that has merged stand on the base. */
  const follow = () => {
    const isGone = (id: number) => !queued().has(id) && !merged.includes(id)
    const queued = () =>
      new Set([
        ...state.waiting.map(({ id }) => id),
        ...state.groups.flatMap(({ candidates }) => candidates.map(({ entry: { id } }) => id)),
      ])
    const all = () => [
      ...state.waiting,
      ...state.groups.flatMap(({ candidates }) => candidates.map(({ entry }) => entry)),
    ]
    for (;;) {
      const orphan = all().find(({ below }) => below !== undefined && isGone(below))
      if (!orphan) break
      dropped.push(orphan.id)
      leave(orphan.id)
    }
    const settled = (one: QueuedEntry) =>
      one.below !== undefined && merged.includes(one.below) ? { ...one, below: undefined } : one
    state = {
      ...state,
      waiting: state.waiting.map(settled),
      groups: state.groups.map((group) => ({
        ...group,
        candidates: group.candidates.map((made) => ({ ...made, entry: settled(made.entry) })),
      })),
    }
  }

  const leave = (id: number) => {
    state = {
      ...state,
      waiting: state.waiting.filter((waiting) => waiting.id !== id),
      groups: state.groups.flatMap((group) => {
        const candidates = group.candidates.filter((candidate) => candidate.entry.id !== id)
        if (candidates.length === group.candidates.length) return group
        return candidates.length === 0 ? [] : { ...group, candidates, isBroken: true }
      }),
    }
  }

  const step = () => {
    follow()
    const next = nextStep(state, settings, 0)
    if (next.kind === 'rest') return false
    const [first] = state.groups
    if (next.kind === 'form') form(next.on, next.entries)
    else {
      if (next.kind === 'merge' && first) {
        bases.push(endOf(first))
        merged.push(...first.candidates.map(({ entry: { id } }) => id))
      }
      if (next.kind === 'fail' && first)
        failed.push(...first.candidates.map(({ entry: { id } }) => id))
      state = apply(state, next)
    }
    announce()
    return true
  }

  return {
    red,
    conflicts,
    merged,
    failed,
    dropped,
    bases,
    get state() {
      return state
    },
    get runs() {
      return runs
    },
    enter(...entries: QueuedEntry[]) {
      state = {
        ...state,
        waiting: [
          ...entries.filter((e) => e.isJump),
          ...state.waiting,
          ...entries.filter((e) => !e.isJump),
        ],
      }
    },
    settle() {
      for (let i = 0; step(); i += 1) if (i > 1000) throw new Error('the queue does not rest')
    },
    /** CI answers for a group that waits. */
    answer(index: number) {
      state = {
        ...state,
        groups: state.groups.map((group, i) => {
          if (i !== index || group.verdict !== 'pending') return group
          const verdict = isRed(endOf(group)) ? 'failure' : 'success'
          results.set(endOf(group), verdict === 'success')
          return { ...group, verdict }
        }),
      }
    },
    push() {
      state = { ...state, tip: `${state.tip}+0` }
    },
    leave,
    isRed,
  }
}

describe('the rules of the merge queue', () => {
  it.each([1, 2, 3, 4])('find one red of four, number %i, with four runs at most', (culprit) => {
    const queue = simulate()
    queue.red.add(culprit)
    queue.enter(entry(1), entry(2), entry(3), entry(4))
    queue.settle()
    while (queue.state.groups.length > 0) {
      queue.answer(0)
      queue.settle()
    }
    expect(queue.failed).toEqual([culprit])
    expect(queue.merged).toEqual([1, 2, 3, 4].filter((id) => id !== culprit))
    expect(queue.runs).toBeLessThanOrEqual(4)
  })

  it('make a group of those that wait behind the ones that occupy the queue', () => {
    const queue = simulate({ ...SETTINGS, parallel: 1 })
    queue.enter(entry(1))
    queue.settle()
    queue.enter(entry(2), entry(3), entry(4))
    queue.settle()
    expect(queue.runs).toBe(1)
    queue.answer(0)
    queue.settle()
    queue.answer(0)
    queue.settle()
    expect([queue.merged, queue.runs, queue.bases]).toEqual([
      [1, 2, 3, 4],
      2,
      ['base+1', 'base+1+2+3+4'],
    ])
  })

  it('wait for more entries until the oldest has waited long enough', () => {
    const waiting = [entry(1, { addTimeMs: 10 }), entry(2, { addTimeMs: 20 })]
    const state = { tip: 'base', groups: [], waiting }
    const settings = { maxGroup: 3, parallel: 1, waitMs: 5 }
    expect(nextStep(state, settings, 14)).toEqual({ kind: 'rest', untilMs: 15 })
    expect(nextStep(state, settings, 15)).toMatchObject({ kind: 'form', entries: waiting })
    expect(nextStep(state, { ...settings, maxGroup: 2 }, 14).kind).toBe('form')
  })

  it('blame nobody for the failure of a later group while a group before it is open', () => {
    const queue = simulate({ ...SETTINGS, maxGroup: 1 })
    queue.red.add(1)
    queue.enter(entry(1), entry(2))
    queue.settle()
    queue.answer(1)
    queue.settle()
    expect(queue.failed).toEqual([])
    queue.answer(0)
    queue.settle()
    expect(queue.failed).toEqual([1])
    queue.answer(0)
    queue.settle()
    expect(queue.merged).toEqual([2])
  })

  it('let an entry that conflicts with an open one wait, and those behind it go on', () => {
    const queue = simulate({ ...SETTINGS, parallel: 1 })
    queue.conflicts.add('1-2')
    queue.red.add(1)
    queue.enter(entry(1), entry(2), entry(3))
    queue.settle()
    expect(queue.state.groups[0]?.candidates.map(({ entry: { id } }) => id)).toEqual([1, 3])
    for (let i = 0; i < 5; i += 1) {
      queue.answer(0)
      queue.settle()
    }
    expect([queue.failed, queue.merged]).toEqual([[1], [2, 3]])
  })

  it('put those that jump behind groups that are ready, in the order in which they jumped', () => {
    const queue = simulate({ ...SETTINGS, maxGroup: 2 })
    queue.enter(entry(1), entry(2), entry(3))
    queue.settle()
    queue.enter(entry(4, { isJump: true }))
    queue.settle()
    queue.enter(entry(5, { isJump: true }))
    queue.settle()
    expect(
      queue.state.groups.map(({ candidates }) => candidates.map(({ entry: { id } }) => id)),
    ).toEqual([
      [4, 5],
      [1, 2],
    ])
  })

  it.each(Array.from({ length: 300 }, (_, seed) => seed))('hold in random history %i', (seed) => {
    const random = randomNumbers(seed + 1)
    const below = (count: number) => Math.floor(random() * count)
    const settings = { maxGroup: 1 + below(5), parallel: 1 + below(3), waitMs: 0 }
    const queue = simulate(settings)
    const left = new Set<number>()
    /** The entry below each that stands on another. */
    const stacks = new Map<number, number>()
    let id = 0
    for (let round = 0; round < 60; round += 1) {
      const chance = random()
      if (chance < 0.4) {
        id += 1
        if (random() < 0.25) queue.red.add(id)
        if (random() < 0.2 && id > 1) queue.conflicts.add(`${1 + below(id - 1)}-${id}`)
        const present = queue.state.waiting.concat(
          queue.state.groups.flatMap((group) => group.candidates.map((made) => made.entry)),
        )
        const lower = random() < 0.3 ? present[below(present.length)] : undefined
        if (lower) stacks.set(id, lower.id)
        const isJump = random() < 0.1 && lower?.isJump !== false
        queue.enter(entry(id, { isJump, below: lower?.id }))
      } else if (chance < 0.45) queue.push()
      else if (chance < 0.5 && id > 0) {
        const gone = 1 + below(id)
        left.add(gone)
        queue.leave(gone)
      } else if (queue.state.groups.length > 0) queue.answer(below(queue.state.groups.length))
      queue.settle()
      const { groups, tip } = queue.state
      expect(groups.length).toBeLessThanOrEqual(Math.max(settings.parallel, 2))
      // The chain is whole after each step.
      for (const [i, group] of groups.entries())
        expect(group.base).toBe(endOfChain({ tip, groups: groups.slice(0, i) }))
    }
    for (let i = 0; queue.state.groups.length > 0; i += 1) {
      if (i > 500) throw new Error('the queue does not end')
      queue.answer(0)
      queue.settle()
    }
    expect(queue.state.waiting).toEqual([])
    expect(queue.bases.filter(queue.isRed)).toEqual([])
    expect(new Set(queue.merged).size).toBe(queue.merged.length)
    const innocent = queue.failed.filter(
      (failed) =>
        !queue.red.has(failed) &&
        !queue.merged.some((other) => queue.conflicts.has(`${other}-${failed}`)),
    )
    expect(innocent).toEqual([])
    for (const [above, lower] of stacks) {
      const [first, second] = [queue.merged.indexOf(lower), queue.merged.indexOf(above)]
      if (second >= 0) expect([first >= 0, first < second]).toEqual([true, true])
      if (queue.dropped.includes(above)) expect(first).toBe(-1)
    }
    const outcomes = new Set([...queue.merged, ...queue.failed, ...queue.dropped, ...left])
    expect(outcomes.size).toBe(id)
  })
})

describe('the statuses of a group', () => {
  const evidence = (latest: Record<string, string>, failedOnce: string[] = []) => ({
    required: ['build', 'test'],
    latest: new Map(Object.entries(latest)),
    failedOnce: new Set(failedOnce),
    isFailed: false,
    deadlineMs: 100,
  })

  it.each([
    [{}, 'pending', 'silent'],
    [{ other: 'failure' }, 'pending', 'silent'],
    [{ build: 'success' }, 'pending', 'failure'],
    [{ build: 'success', test: 'pending' }, 'pending', 'failure'],
    [{ build: 'success', test: 'skipped', other: 'failure' }, 'success', 'success'],
    [{ build: 'warning', test: 'success' }, 'failure', 'failure'],
    [{ build: 'error' }, 'failure', 'failure'],
  ] as const)('%j are %s, and %s at the end of the time', (latest, before, after) => {
    expect(judge(evidence(latest), 99)).toBe(before)
    expect(judge(evidence(latest), 100)).toBe(after)
  })

  it('stay a failure after a later success', () => {
    const late = evidence({ build: 'success', test: 'success' }, ['test'])
    expect(judge(late, 0)).toBe('failure')
    expect(unmetContexts(late)).toEqual(['test'])
  })

  it('name what is missing if nothing failed', () => {
    expect(unmetContexts(evidence({ build: 'success', test: 'pending' }))).toEqual(['test'])
  })
})
