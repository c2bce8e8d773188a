import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { candidateContexts } from '../../repositories/protection/merge-queue-settings.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { MergeQueue, MergeQueueEntry, MergeQueueGroup } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import type { LeaveReason } from './queue-exits.ts'
import { queueGroupEnd } from './queue-news.ts'
import {
  type Candidate,
  type Evidence,
  endOf,
  endOfChain,
  type Group,
  judge,
  type QueuedEntry,
  type QueueState,
} from './queue-rules.ts'

/** The state of a merge queue in rows: its loading and its storing. */

/** Waiting entries that are loaded beside those of full groups. The others have their turn later. */
const MORE_WAITING = 20

/** A queue with what its next step depends on. */
export interface LoadedQueue {
  readonly queue: MergeQueue
  readonly rule: BranchRule
  readonly state: QueueState
  /** The rows of the groups and entries of the state. */
  readonly groups: ReadonlyMap<number, MergeQueueGroup>
  readonly entries: ReadonlyMap<number, MergeQueueEntry>
  /** What is known about the last candidate of each group. */
  readonly evidence: ReadonlyMap<number, Evidence>
  /** Groups without an entry in the queue, whose work is over. */
  readonly over: readonly OverGroup[]
}

interface OverGroup {
  readonly row: MergeQueueGroup
  readonly reason: EndReason
}

type EndReason = NonNullable<MergeQueueGroup['end_reason']>

/** Loads a queue. Undefined if the branch does not exist. */
export async function loadQueue(
  app: ReposApp,
  queue: MergeQueue,
  rule: BranchRule,
): Promise<LoadedQueue | undefined> {
  const { db } = app
  const tip = await readRef(app.git, queue.repository_id, `refs/heads/${queue.branch}`)
  if (tip === undefined) return undefined
  const live = await rows.liveGroups(db, queue.id)
  const members = await rows.entriesOfGroups(db, live)
  const [groups, evidence, over]: [Group[], Map<number, Evidence>, OverGroup[]] = [
    [],
    new Map(),
    [],
  ]
  for (const row of live) {
    const own = members.filter(({ group_number }) => group_number === row.number)
    const inQueue = own.filter(({ leave_time }) => leave_time === null)
    if (inQueue.length === 0) {
      const isMerged = own.length === row.size && own.every(({ state }) => state === 'MERGED')
      over.push({ row, reason: isMerged ? 'merged' : 'dequeued' })
      continue
    }
    const found = await gather(app, rule, row, own, groups.length === 0)
    evidence.set(row.number, found)
    groups.push(groupOf(row, inQueue, judge(found, app.clock.now())))
  }
  const on = endOfChain({ tip, groups })
  const limit = rule.merge_queue_max_group * rule.merge_queue_parallel + MORE_WAITING
  const waiting = await rows.waitingEntries(db, queue.id, limit, on === tip ? undefined : on)
  const below = await entriesBelow(db, waiting)
  return {
    queue,
    rule,
    state: {
      tip,
      groups,
      waiting: waiting.map((entry) => queuedEntry(entry, below.get(entry.below_id ?? 0))),
    },
    groups: new Map(live.map((row) => [row.number, row])),
    entries: new Map([...members, ...waiting].map((entry) => [entry.id, entry])),
    evidence,
    over,
  }
}

function groupOf(
  row: MergeQueueGroup,
  inQueue: readonly MergeQueueEntry[],
  verdict: Group['verdict'],
): Group {
  return {
    number: row.number,
    base: row.base_commit,
    candidates: inQueue.map((entry) => ({
      entry: queuedEntry(entry),
      commit: entry.candidate_commit ?? '',
    })),
    verdict,
    isBroken: inQueue.length !== row.size,
  }
}

/** Returns the ids of the entries below others that are in the queue, by their pull requests. */
async function entriesBelow(
  db: Db,
  entries: readonly MergeQueueEntry[],
): Promise<ReadonlyMap<number, number>> {
  const pullIds = entries.flatMap(({ below_id }) => below_id ?? [])
  if (pullIds.length === 0) return new Map()
  const found = await rows.entriesOfPulls(db, [...new Set(pullIds)])
  return new Map(
    found
      .filter(({ leave_time }) => leave_time === null)
      .map(({ pull_request_id, id }) => [pull_request_id, id]),
  )
}

/** @param below what must merge before. In a group, the order says that. */
function queuedEntry(
  { id, is_jump, add_time, blocked_on }: MergeQueueEntry,
  below?: number,
): QueuedEntry {
  return {
    id,
    isJump: is_jump === 1,
    addTimeMs: add_time,
    blockedOn: blocked_on ?? undefined,
    below,
  }
}

/**
 * Reads the statuses of the last candidate of a group. Statuses from before the group do not count,
 * unless the candidate is a head, whose contexts are the same as outside the queue.
 */
async function gather(
  app: ReposApp,
  rule: BranchRule,
  row: MergeQueueGroup,
  members: readonly MergeQueueEntry[],
  isFirst: boolean,
): Promise<Evidence> {
  const { repository_id: repositoryId, head_commit: commit, status_floor } = row
  const decideFloor = row.decide_floor ?? (isFirst ? await beginDeciding(app, row) : undefined)
  const isHead = members.some(({ head_commit }) => head_commit === commit)
  const latest = await rows.latestStatuses(app.db, repositoryId, commit)
  const counts = ({ context, number }: (typeof latest)[number]) =>
    number > status_floor || (isHead && !rule.merge_queue_only_contexts.includes(context))
  return {
    required: candidateContexts(rule),
    latest: new Map(latest.filter(counts).map(({ context, state }) => [context, state])),
    failedOnce:
      decideFloor === undefined
        ? new Set()
        : await rows.failedAfter(app.db, repositoryId, commit, decideFloor),
    isFailed: row.failure !== null,
    deadlineMs: row.deadline ?? undefined,
  }
}

