import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { DomainError } from '../../core/errors.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../../core/scheduled-work.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { queueIn } from '../../repositories/protection/merge-queue-settings.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import { reconcileRefs } from '../../repositories/refs/ref-index.ts'
import type { MergeQueue, MergeQueueEntry } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import {
  isAboutBase,
  leaveReasonOf,
  type MadeCandidate,
  makeCandidate,
} from './queue-candidates.ts'
import { type LeaveReason, leaveFor } from './queue-exits.ts'
import { mergeGroup } from './queue-moves.ts'
import { settleRefs } from './queue-refs.ts'
import {
  apply,
  type Candidate,
  endOfChain,
  endsBefore,
  type Group,
  nextStep,
  type QueuedEntry,
  type Step,
  unmetContexts,
  withGroup,
} from './queue-rules.ts'
import { endGroup, type LoadedQueue, loadQueue, storeState, storeVerdicts } from './queue-state.ts'
import { switchQueueOff } from './queue-switch.ts'

/**
 * The worker that advances merge queues. It takes one step after the other until the queue rests
 * (`queue-rules.ts`), under a lock that all servers share.
 */

/** Limits of queues that advance at once. A step takes processes, and with hooks up to minutes. */
const MAX_RUNNING = 2
const MAX_RUNNING_PER_REPOSITORY = 1

/** Steps of one look. Another look goes on. */
const MAX_STEPS = 500

/** The delay after a refusal that another attempt may not meet. */
const RETRY_MS = 15_000

/** Starts the worker. All queues are due at the start, because changes may have been missed. */
export async function startMergeQueues(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllQueues(tx, app.clock.now()))
  return startDueWork(app, mergeQueues(app))
}

/** Advances all queues until they rest. For tests, whose clock stands still. */
export function finishMergeQueues(app: ReposApp): Promise<void> {
  return finishDueWork(app, mergeQueues(app))
}

function mergeQueues(app: ReposApp): DueWork {
  return {
    failure: 'a merge queue failed',
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_REPOSITORY,
    // Wakes with the scheduled merges, since the same changes concern both.
    signal: app.signals.scheduledMerges,
    ...rows.queuesWithWork(app.db),
    run: (id) => app.coordination.exclusive(`merge queue ${id}`, () => look(app, id)),
  }
}

/** When to look at a queue again; `now` for another step. */
type NextLook = 'now' | { readonly atMs: number | undefined }

async function look(app: ReposApp, id: number): Promise<void> {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const queue = await rows.findQueueById(app.db, id)
    if (!queue) return
    const next = await advance(app, queue)
    if (next === 'now') continue
    await transaction(app.db, (tx) => rows.restQueue(tx, queue, next.atMs ?? null))
    return
  }
}

const NEVER: NextLook = { atMs: undefined }

/** Takes one step. */
async function advance(app: ReposApp, queue: MergeQueue): Promise<NextLook> {
  const { repository_id: repositoryId, branch, pause_time } = queue
  const repository = await findRepositoryById(app.db, repositoryId)
  if (!repository) return NEVER
  const isArchived = repository.archive_time !== null
  if (isArchived !== (pause_time !== null)) await turnClock(app, queue, isArchived)
  if (isArchived) return NEVER
  // A move of the branch may have happened without being recorded.
  await reconcileRefs(app, repositoryId)
  const rules = await readBranchRules(app, repositoryId, undefined, { code: 'none' })
  const rule = queueIn(rules.inForceFor(branch))
  if (!rule) {
    await switchQueueOff(app, queue)
    await settleRefs(app, queue, 0)
    return NEVER
  }
  await settleRefs(app, queue, rule.merge_queue_check_timeout_seconds * 1000)
  const loaded = await loadQueue(app, queue, rule)
  if (!loaded) return NEVER
  if (loaded.over.length > 0) {
    await changeWatched(app, async (tx) => {
      for (const { row, reason } of loaded.over) await endGroup(app, tx, row, reason)
    })
    return 'now'
  }
  await storeVerdicts(app, loaded)
  const step = nextStep(loaded.state, settingsOf(rule), app.clock.now())
  if (step.kind !== 'rest') return take(app, loaded, step)
  return { atMs: earliest([step.untilMs, deadlineIn(loaded, app.clock.now())]) }
}

