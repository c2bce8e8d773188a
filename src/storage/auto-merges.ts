import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from './database.ts'
import type { PullRequest } from './pull-requests.ts'

/** Merges that are to happen once everything is ready for them. */
export interface AutoMergesTable {
  pull_request_id: number
  /** Of the base. */
  repository_id: number
  /** By whose rights it will be merged. */
  scheduler_id: number
  /** As the merge was asked for: `merge` or another style. */
  style: string
  /** Of the commit; empty for the default. */
  title: string
  message: string
  /** 0 or 1; null for the default of the repository. */
  delete_branch: number | null
  /** Unix seconds. */
  create_time: number
  /** When to look whether it can happen, in Unix milliseconds; null until something happens that it could depend on. */
  due_time: number | null
}

export type AutoMerge = Selectable<AutoMergesTable>

/** The merge that a pull request is to have; undefined without one. */
export function findAutoMerge(db: Db, pullId: number): Promise<AutoMerge | undefined> {
  return db.selectFrom('auto_merges').selectAll().where('pull_request_id', '=', pullId).executeTakeFirst()
}

/** Stores a merge that is to happen. A second one for a pull request violates a PRIMARY KEY constraint. */
export async function insertAutoMerge(tx: Tx, merge: AutoMerge): Promise<void> {
  await tx.insertInto('auto_merges').values(merge).execute()
}

/** Takes back that a pull request is to be merged. @returns whether it was. */
export async function deleteAutoMerge(tx: Tx, pullId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('auto_merges')
    .where('pull_request_id', '=', pullId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Never what it was, so that who looks at this moment does not take it for what they have seen to. */
function dueFrom(now: number) {
  return { due_time: sql<number>`max(${now}, coalesce(due_time, 0) + 1)` }
}

/**
 * Makes merges of a repository due, as something has happened for which they may have waited.
 *
 * @param now Unix milliseconds.
 * @param pulls of which pull requests: of those that have this value; without one of all.
 */
export async function wakeAutoMerges(
  tx: Tx,
  now: number,
  repositoryId: number,
  pulls: Partial<Pick<PullRequest, 'base_branch' | 'head_commit'>> = {},
): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set(dueFrom(now))
    .where('repository_id', '=', repositoryId)
    .$if(Object.keys(pulls).length > 0, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('pull_requests')
            .select('id')
            .whereRef('pull_requests.id', '=', 'auto_merges.pull_request_id')
            .where((eb) => eb.and(pulls)),
        ),
      ),
    )
    .execute()
}

/** Makes the merge of one pull request due, if it is to have one. */
export async function wakeAutoMerge(tx: Tx, now: number, pullId: number): Promise<void> {
  await tx.updateTable('auto_merges').set(dueFrom(now)).where('pull_request_id', '=', pullId).execute()
}

/** Makes every merge due: nobody knows what it has missed. */
export async function wakeAllAutoMerges(tx: Tx, now: number): Promise<void> {
  await tx.updateTable('auto_merges').set(dueFrom(now)).execute()
}

/**
 * Says when to look at a merge again, unless it was made due since it was read.
 *
 * @param read as it was.
 * @param dueTime Unix milliseconds; null for when something happens.
 */
export async function restAutoMerge(tx: Tx, read: AutoMerge, dueTime: number | null): Promise<void> {
  await tx
    .updateTable('auto_merges')
    .set({ due_time: dueTime })
    .where('pull_request_id', '=', read.pull_request_id)
    .where('due_time', 'is', read.due_time)
    .execute()
}

/**
 * The merge that has been due longest, by its pull request.
 *
 * @param now Unix milliseconds.
 * @param except pull requests, and accounts that have enough merged for them at this moment.
 */
export async function findDueAutoMerge(
  db: Db,
  now: number,
  except: { readonly ids: readonly number[]; readonly ownerIds: readonly number[] },
): Promise<{ readonly id: number; readonly ownerId: number } | undefined> {
  return db
    .selectFrom('auto_merges')
    .select(['pull_request_id as id', 'scheduler_id as ownerId'])
    .where('due_time', '<=', now)
    .$if(except.ids.length > 0, (query) => query.where('pull_request_id', 'not in', except.ids))
    .$if(except.ownerIds.length > 0, (query) => query.where('scheduler_id', 'not in', except.ownerIds))
    .orderBy('due_time')
    .limit(1)
    .executeTakeFirst()
}

/** When the next merge falls due after `now`, both in Unix milliseconds; undefined when none will. */
export async function nextAutoMergeTime(db: Db, now: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('auto_merges')
    .select('due_time')
    .where('due_time', '>', now)
    .orderBy('due_time')
    .limit(1)
    .executeTakeFirst()
  return row?.due_time ?? undefined
}
