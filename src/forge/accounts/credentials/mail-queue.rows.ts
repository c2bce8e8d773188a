import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewWaitingMail, WaitingMail } from '../schema.ts'

/** Stores a mail to send. */
export async function insertMail(tx: Tx, mail: NewWaitingMail): Promise<void> {
  await tx.insertInto('mails').values(mail).execute()
}

/** Returns whether at least `count` mails wait. Reads that many index entries at most. */
export async function hasWaitingMails(tx: Tx, count: number): Promise<boolean> {
  const query = tx.selectFrom('mails').select('id').orderBy('id')
  return (
    (await query
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()) !== undefined
  )
}

/** Returns the waiting mails as a queue. */
export function mailQueue(db: Db): DueQueue {
  const mails = db
    .selectFrom('mails')
    .select(['id', 'user_id as ownerId', 'next_attempt_time as dueTime'])
  return dueQueue(db, mails)
}

export function findMail(db: Db, id: number): Promise<WaitingMail | undefined> {
  return db.selectFrom('mails').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function deleteMail(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('mails').where('id', '=', id).execute()
}

/** @param next_attempt_time Unix milliseconds. */
export async function postponeMail(
  tx: Tx,
  id: number,
  failures: number,
  next_attempt_time: number,
): Promise<void> {
  await tx.updateTable('mails').set({ failures, next_attempt_time }).where('id', '=', id).execute()
}
