/**
 * The rules of the merge queue, as pure functions. `nextStep` says what to do in a state, and
 * `apply` returns the state after a step. `queue-worker.ts` loads the state, makes the commits, moves
 * the base and stores the new state. Each step can be repeated after a crash, because the state
 * decides, not what happened before.
 */

/** An entry that is still in the queue. */
export interface QueuedEntry {
  /** Ascends in the order of entering. */
  readonly id: number
  /** Whether the entry goes before all entries that do not jump. */
  readonly isJump: boolean
  /** Unix milliseconds. */
  readonly addTimeMs: number
  /**
   * The commit on which no candidate could be made, because of an entry that is not merged yet;
   * undefined for none. The entry is tried again on any other commit.
   */
  readonly blockedOn: string | undefined
  /**
   * The entry of the pull request on whose head this one stands, which merges before; undefined if that
   * one is not in the queue.
   */
  readonly below: number | undefined
}

/** What the queue made of an entry. */
export interface Candidate {
  readonly entry: QueuedEntry
  /** The commit that the base would have after the entry. */
  readonly commit: string
}

/**
 * What the statuses of the last candidate of a group say. `silent`: the time is over, and there was
 * not one required status.
 */
export type Verdict = 'pending' | 'success' | 'failure' | 'silent'

/** A chain of candidates that are tried together. */
export interface Group {
  /** Undefined until the group is stored. */
  readonly number: number | undefined
  /** The commit below the first candidate. */
  readonly base: string
  /** Never empty. */
  readonly candidates: readonly Candidate[]
  readonly verdict: Verdict
  /** Whether an entry has left, so that the commits must be made again. */
  readonly isBroken: boolean
}

export interface QueueState {
  /** The commit of the base branch. */
  readonly tip: string
  /** The first is on the base, each other on the last candidate of the one before. */
  readonly groups: readonly Group[]
  /** The entries outside the groups, in their order. */
  readonly waiting: readonly QueuedEntry[]
}

export interface QueueSettings {
  /** Entries of one group. */
  readonly maxGroup: number
  /** Groups that wait for statuses at once. */
  readonly parallel: number
  /** How long the oldest entry waits for others, in milliseconds. */
  readonly waitMs: number
}

/** What to do next. */
export type Step =
  /** The groups from this index on are made again: their entries wait. */
  | { readonly kind: 'dissolve'; readonly from: number }
  /** The base moves to the last candidate of the first group. */
  | { readonly kind: 'merge' }
  /** The first group failed: its first half is tried alone. */
  | { readonly kind: 'split' }
  /** The only entry of the first group leaves. */
  | { readonly kind: 'fail' }
  /** All entries of the first group leave, because nobody checked them. */
  | { readonly kind: 'time out' }
  /** A group is made of the first of these entries for which a candidate can be made. */
  | { readonly kind: 'form'; readonly on: string; readonly entries: readonly QueuedEntry[] }
  /** Nothing, until something happens, or until a time in Unix milliseconds. */
  | { readonly kind: 'rest'; readonly untilMs: number | undefined }

/** Sorts entries: those that jump first, then by the order of entering. */
export function inQueueOrder(entries: readonly QueuedEntry[]): QueuedEntry[] {
  return entries.toSorted((a, b) => Number(b.isJump) - Number(a.isJump) || a.id - b.id)
}

/** Returns the last candidate of a group. */
export function endOf({ candidates, base }: Pick<Group, 'candidates' | 'base'>): string {
  return candidates.at(-1)?.commit ?? base
}

/** Returns the commit on which the next group is made. */
export function endOfChain({ tip, groups }: Pick<QueueState, 'tip' | 'groups'>): string {
  const last = groups.at(-1)
  return last ? endOf(last) : tip
}

/** Returns the next step in a state. */
export function nextStep(state: QueueState, settings: QueueSettings, nowMs: number): Step {
  const from = firstToDissolve(state)
  if (from !== undefined) return { kind: 'dissolve', from }
  const [first] = state.groups
  if (first?.verdict === 'success') return { kind: 'merge' }
  if (first?.verdict === 'silent') return { kind: 'time out' }
  if (first?.verdict === 'failure') return { kind: first.candidates.length > 1 ? 'split' : 'fail' }
  return formation(state, settings, nowMs)
}

/** Returns the index of the first group that must be made again; undefined for none. */
function firstToDissolve({ tip, groups, waiting }: QueueState): number | undefined {
  const broken = groups.findIndex(
    (group, i) => group.isBroken || group.base !== endOfChain({ tip, groups: groups.slice(0, i) }),
  )
  const jumper = waiting.find(({ isJump, blockedOn }) => isJump && blockedOn === undefined)
  const overtaken = jumper
    ? groups.findIndex(
        (group, i) =>
          !groups.slice(0, i + 1).every(({ verdict }) => verdict === 'success') &&
          group.candidates.some(({ entry }) => !entry.isJump || entry.id > jumper.id),
      )
    : -1
  const found = [broken, overtaken].filter((index) => index >= 0)
  return found.length > 0 ? Math.min(...found) : undefined
}

