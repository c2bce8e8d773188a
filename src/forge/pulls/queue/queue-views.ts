import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName, RepositoryName } from '../../core/names.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { CommitStatusView } from '../../repositories/commits/commit-statuses.ts'
import { latestStatusesOf } from '../../repositories/commits/commit-statuses.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { queueIn, queueStyle } from '../../repositories/protection/merge-queue-settings.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import { type OpenPull, openPull, openPulls } from '../heads/open-pulls.ts'
import { findPullRequestsByIds } from '../heads/pull-requests.rows.ts'
import type { MergeQueue, MergeQueueEntry, MergeQueueGroup, PullRequest } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import type { LeaveReason } from './queue-exits.ts'

/** Merge queues in the form in which callers see them. */

/** An entry, with what its row does not say. */
export interface QueueEntryView {
  readonly entry: MergeQueueEntry
  readonly pull: Pick<PullRequest, 'number' | 'title'>
  readonly base: string
  /** Number of the pull request on which this one stands in a stack. */
  readonly below: number | undefined
  readonly style: string
  /** From 1; 0 for an entry that has left. */
  readonly position: number
  readonly adder: Owner
  /** 0 if no group has merged yet. */
  readonly estimatedMinutes: number
  readonly reason: LeaveReason | undefined
}

/** A group, with its entries. */
export interface QueueGroupView {
  readonly group: MergeQueueGroup
  /** Numbers of the pull requests. */
  readonly numbers: readonly number[]
  readonly statuses: readonly CommitStatusView[]
}

/** A queue that a caller has opened. */
export interface QueueView {
  readonly open: OpenRepository
  readonly base: string
  readonly style: string
  readonly entries: readonly QueueEntryView[]
  readonly groups: readonly QueueGroupView[]
}

/** Returns the queue of a branch. */
export async function getQueue(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  base: string,
): Promise<QueueView> {
  const open = await openPulls(app, caller, name)
  const { id } = open.repository
  const rule = await ruleOf(app, id, base)
  if (!rule) throw new DomainError('MERGE_QUEUE_NOT_FOUND', { base: base.slice(0, 100) })
  const style = queueStyle(open.repository, rule)
  const queue = await rows.findQueue(app.db, id, base)
  if (!queue) return { open, base, style, entries: [], groups: [] }
  const groups = await rows.liveGroups(app.db, queue.id)
  const entries = await rows.listEntries(app.db, queue.id)
  const views = await viewEntries(app, open, queue, entries)
  const groupViews: QueueGroupView[] = []
  for (const group of groups) {
    const own = views.filter(({ entry }) => entry.group_number === group.number)
    const numbers = own.map(({ pull }) => pull.number)
    const commit = { repository_id: id, commit_id: group.head_commit }
    groupViews.push({ group, numbers, statuses: await latestStatusesOf(app, commit) })
  }
  return { open, base, style, entries: views, groups: groupViews }
}

async function ruleOf(
  app: ReposApp,
  repositoryId: number,
  branch: string,
): Promise<BranchRule | undefined> {
  const rules = await readBranchRules(app, repositoryId, undefined, { code: 'none' })
  return queueIn(rules.inForceFor(branch))
}

