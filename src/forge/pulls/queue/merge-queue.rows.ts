import type { Insertable } from 'kysely'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type {
  MergeQueue,
  MergeQueueEntriesTable,
  MergeQueueEntry,
  MergeQueueGroup,
  MergeQueueGroupsTable,
  PullRequest,
} from '../schema.ts'

/** Merged groups that a queue keeps, for estimates. */
const MAX_KEPT = 20

/** Returns the queue of a branch; undefined if the branch never had one. */
export function findQueue(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<MergeQueue | undefined> {
  return db
    .selectFrom('merge_queues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('branch', '=', branch)
    .executeTakeFirst()
}

/** Returns a queue by its id. */
export function findQueueById(db: Db, id: number): Promise<MergeQueue | undefined> {
  return db.selectFrom('merge_queues').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the id of the queue of a branch, which is created if there is none. */
export async function putQueue(tx: Tx, repositoryId: number, branch: string): Promise<number> {
  await tx
    .insertInto('merge_queues')
    .values({ repository_id: repositoryId, branch, due_time: null, pause_time: null })
    .onConflict((conflict) => conflict.columns(['repository_id', 'branch']).doNothing())
    .execute()
  const { id } = await tx
    .selectFrom('merge_queues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('branch', '=', branch)
    .executeTakeFirstOrThrow()
  return id
}

/** Renames the queue of a branch. A queue of an earlier branch of the new name is deleted. */
export async function renameQueue(
  tx: Tx,
  repositoryId: number,
  from: string,
  to: string,
): Promise<void> {
  const queue = await findQueue(tx, repositoryId, from)
  if (!queue) return
  await tx
    .deleteFrom('merge_queues')
    .where('repository_id', '=', repositoryId)
    .where('branch', '=', to)
    .execute()
  await tx.updateTable('merge_queues').set({ branch: to }).where('id', '=', queue.id).execute()
}

/** Makes a queue due. */
export async function wakeQueue(tx: Tx, now: number, queueId: number): Promise<void> {
  await tx
    .updateTable('merge_queues')
    .set((eb) => ({ due_time: now, wake_count: eb('wake_count', '+', 1) }))
    .where('id', '=', queueId)
    .execute()
}

/**
 * Makes queues of a repository due after a change.
 *
 * @param changed the branch that moved, or the commit that got a status. All queues when left out.
 */
export async function wakeQueues(
  tx: Tx,
  now: number,
  repositoryId: number,
  changed: Partial<Pick<PullRequest, 'base_branch' | 'head_commit'>>,
): Promise<void> {
  const { base_branch: branch, head_commit: commit } = changed
  await tx
    .updateTable('merge_queues')
    .set((eb) => ({ due_time: now, wake_count: eb('wake_count', '+', 1) }))
    .where('repository_id', '=', repositoryId)
    .$if(branch !== undefined, (query) => query.where('branch', '=', branch ?? ''))
    .$if(commit !== undefined, (query) =>
      query.where('id', 'in', (eb) =>
        eb
          .selectFrom('merge_queue_groups')
          .select('queue_id')
          .where('repository_id', '=', repositoryId)
          .where('head_commit', '=', commit ?? '')
          .where('end_time', 'is', null),
      ),
    )
    .execute()
}

/** Makes all queues due. Changes may have been missed while the server was stopped. */
export async function wakeAllQueues(tx: Tx, now: number): Promise<void> {
  await tx
    .updateTable('merge_queues')
    .set((eb) => ({ due_time: now, wake_count: eb('wake_count', '+', 1) }))
    .execute()
}

/**
 * Sets the time of the next look at a queue, unless it was made due since it was read.
 *
 * @param dueTime Unix milliseconds; null if nothing is expected.
 */
export async function restQueue(
  tx: Tx,
  { id, wake_count }: MergeQueue,
  dueTime: number | null,
): Promise<void> {
  await tx
    .updateTable('merge_queues')
    .set({ due_time: dueTime })
    .where('id', '=', id)
    .where('wake_count', '=', wake_count)
    .execute()
}

/** Sets since when the deadlines of a queue stand still. */
export async function pauseQueue(tx: Tx, queueId: number, time: number | null): Promise<void> {
  await tx.updateTable('merge_queues').set({ pause_time: time }).where('id', '=', queueId).execute()
}

/** Moves the deadlines of the groups of a queue. */
export async function postponeDeadlines(tx: Tx, queueId: number, byMs: number): Promise<void> {
  await tx
    .updateTable('merge_queue_groups')
    .set((eb) => ({ deadline: eb('deadline', '+', byMs) }))
    .where('queue_id', '=', queueId)
    .where('end_time', 'is', null)
    .execute()
}

/** Returns the queues with work, by their repositories. */
export function queuesWithWork(db: Db): DueQueue {
  const queues = db
    .selectFrom('merge_queues')
    .select(['id', 'repository_id as ownerId', 'due_time as dueTime'])
    .where('due_time', 'is not', null)
  return dueQueue(db, queues)
}

/** Returns the groups of a queue that have not ended, in their order. */
export function liveGroups(db: Db, queueId: number): Promise<MergeQueueGroup[]> {
  return db
    .selectFrom('merge_queue_groups')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where('end_time', 'is', null)
    .orderBy('position')
    .execute()
}

/** Returns the groups that have ended and whose ref is left. */
export function endedGroups(db: Db, queueId: number): Promise<MergeQueueGroup[]> {
  return db
    .selectFrom('merge_queue_groups')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where('end_time', 'is not', null)
    .where('ref', 'is not', null)
    .execute()
}

/** Inserts a group. @returns its number. */
export async function insertGroup(
  tx: Tx,
  group: Insertable<MergeQueueGroupsTable>,
): Promise<number> {
  const { number } = await tx
    .insertInto('merge_queue_groups')
    .values(group)
    .returning('number')
    .executeTakeFirstOrThrow()
  return number
}

/** Changes a group. */
export async function updateGroup(
  tx: Tx,
  number: number,
  changes: Partial<Omit<MergeQueueGroup, 'number' | 'queue_id' | 'repository_id'>>,
): Promise<void> {
  await tx.updateTable('merge_queue_groups').set(changes).where('number', '=', number).execute()
}

/** Deletes the groups of a queue that have ended, without a ref, beside the last that merged. */
export async function deleteEndedGroups(tx: Tx, queueId: number): Promise<void> {
  await tx
    .deleteFrom('merge_queue_groups')
    .where('queue_id', '=', queueId)
    .where('end_time', 'is not', null)
    .where('ref', 'is', null)
    .where('number', 'not in', (eb) =>
      eb
        .selectFrom('merge_queue_groups')
        .select('number')
        .where('queue_id', '=', queueId)
        .where('end_reason', '=', 'merged')
        .orderBy('number', 'desc')
        .limit(MAX_KEPT),
    )
    .execute()
}

/** Returns how long the checks of the last merged groups took, in milliseconds. */
export async function mergedRuns(db: Db, queueId: number): Promise<number[]> {
  const groups = await db
    .selectFrom('merge_queue_groups')
    .select(['request_time', 'end_time'])
    .where('queue_id', '=', queueId)
    .where('end_reason', '=', 'merged')
    .orderBy('number', 'desc')
    .limit(MAX_KEPT)
    .execute()
  return groups.flatMap(({ request_time, end_time }) =>
    request_time === null || end_time === null ? [] : end_time - request_time,
  )
}

/** Returns the entries of groups, in their order. Those that have left are among them. */
export function entriesOfGroups(
  db: Db,
  groups: readonly Pick<MergeQueueGroup, 'number'>[],
): Promise<MergeQueueEntry[]> {
  return membersOf(db, JSON.stringify(groups.map(({ number }) => number)))
}

const membersOf = prepareQuery((db, numbers: string) =>
  db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('group_number', 'in', numbersOf(numbers))
    .orderBy('group_number')
    .orderBy('position'),
)

/**
 * Returns the first entries outside the groups of a queue, in their order.
 *
 * @param on leaves out those for which no candidate could be made on this commit.
 */
export function waitingEntries(
  db: Db,
  queueId: number,
  limit: number,
  on?: string,
): Promise<MergeQueueEntry[]> {
  return db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where('leave_time', 'is', null)
    .where('group_number', 'is', null)
    .$if(on !== undefined, (query) =>
      query.where((eb) => eb.or([eb('blocked_on', 'is', null), eb('blocked_on', '!=', on ?? '')])),
    )
    .orderBy('is_jump', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Returns the number of entries of a queue. */
export async function countEntries(db: Db, queueId: number): Promise<number> {
  const { count } = await db
    .selectFrom('merge_queue_entries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('queue_id', '=', queueId)
    .where('leave_time', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Returns the number of entries before one, in the order of entries outside groups.
 *
 * @param kept the groups whose entries do not count.
 */
export async function countBefore(
  db: Db,
  { queue_id, is_jump, id }: Pick<MergeQueueEntry, 'queue_id' | 'is_jump' | 'id'>,
  kept: readonly Pick<MergeQueueGroup, 'number'>[],
): Promise<number> {
  const numbers = numbersOf(JSON.stringify(kept.map(({ number }) => number)))
  const { count } = await db
    .selectFrom('merge_queue_entries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('queue_id', '=', queue_id)
    .where('leave_time', 'is', null)
    .where((eb) =>
      eb.or([eb('group_number', 'is', null), eb.not(eb('group_number', 'in', numbers))]),
    )
    .where((eb) =>
      eb.or([
        eb('is_jump', '>', is_jump),
        eb.and([eb('is_jump', '=', is_jump), eb('id', '<', id)]),
      ]),
    )
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the entry of a pull request, or the last one that has left. */
export function findEntry(db: Db, pullId: number): Promise<MergeQueueEntry | undefined> {
  return db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .executeTakeFirst()
}

/** Returns the entries in the queue that stand on a pull request. */
export function entriesAbove(db: Db, pullId: number): Promise<MergeQueueEntry[]> {
  return db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('below_id', '=', pullId)
    .where('leave_time', 'is', null)
    .orderBy('id')
    .execute()
}

/** Returns the ids of the pull requests below an entry, those that have merged among them. */
export async function idsBelow(db: Db, pullId: number): Promise<number[]> {
  const below = await db
    .withRecursive('below(id)', (query) =>
      query
        .selectFrom('merge_queue_entries')
        .select('below_id as id')
        .where('pull_request_id', '=', pullId)
        .where('below_id', 'is not', null)
        .union(
          query
            .selectFrom('below')
            .innerJoin('merge_queue_entries', 'merge_queue_entries.pull_request_id', 'below.id')
            .select('merge_queue_entries.below_id as id')
            .where('below_id', 'is not', null),
        ),
    )
    .selectFrom('below')
    .select('id')
    .execute()
  return below.flatMap(({ id }) => id ?? [])
}

/** Puts entries in the queue at the front. */
export async function jumpEntries(tx: Tx, pullIds: readonly number[]): Promise<void> {
  if (pullIds.length === 0) return
  await tx
    .updateTable('merge_queue_entries')
    .set({ is_jump: 1 })
    .where('pull_request_id', 'in', pullIds)
    .where('leave_time', 'is', null)
    .execute()
}

/** Returns the entries of pull requests. Those that have left are among them. */
export function entriesOfPulls(db: Db, pullIds: readonly number[]): Promise<MergeQueueEntry[]> {
  return entriesByPulls(db, JSON.stringify(pullIds))
}

const entriesByPulls = prepareQuery((db, pullIds: string) =>
  db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('pull_request_id', 'in', numbersOf(pullIds)),
)

/** Inserts an entry in place of an earlier one of its pull request. */
export async function replaceEntry(
  tx: Tx,
  entry: Insertable<MergeQueueEntriesTable>,
): Promise<MergeQueueEntry> {
  await tx
    .deleteFrom('merge_queue_entries')
    .where('pull_request_id', '=', entry.pull_request_id)
    .where('leave_time', 'is not', null)
    .execute()
  return tx.insertInto('merge_queue_entries').values(entry).returningAll().executeTakeFirstOrThrow()
}

/**
 * Changes an entry that is still in the queue.
 *
 * @returns whether the entry was.
 */
export async function updateEntry(
  tx: Tx,
  id: number,
  changes: Partial<Omit<MergeQueueEntry, 'id' | 'pull_request_id'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('merge_queue_entries')
    .set(changes)
    .where('id', '=', id)
    .where('leave_time', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Sets the state of the entries of a group that are still in the queue. */
export async function setStateOfGroup(
  tx: Tx,
  number: number,
  state: MergeQueueGroup['state'],
): Promise<void> {
  await tx
    .updateTable('merge_queue_entries')
    .set({ state })
    .where('group_number', '=', number)
    .where('leave_time', 'is', null)
    .execute()
}

/** Returns the number of the last status of a commit; 0 without any. */
export async function lastStatusOf(
  db: Db,
  repositoryId: number,
  commitId: string,
): Promise<number> {
  const last = await db
    .selectFrom('commit_statuses')
    .select('number')
    .where('repository_id', '=', repositoryId)
    .where('commit_id', '=', commitId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last?.number ?? 0
}

/** Returns the latest status of each context of a commit. */
export function latestStatuses(
  db: Db,
  repositoryId: number,
  commitId: string,
): Promise<{ context: string; state: string; number: number }[]> {
  return db
    .selectFrom('commit_status_contexts')
    .select(['context', 'state', 'number'])
    .where('repository_id', '=', repositoryId)
    .where('commit_id', '=', commitId)
    .execute()
}

/** Returns the contexts of a commit that have failed after a status. */
export async function failedAfter(
  db: Db,
  repositoryId: number,
  commitId: string,
  floor: number,
): Promise<Set<string>> {
  const failed = await db
    .selectFrom('commit_statuses')
    .select('context')
    .distinct()
    .where('repository_id', '=', repositoryId)
    .where('commit_id', '=', commitId)
    .where('number', '>', floor)
    .where('state', 'in', ['failure', 'error', 'warning'])
    .execute()
  return new Set(failed.map(({ context }) => context))
}

/** Returns the names of the refs that groups of a repository have. */
export async function refsOfGroups(db: Db, repositoryId: number): Promise<string[]> {
  const groups = await db
    .selectFrom('merge_queue_groups')
    .select('ref')
    .where('repository_id', '=', repositoryId)
    .execute()
  return groups.flatMap(({ ref }) => ref ?? [])
}

/** Returns the entries of a queue, those in groups by their group and the others in their order. */
export function listEntries(db: Db, queueId: number): Promise<MergeQueueEntry[]> {
  return db
    .selectFrom('merge_queue_entries')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where('leave_time', 'is', null)
    .orderBy('is_jump', 'desc')
    .orderBy('id')
    .execute()
}
