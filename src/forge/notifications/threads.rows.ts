import type { Insertable, SelectQueryBuilder } from 'kysely'
import { type DueQueue, dueQueue } from '../../platform/database/due-queue.ts'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../repositories/access/repository-readers.rows.ts'
import type { NotificationThread, NotificationThreadsTable } from './schema.ts'

/** The threads of some users about a conversation, by user. */
export async function findThreadsAbout(
  tx: Tx,
  conversationId: number,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, NotificationThread>> {
  const found = await tx
    .selectFrom('notification_threads')
    .selectAll()
    .where('issue_id', '=', conversationId)
    .where('user_id', 'in', numbersOf(JSON.stringify(userIds)))
    .execute()
  return new Map(found.map((thread) => [thread.user_id, thread]))
}

/** Inserts threads, or replaces those of the same users about the same conversation. */
export async function putThreads(
  tx: Tx,
  threads: readonly Insertable<NotificationThreadsTable>[],
): Promise<void> {
  if (threads.length === 0) return
  await tx
    .insertInto('notification_threads')
    .values(threads)
    .onConflict((conflict) =>
      conflict.columns(['issue_id', 'user_id']).doUpdateSet((eb) => ({
        status: eb.ref('excluded.status'),
        reason: eb.ref('excluded.reason'),
        comment_id: eb.ref('excluded.comment_id'),
        update_time: eb.ref('excluded.update_time'),
        mail_items: eb.ref('excluded.mail_items'),
        mail_time: eb.ref('excluded.mail_time'),
      })),
    )
    .execute()
}

/** Threads of a user about repositories that the user may read. Undefined fields select all. */
export interface ThreadSearch {
  readonly userId: number
  readonly reader: RepositoryReader
  readonly repositoryId?: number | undefined
  readonly statuses?: readonly NotificationThread['status'][] | undefined
  /** Values of `is_pull`. */
  readonly kinds?: readonly number[] | undefined
  /** Unix seconds of the last update, ends included. */
  readonly since?: number | undefined
  readonly before?: number | undefined
}

/** Returns threads, the latest first. */
export function listThreads(
  db: Db,
  search: ThreadSearch,
  offset: number,
  limit: number,
): Promise<NotificationThread[]> {
  return selectThreads(db, search)
    .selectAll('notification_threads')
    .orderBy('notification_threads.update_time', 'desc')
    .orderBy('notification_threads.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of threads in that list. */
export async function countThreads(db: Db, search: ThreadSearch): Promise<number> {
  const { count } = await selectThreads(db, search)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns a thread of a user, whether or not the user may still read the repository. */
export function findThread(
  db: Db,
  userId: number,
  id: number,
): Promise<NotificationThread | undefined> {
  return db
    .selectFrom('notification_threads')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** Sets the status of threads. */
export async function setThreadStatus(
  tx: Tx,
  search: ThreadSearch,
  status: NotificationThread['status'],
): Promise<void> {
  await tx
    .updateTable('notification_threads')
    .set({ status, ...silenced(status) })
    .where('id', 'in', selectThreads(tx, search).select('notification_threads.id'))
    .execute()
}

/** Sets the status of one thread. */
export async function setStatusOf(
  tx: Tx,
  id: number,
  status: NotificationThread['status'],
): Promise<void> {
  await tx
    .updateTable('notification_threads')
    .set({ status, ...silenced(status) })
    .where('id', '=', id)
    .execute()
}

/** Returns the threads with a mail to send as a queue. Their owners are users. */
export function threadMailQueue(db: Db): DueQueue {
  const threads = db
    .selectFrom('notification_threads')
    .select(['id', 'user_id as ownerId', 'mail_time as dueTime'])
    .where('mail_time', 'is not', null)
  return dueQueue(db, threads)
}

export function findThreadById(db: Db, id: number): Promise<NotificationThread | undefined> {
  return db.selectFrom('notification_threads').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Changes what is known of the mails about a thread. */
export async function updateThreadMail(
  tx: Tx,
  id: number,
  changes: Partial<
    Pick<NotificationThread, 'mail_items' | 'mail_time' | 'last_mail_time' | 'mail_failures'>
  >,
): Promise<void> {
  await tx.updateTable('notification_threads').set(changes).where('id', '=', id).execute()
}

/**
 * Drops the mails that wait for a user.
 *
 * @param conversationId the conversation that they are about; undefined for all.
 */
export async function dropThreadMails(
  tx: Tx,
  userId: number,
  conversationId: number | undefined,
): Promise<void> {
  let query = tx
    .updateTable('notification_threads')
    .set({ mail_items: '[]', mail_time: null })
    .where('user_id', '=', userId)
    .where('mail_time', 'is not', null)
  if (conversationId !== undefined) query = query.where('issue_id', '=', conversationId)
  await query.execute()
}

/** A thread that was read needs no mail. */
function silenced(status: NotificationThread['status']) {
  return status === 'READ' ? { mail_items: '[]', mail_time: null } : {}
}

function selectThreads(
  db: Db,
  { userId, reader, repositoryId, statuses, kinds, since, before }: ThreadSearch,
): SelectQueryBuilder<Schema, 'notification_threads', object> {
  let query = db
    .selectFrom('notification_threads')
    .where('notification_threads.user_id', '=', userId)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('repositories')
          .innerJoin('issues', 'issues.repository_id', 'repositories.id')
          .select('repositories.id')
          .whereRef('issues.id', '=', 'notification_threads.issue_id')
          .where('issues.is_pull', 'in', kinds ?? [0, 1])
          .where((of) =>
            of.or([
              of.and([of('issues.is_pull', '=', 1), of('repositories.has_pull_requests', '=', 1)]),
              of.and([of('issues.is_pull', '=', 0), of('repositories.has_issues', '=', 1)]),
            ]),
          )
          .where(readableBy(reader)),
      ),
    )
  if (repositoryId !== undefined)
    query = query.where('notification_threads.repository_id', '=', repositoryId)
  if (statuses) query = query.where('notification_threads.status', 'in', statuses)
  if (since !== undefined) query = query.where('notification_threads.update_time', '>=', since)
  if (before !== undefined) query = query.where('notification_threads.update_time', '<=', before)
  return query
}
