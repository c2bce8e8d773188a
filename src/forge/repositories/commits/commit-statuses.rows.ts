import { numbersOf, textsOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { CommitStatus, NewCommitStatus } from '../schema.ts'

/** The key of a commit: its repository and its id. */
export interface CommitKey {
  readonly repository_id: number
  readonly commit_id: string
}

/** A filter for the statuses of a commit, and their order. */
export interface CommitStatusFilter {
  /** Undefined for all. */
  readonly state: CommitStatus['state'] | undefined
  readonly order: 'newest first' | 'oldest first'
}

/** Returns statuses of a commit. */
export function listCommitStatuses(
  db: Db,
  commit: CommitKey,
  { state, order }: CommitStatusFilter,
  offset: number,
  limit: number,
): Promise<CommitStatus[]> {
  return selectStatuses(db, commit, state)
    .selectAll()
    .orderBy('number', order === 'newest first' ? 'desc' : 'asc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of statuses in that list. */
export async function countCommitStatuses(
  db: Db,
  commit: CommitKey,
  state: CommitStatus['state'] | undefined,
): Promise<number> {
  const { count } = await selectStatuses(db, commit, state)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the latest status of each context of a commit, newest first. */
export function listLatestCommitStatuses(
  db: Db,
  commit: CommitKey,
  offset: number,
  limit: number,
): Promise<CommitStatus[]> {
  return selectContexts(db, commit)
    .innerJoin('commit_statuses', (join) =>
      join
        .onRef('commit_statuses.repository_id', '=', 'contexts.repository_id')
        .onRef('commit_statuses.commit_id', '=', 'contexts.commit_id')
        .onRef('commit_statuses.number', '=', 'contexts.number'),
    )
    .selectAll('commit_statuses')
    .orderBy('contexts.number', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/**
 * Returns the number of contexts of a commit by the state of their latest status. States without
 * contexts are left out.
 */
export async function countLatestStates(
  db: Db,
  commit: CommitKey,
): Promise<ReadonlyMap<CommitStatus['state'], number>> {
  const rows = await selectContexts(db, commit)
    .select(['state', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, count }) => [state, count]))
}

/** Returns the contexts of a commit, each with the state of its latest status. */
export function listContextStates(
  db: Db,
  commit: CommitKey,
): Promise<Pick<CommitStatus, 'context' | 'state'>[]> {
  return selectContexts(db, commit).select(['context', 'state']).execute()
}

/** Returns the different states that the latest statuses of some commits have. */
export async function listStatesOfCommits(
  db: Db,
  commits: readonly CommitKey[],
): Promise<Pick<CommitStatus, 'repository_id' | 'commit_id' | 'state'>[]> {
  if (commits.length === 0) return []
  const numbers = commits.map(({ repository_id }) => repository_id)
  const ids = commits.map(({ commit_id }) => commit_id)
  return db
    .selectFrom('commit_status_contexts')
    .select(['repository_id', 'commit_id', 'state'])
    .distinct()
    .where('repository_id', 'in', numbersOf(JSON.stringify([...new Set(numbers)])))
    .where('commit_id', 'in', textsOf(JSON.stringify([...new Set(ids)])))
    .execute()
}

/** Returns whether a commit has a status in a context. */
export async function hasContext(db: Db, commit: CommitKey, context: string): Promise<boolean> {
  const found = await selectContexts(db, commit)
    .select('number')
    .where('context', '=', context)
    .executeTakeFirst()
  return found !== undefined
}

/** Inserts a status with the next number of its commit. It becomes the latest of its context. */
export async function insertCommitStatus(tx: Tx, status: NewCommitStatus): Promise<CommitStatus> {
  const { repository_id, commit_id, context, state } = status
  const last = await selectStatuses(tx, status, undefined)
    .select('number')
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  const number = (last?.number ?? 0) + 1
  await tx
    .insertInto('commit_status_contexts')
    .values({ repository_id, commit_id, context, number, state })
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'commit_id', 'context']).doUpdateSet({ number, state }),
    )
    .execute()
  return tx
    .insertInto('commit_statuses')
    .values({ ...status, number })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes the statuses of a commit up to a number, except the latest of each context. */
export async function deleteOldCommitStatuses(
  tx: Tx,
  commit: CommitKey,
  upToNumber: number,
): Promise<void> {
  await tx
    .deleteFrom('commit_statuses')
    .where('repository_id', '=', commit.repository_id)
    .where('commit_id', '=', commit.commit_id)
    .where('number', '<=', upToNumber)
    .where('number', 'not in', selectContexts(tx, commit).select('number'))
    .execute()
}

function selectStatuses(
  db: Db,
  { repository_id, commit_id }: CommitKey,
  state: CommitStatus['state'] | undefined,
) {
  return db
    .selectFrom('commit_statuses')
    .where('repository_id', '=', repository_id)
    .where('commit_id', '=', commit_id)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'pending'))
}

function selectContexts(db: Db, { repository_id, commit_id }: CommitKey) {
  return db
    .selectFrom('commit_status_contexts as contexts')
    .where('contexts.repository_id', '=', repository_id)
    .where('contexts.commit_id', '=', commit_id)
}