/** Returns the entry of a pull request, or the last one that has left. */
export async function getQueueEntry(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<{ open: OpenPull; view: QueueEntryView }> {
  const open = await openPull(app, caller, name, 'read')
  const entry = await rows.findEntry(app.db, open.pull.id)
  if (!entry) throw new DomainError('MERGE_QUEUE_ENTRY_NOT_FOUND')
  return { open, view: await viewEntry(app, open, entry) }
}

/** Returns the view of one entry. */
export async function viewEntry(
  app: ReposApp,
  open: OpenRepository,
  entry: MergeQueueEntry,
): Promise<QueueEntryView> {
  const queue = await rows.findQueueById(app.db, entry.queue_id)
  const [view] = queue ? await viewEntries(app, open, queue, [entry]) : []
  if (!view) throw new DomainError('MERGE_QUEUE_ENTRY_NOT_FOUND')
  return view
}

/** The entries of some pull requests, by the ids of the pull requests. */
interface EntriesOfPulls {
  readonly inQueue: ReadonlyMap<number, QueueEntryView>
  readonly left: ReadonlySet<number>
}

/** Returns the entries of pull requests. */
export async function viewEntriesOf(
  app: ReposApp,
  opened: readonly OpenRepository[],
  pullIds: readonly number[],
): Promise<EntriesOfPulls> {
  const all = await rows.entriesOfPulls(app.db, pullIds)
  const entries = all.filter(({ leave_time }) => leave_time === null)
  const views = new Map<number, QueueEntryView>()
  for (const queueId of new Set(entries.map(({ queue_id }) => queue_id))) {
    const queue = await rows.findQueueById(app.db, queueId)
    const open = opened.find(({ repository }) => repository.id === queue?.repository_id)
    if (!queue || !open) continue
    const own = entries.filter(({ queue_id }) => queue_id === queueId)
    for (const view of await viewEntries(app, open, queue, own))
      views.set(view.entry.pull_request_id, view)
  }
  const left = all.filter(({ leave_time }) => leave_time !== null)
  return { inQueue: views, left: new Set(left.map(({ pull_request_id: id }) => id)) }
}

/** Returns the views of entries of one queue, by their positions. */
async function viewEntries(
  app: ReposApp,
  { repository }: OpenRepository,
  queue: MergeQueue,
  entries: readonly MergeQueueEntry[],
): Promise<QueueEntryView[]> {
  const { db } = app
  const rule = await ruleOf(app, repository.id, queue.branch)
  const pulls = await findPullRequestsByIds(
    db,
    entries.flatMap(({ pull_request_id, below_id }) => [
      pull_request_id,
      ...(below_id ? [below_id] : []),
    ]),
  )
  const adders = await findOwnersByIds(db, [...new Set(entries.map(({ adder_id }) => adder_id))])
  const placeOf = await placesIn(app, queue, rule)
  const views: QueueEntryView[] = []
  for (const entry of entries) {
    const pull = pulls.get(entry.pull_request_id)
    if (!pull) continue
    views.push({
      entry,
      pull,
      base: queue.branch,
      below: pulls.get(entry.below_id ?? 0)?.number,
      style: rule && entry.leave_time === null ? queueStyle(repository, rule) : entry.style,
      ...(await placeOf(entry)),
      adder: adders.get(entry.adder_id) ?? GHOST,
      reason: entry.reason === null ? undefined : (JSON.parse(entry.reason) as LeaveReason),
    })
  }
  return views.sort((a, b) => a.position - b.position)
}

type Place = Pick<QueueEntryView, 'position' | 'estimatedMinutes'>

/** Returns a function that returns the position of an entry and when it may merge. */
async function placesIn(
  { db, clock }: ReposApp,
  queue: MergeQueue,
  rule: BranchRule | undefined,
): Promise<(entry: MergeQueueEntry) => Promise<Place>> {
  const live = await rows.liveGroups(db, queue.id)
  const groups = await keptGroups(db, queue, live)
  const order = new Map(groups.map(({ number }, i) => [number, i]))
  const rank = ({ group_number }: MergeQueueEntry) => order.get(group_number ?? 0) ?? 0
  const grouped = (await rows.entriesOfGroups(db, groups))
    .filter(({ leave_time }) => leave_time === null)
    .sort((a, b) => rank(a) - rank(b) || a.position - b.position)
    .map(({ id }) => id)
  const runs = (await rows.mergedRuns(db, queue.id)).sort((a, b) => a - b)
  const median = runs[Math.floor(runs.length / 2)] ?? 0
  const { merge_queue_parallel: parallel = 1, merge_queue_max_group: size = 1 } = rule ?? {}
  const elapsedMs = clock.now() - (groups[0]?.request_time ?? clock.now())
  return async (entry) => {
    if (entry.leave_time !== null) return { position: 0, estimatedMinutes: 0 }
    const index = grouped.indexOf(entry.id)
    const behind = index < 0 ? await rows.countBefore(db, entry, groups) : 0
    const ahead = index < 0 ? groups.length + Math.floor(behind / size) + 1 : rank(entry) + 1
    const leftMs = median * Math.ceil(ahead / parallel) - elapsedMs
    return {
      position: (index < 0 ? grouped.length + behind : index) + 1,
      estimatedMinutes: Math.max(Math.ceil(leftMs / 60_000), 0),
    }
  }
}

/** Returns the groups that are not about to be made again, because an entry has jumped. */
async function keptGroups(
  db: ReposApp['db'],
  queue: MergeQueue,
  groups: readonly MergeQueueGroup[],
): Promise<readonly MergeQueueGroup[]> {
  const [next] = await rows.waitingEntries(db, queue.id, 1)
  if (next?.is_jump !== 1 || next.blocked_on !== null) return groups
  const open = groups.findIndex(({ state }) => state !== 'READY')
  return open < 0 ? groups : groups.slice(0, open)
}