/** Stops the deadlines of a queue while its repository is archived, and moves them afterwards. */
async function turnClock(
  app: ReposApp,
  { id, pause_time }: MergeQueue,
  isArchived: boolean,
): Promise<void> {
  const now = app.clock.now()
  await transaction(app.db, async (tx) => {
    if (pause_time !== null) await rows.postponeDeadlines(tx, id, now - pause_time)
    await rows.pauseQueue(tx, id, isArchived ? now : null)
  })
}

function settingsOf(rule: BranchRule) {
  return {
    maxGroup: rule.merge_queue_max_group,
    parallel: rule.merge_queue_parallel,
    waitMs: rule.merge_queue_wait_seconds * 1000,
  }
}

/** Only the deadline of the first group decides. */
function deadlineIn({ state, groups }: LoadedQueue, now: number): number | undefined {
  const deadline = groups.get(state.groups[0]?.number ?? 0)?.deadline ?? 0
  return deadline > now ? deadline : undefined
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.min(...known) : undefined
}

async function take(
  app: ReposApp,
  loaded: LoadedQueue,
  step: Exclude<Step, { kind: 'rest' }>,
): Promise<NextLook> {
  const [first] = loaded.state.groups
  switch (step.kind) {
    case 'merge':
      await mergeGroup(app, loaded)
      return 'now'
    case 'form':
      return form(app, loaded, step.entries)
    case 'dissolve': {
      const isLeft = first?.isBroken && step.from === 0
      const firstEnds = isLeft ? 'dequeued' : 'invalidated'
      const after = apply(loaded.state, step)
      await changeWatched(app, (tx) => storeState(app, tx, loaded, { after, firstEnds }))
      return 'now'
    }
    case 'split': {
      const failure = first && failureOf(loaded, first)
      const after = apply(loaded.state, step)
      await changeWatched(app, (tx) =>
        storeState(app, tx, loaded, { after, ...(failure && { failure }) }),
      )
      return 'now'
    }
    default:
      if (first) await failGroup(app, loaded, first, step)
      return 'now'
  }
}

/** Ends the entries of the first group. */
async function failGroup(
  app: ReposApp,
  loaded: LoadedQueue,
  first: Group,
  step: Extract<Step, { kind: 'fail' | 'time out' }>,
): Promise<void> {
  const reason = step.kind === 'fail' ? failureOf(loaded, first) : silenceOf(loaded, first)
  const after = apply(loaded.state, step)
  await changeWatched(app, async (tx) => {
    const leaving = first.candidates.flatMap(({ entry }) => loaded.entries.get(entry.id) ?? [])
    await leaveFor(app, tx, leaving, reason)
    await storeState(app, tx, loaded, { after, firstEnds: 'dequeued' })
  })
}

/** Returns why a group failed: what is stored, or what its statuses say. */
function failureOf({ groups, evidence }: LoadedQueue, { number = 0 }: Group): LeaveReason {
  const stored = groups.get(number)?.failure
  const known = stored ? (JSON.parse(stored) as LeaveReason | null) : null
  if (known) return known
  const found = evidence.get(number)
  const contexts = found ? unmetContexts(found) : []
  return {
    code: 'CHECKS_FAILED',
    text: `these checks did not succeed: ${contexts.join(', ')}`,
    contexts,
  }
}

function silenceOf({ evidence }: LoadedQueue, { number = 0 }: Group): LeaveReason {
  const contexts = evidence.get(number)?.required ?? []
  const text = `no status came for ${contexts.join(', ')}: does CI run for \`merge_group\` or \`refs/queue/\`?`
  return { code: 'TIMED_OUT', text, contexts }
}

