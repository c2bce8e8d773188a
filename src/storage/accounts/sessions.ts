import { prepareFirst } from '../database/prepared.ts'
import type { Session } from '../schema/accounts.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** Returns the account of a session; undefined if the session has ended. */
export const findUserOfSession = prepareFirst((db, id: string) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('users')
    .where('sessions.id', '=', id),
)

/**
 * Returns the account of a session; undefined if the session has ended or expired. `now` is in Unix
 * seconds.
 */
export const findUserOfLiveSession = prepareFirst((db, id: string, now: number) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('users')
    .where('sessions.id', '=', id)
    .where('sessions.expire_time', '>', now),
)

export function findSession(db: Db, id: string): Promise<Session | undefined> {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertSession(tx: Tx, session: Session): Promise<void> {
  await tx.insertInto('sessions').values(session).execute()
}

/**
 * Replaces the current refresh token of a session.
 *
 * @returns the updated session; undefined if `currentTokenId` is not the current token.
 */
export function replaceSessionToken(
  tx: Tx,
  id: string,
  currentTokenId: string,
  next: Pick<Session, 'token_id' | 'token_issued_at' | 'expire_time'>,
): Promise<Session | undefined> {
  return tx
    .updateTable('sessions')
    .set({ ...next, previous_token_id: currentTokenId })
    .where('id', '=', id)
    .where('token_id', '=', currentTokenId)
    .returningAll()
    .executeTakeFirst()
}

export async function deleteSession(db: Db, id: string): Promise<void> {
  await db.deleteFrom('sessions').where('id', '=', id).execute()
}

/** Deletes all sessions of an account, or all but one. */
export async function deleteSessionsOfUser(
  tx: Tx,
  userId: number,
  exceptId?: string,
): Promise<void> {
  await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .$if(exceptId !== undefined, (query) => query.where('id', '<>', exceptId ?? ''))
    .execute()
}

/** Deletes the sessions of an account except the `keep` most recently refreshed ones. */
export async function deleteStalestSessions(tx: Tx, userId: number, keep: number): Promise<void> {
  await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', 'not in', (query) =>
      query
        .selectFrom('sessions')
        .select('id')
        .where('user_id', '=', userId)
        .orderBy('token_issued_at', 'desc')
        .orderBy('id')
        .limit(keep),
    )
    .execute()
}

/** Deletes the sessions that expired up to a time in Unix seconds. */
export async function deleteExpiredSessions(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('sessions').where('expire_time', '<=', now).execute()
}
