import type { Insertable } from 'kysely'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { FailedGuessesTable } from '../schema.ts'

const guessesOf = prepareQuery((db, subject: string, after: number) =>
  db
    .selectFrom('failed_guesses')
    .select(['time', 'is_running'])
    .where('subject', '=', subject)
    .where('time', '>', after)
    .orderBy('time'),
)

/**
 * Returns the guesses about a subject, the oldest first.
 *
 * @param after Unix milliseconds.
 */
export function listGuesses(
  db: Db,
  subject: string,
  after: number,
): Promise<{ time: number; is_running: number }[]> {
  return guessesOf(db, subject, after)
}

/** Stores guesses and returns their ids. */
export async function insertGuesses(
  tx: Tx,
  guesses: readonly Insertable<FailedGuessesTable>[],
): Promise<number[]> {
  const rows = await tx.insertInto('failed_guesses').values(guesses).returning('id').execute()
  return rows.map(({ id }) => id)
}

/** Counts guesses that were being checked as wrong. */
export async function recordWrongGuesses(
  tx: Tx,
  ids: readonly number[],
  time: number,
): Promise<void> {
  await tx
    .updateTable('failed_guesses')
    .set({ is_running: 0, time })
    .where('id', 'in', ids)
    .execute()
}

export async function deleteGuesses(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.deleteFrom('failed_guesses').where('id', 'in', ids).execute()
}

/** Deletes the wrong guesses about some subjects. */
export async function forgiveGuesses(tx: Tx, subjects: readonly string[]): Promise<void> {
  if (subjects.length === 0) return
  await tx
    .deleteFrom('failed_guesses')
    .where('subject', 'in', subjects)
    .where('is_running', '=', 0)
    .execute()
}

/** Deletes the guesses that no longer count at a time in Unix milliseconds. */
export async function deleteExpiredGuesses(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('failed_guesses').where('expire_time', '<=', now).execute()
}