/** Makes a group of the first entries for which a candidate can be made. */
async function form(
  app: ReposApp,
  loaded: LoadedQueue,
  entries: readonly QueuedEntry[],
): Promise<NextLook> {
  const { state, rule } = loaded
  const made: Candidate[] = []
  const mergeBases = new Map<number, string>()
  const on = endOfChain(state)
  const before = new Set(state.groups.flatMap(({ candidates }) => idsOf(candidates)))
  for (const queued of entries) {
    const { id, below } = queued
    const taken = new Set(idsOf(made))
    if (made.length === rule.merge_queue_max_group) break
    if (endsBefore(entries, queued, taken, rule.merge_queue_max_group)) break
    const entry = loaded.entries.get(id)
    // What is above an entry that waits, or that has left, waits or has left, too.
    if (!entry || (below !== undefined && !taken.has(below) && !before.has(below))) continue
    const onto = made.at(-1)?.commit ?? on
    const outcome = await tryEntry(app, entry, {
      onto,
      tip: state.tip,
      isAbove: below !== undefined,
    })
    if (outcome === 'later') return { atMs: app.clock.now() + RETRY_MS }
    if (!outcome) continue
    made.push({ entry: queued, commit: outcome.commit })
    mergeBases.set(id, outcome.mergeBase)
  }
  if (made.length > 0) {
    const after = withGroup(state, made)
    await transaction(app.db, (tx) => storeState(app, tx, loaded, { after, mergeBases }))
  }
  return 'now'
}

function idsOf(candidates: readonly Candidate[]): number[] {
  return candidates.map(({ entry }) => entry.id)
}

/** Where a candidate is made. */
interface Attempted {
  /** The commit below the candidate. */
  readonly onto: string
  /** The commit of the branch. */
  readonly tip: string
  /** Whether what the entry stands on is not merged yet, so that the branch alone decides nothing. */
  readonly isAbove: boolean
}

/**
 * Makes the candidate of an entry. An entry that conflicts with another that is not merged waits, and
 * one that may not be merged leaves.
 *
 * @returns `later` if the attempt must be repeated; undefined if there is none.
 */
async function tryEntry(
  app: ReposApp,
  entry: MergeQueueEntry,
  { onto, tip, isAbove }: Attempted,
): Promise<MadeCandidate | 'later' | undefined> {
  const made = await attempt(app, entry, onto)
  if (!('code' in made)) return made
  if (made.code === 'later') return 'later'
  if (isAboutBase(made.reason) && onto !== tip) {
    const alone = isAbove ? undefined : await attempt(app, entry, tip)
    if (alone && 'code' in alone && alone.code === 'later') return 'later'
    if (!(alone && 'code' in alone && isAboutBase(alone.reason))) {
      await transaction(app.db, (tx) => block(tx, entry, onto))
      return undefined
    }
  }
  await changeWatched(app, (tx) => leaveFor(app, tx, [entry], made.reason))
  return undefined
}

/** Lets an entry, and those above, wait until another commit is the end of the chain. */
async function block(tx: Tx, { id, pull_request_id }: MergeQueueEntry, on: string): Promise<void> {
  await rows.updateEntry(tx, id, { blocked_on: on })
  for (const above of await rows.entriesAbove(tx, pull_request_id))
    if (above.group_number === null) await block(tx, above, on)
}

type Attempt =
  | MadeCandidate
  | { readonly code: 'later' }
  | { readonly code: 'refused'; readonly reason: LeaveReason }

async function attempt(app: ReposApp, entry: MergeQueueEntry, onto: string): Promise<Attempt> {
  try {
    return await makeCandidate(app, entry, onto)
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const reason = leaveReasonOf(error)
    return reason ? { code: 'refused', reason } : { code: 'later' }
  }
}