/** Returns the step that makes a group, if there is a place and enough entries wait. */
function formation(
  state: QueueState,
  { maxGroup, parallel, waitMs }: QueueSettings,
  nowMs: number,
): Step {
  const idle = { kind: 'rest', untilMs: undefined } as const
  const last = state.groups.at(-1)
  // What is made on a failed group would fail as well, and would have to be made again.
  const hasPlace =
    state.groups.length < parallel && last?.verdict !== 'failure' && last?.verdict !== 'silent'
  if (!hasPlace) return idle
  const on = endOfChain(state)
  // On the base itself, what an entry conflicts with is merged, and the conflict decides.
  const present = new Set(state.groups.flatMap((group) => entriesOf(group).map(({ id }) => id)))
  const entries = state.waiting.filter(({ id, blockedOn, below }) => {
    const isBlocked = on !== state.tip && blockedOn === on
    if (isBlocked || (below !== undefined && !present.has(below))) return false
    present.add(id)
    return true
  })
  if (entries.length === 0) return idle
  const dueMs = Math.min(...entries.map(({ addTimeMs }) => addTimeMs)) + waitMs
  if (entries.length < maxGroup && dueMs > nowMs) return { kind: 'rest', untilMs: dueMs }
  return { kind: 'form', on, entries }
}

/**
 * Returns the state after a step that needs no new commits. After a `merge`, the tip is the last
 * candidate of the first group.
 */
export function apply(
  state: QueueState,
  step: Exclude<Step, { kind: 'form' | 'rest' }>,
): QueueState {
  const { tip, groups, waiting } = state
  const [first, ...later] = groups
  if (step.kind === 'dissolve') {
    const freed = groups.slice(step.from).flatMap(entriesOf)
    return {
      tip,
      groups: groups.slice(0, step.from),
      waiting: inQueueOrder([...freed, ...waiting]),
    }
  }
  if (!first) return state
  if (step.kind === 'merge') return { tip: endOf(first), groups: later, waiting }
  const others = inQueueOrder([...later.flatMap(entriesOf), ...waiting])
  const rest = step.kind === 'split' ? halvesOf(first) : []
  return { tip, groups: rest, waiting: others }
}

function entriesOf({ candidates }: Group): QueuedEntry[] {
  return candidates.map(({ entry }) => entry)
}

/**
 * Divides a failed group. The second half keeps the number and the failed commit, and fails as soon
 * as the first half is merged.
 */
function halvesOf(group: Group): Group[] {
  const middle = Math.floor(group.candidates.length / 2)
  const half = { ...group, number: undefined, candidates: group.candidates.slice(0, middle) }
  const first: Group = { ...half, verdict: 'pending' }
  return [
    first,
    {
      ...group,
      base: endOf(first),
      candidates: group.candidates.slice(middle),
      verdict: 'failure',
    },
  ]
}

/**
 * Returns whether a group ends before an entry, so that a stack is in one group. A stack that is larger
 * than a group is divided.
 *
 * @param entries those that wait, in their order.
 * @param taken ids of the entries that the group has so far.
 */
export function endsBefore(
  entries: readonly QueuedEntry[],
  entry: QueuedEntry,
  taken: ReadonlySet<number>,
  maxGroup: number,
): boolean {
  if (taken.size === 0 || (entry.below !== undefined && taken.has(entry.below))) return false
  const stack = new Set([entry.id])
  for (const { id, below } of entries) if (below !== undefined && stack.has(below)) stack.add(id)
  return stack.size <= maxGroup && taken.size + stack.size > maxGroup
}

/** Returns the state after a group was made of some of the waiting entries. */
export function withGroup(state: QueueState, candidates: readonly Candidate[]): QueueState {
  const taken = new Set(candidates.map(({ entry }) => entry.id))
  const base = endOfChain(state)
  return {
    tip: state.tip,
    groups: [
      ...state.groups,
      { number: undefined, base, candidates, verdict: 'pending', isBroken: false },
    ],
    waiting: state.waiting.filter(({ id }) => !taken.has(id)),
  }
}

/** The states of a status that count as a failure. */
const FAILED: readonly string[] = ['failure', 'error', 'warning']

/** What is known about the last candidate of a group. */
export interface Evidence {
  /** The contexts that must succeed; not empty. */
  readonly required: readonly string[]
  /** The latest state of each context that counts. */
  readonly latest: ReadonlyMap<string, string>
  /** The contexts that have failed once since the group is the first. */
  readonly failedOnce: ReadonlySet<string>
  /** Whether the second half of a failed group keeps the failure. */
  readonly isFailed: boolean
  /** Unix milliseconds; undefined while the checks are not requested. */
  readonly deadlineMs: number | undefined
}

/** Returns what the statuses of a group say. */
export function judge(evidence: Evidence, nowMs: number): Verdict {
  const { required, latest, failedOnce, isFailed, deadlineMs } = evidence
  const states = required.map((context) => latest.get(context))
  if (isFailed || required.some((context) => failedOnce.has(context))) return 'failure'
  if (states.some((state) => state !== undefined && FAILED.includes(state))) return 'failure'
  if (states.every((state) => state === 'success' || state === 'skipped')) return 'success'
  if (deadlineMs === undefined || nowMs < deadlineMs) return 'pending'
  return states.some((state) => state !== undefined) ? 'failure' : 'silent'
}

/** Returns the contexts that kept a group from succeeding. */
export function unmetContexts({ required, latest, failedOnce }: Evidence): string[] {
  const failed = required.filter(
    (context) => failedOnce.has(context) || FAILED.includes(latest.get(context) ?? ''),
  )
  if (failed.length > 0) return failed
  return required.filter((context) => !['success', 'skipped'].includes(latest.get(context) ?? ''))
}