/** Stores that the failures of a group decide from now on. */
async function beginDeciding(
  app: ReposApp,
  { number, repository_id, head_commit, position, status_floor }: MergeQueueGroup,
): Promise<number> {
  // The first failure of a group that was the first from the beginning decides.
  const floor =
    position === 0 ? status_floor : await rows.lastStatusOf(app.db, repository_id, head_commit)
  await transaction(app.db, (tx) => rows.updateGroup(tx, number, { decide_floor: floor }))
  return floor
}

/** A change of the state of a queue. */
export interface QueueChange {
  readonly after: QueueState
  /** The merge base of each new candidate, by its entry. */
  readonly mergeBases?: ReadonlyMap<number, string>
  /** Why the first group failed, for what is left of it. */
  readonly failure?: LeaveReason
  /** Why groups end that were not left by an entry. Default: `invalidated`. */
  readonly firstEnds?: EndReason
}

/** Stores the state of a queue after a step. Entries that have left meanwhile stay so. */
export async function storeState(
  app: ReposApp,
  tx: Tx,
  loaded: LoadedQueue,
  { after, mergeBases, failure, firstEnds = 'invalidated' }: QueueChange,
): Promise<void> {
  const { state, groups, entries } = loaded
  const kept = new Set(after.groups.map(({ number }) => number))
  for (const [i, { number }] of state.groups.entries()) {
    const row = groups.get(number ?? 0)
    if (row && !kept.has(number)) await endGroup(app, tx, row, i === 0 ? firstEnds : 'invalidated')
  }
  for (const { id } of after.waiting) {
    if (entries.get(id)?.group_number != null) await rows.updateEntry(tx, id, OUTSIDE)
  }
  for (const [position, group] of after.groups.entries()) {
    const before = groups.get(group.number ?? 0)
    if (before) await keepGroup(tx, before, group, position, failure)
    else await storeGroup(tx, loaded, { group, position, mergeBases })
  }
}

/** What entries have outside the groups. */
const OUTSIDE = {
  state: 'QUEUED',
  group_number: null,
  candidate_commit: null,
  merge_base: null,
  blocked_on: null,
} as const

async function keepGroup(
  tx: Tx,
  before: MergeQueueGroup,
  group: Group,
  position: number,
  failure: LeaveReason | undefined,
): Promise<void> {
  const isDivided = group.candidates.length < before.size && !group.isBroken
  if (!isDivided && before.position === position) return
  await rows.updateGroup(tx, before.number, {
    position,
    ...(isDivided && {
      size: group.candidates.length,
      base_commit: group.base,
      failure: JSON.stringify(failure ?? null),
    }),
  })
}

interface NewGroup {
  readonly group: Group
  readonly position: number
  readonly mergeBases: ReadonlyMap<number, string> | undefined
}

async function storeGroup(
  tx: Tx,
  { queue }: LoadedQueue,
  { group, position, mergeBases }: NewGroup,
): Promise<void> {
  const head = endOf(group)
  const { id, repository_id } = queue
  const number = await rows.insertGroup(tx, {
    queue_id: id,
    repository_id,
    position,
    size: group.candidates.length,
    base_commit: group.base,
    head_commit: head,
    ref: null,
    state: 'BUILDING',
    failure: null,
    status_floor: await rows.lastStatusOf(tx, repository_id, head),
    decide_floor: null,
    request_time: null,
    deadline: null,
    end_time: null,
    end_reason: null,
  })
  // The ref may exist from now on, so that it is deleted after a crash.
  await rows.updateGroup(tx, number, { ref: queueRef(number, queue.branch) })
  for (const [index, candidate] of group.candidates.entries())
    await rows.updateEntry(tx, candidate.entry.id, {
      ...placeOf(number, index, candidate),
      ...(mergeBases && { merge_base: mergeBases.get(candidate.entry.id) ?? null }),
    })
}

function placeOf(number: number, position: number, { commit }: Candidate) {
  return {
    state: 'BUILDING',
    group_number: number,
    position,
    candidate_commit: commit,
    blocked_on: null,
  } as const
}

/** Returns the name of the ref of a group. */
export function queueRef(number: number, branch: string): string {
  return `refs/queue/${number}/${branch}`
}

/** Ends a group. Its ref is deleted afterwards. */
export async function endGroup(
  app: ReposApp,
  tx: Tx,
  row: MergeQueueGroup,
  reason: EndReason,
): Promise<void> {
  const changes = { end_time: app.clock.now(), end_reason: reason }
  await rows.updateGroup(tx, row.number, changes)
  await queueGroupEnd(app, tx, row, reason)
}

/** Stores which groups are ready, for readers. */
export async function storeVerdicts(app: ReposApp, { state, groups }: LoadedQueue): Promise<void> {
  for (const { number = 0, verdict } of state.groups) {
    const now = verdict === 'success' ? ('READY' as const) : ('BUILDING' as const)
    if (groups.get(number)?.state === now) continue
    await transaction(app.db, async (tx) => {
      await rows.updateGroup(tx, number, { state: now })
      await rows.setStateOfGroup(tx, number, now)
    })
  }
}
