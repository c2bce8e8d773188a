import type { Insertable } from 'kysely'
import { prepareFirst } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Session, SessionsTable } from '../schema.ts'

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

/** Records when the owner of a session proved to be present, in Unix seconds. */
export async function confirmSession(db: Db, id: string, confirmTime: number): Promise<void> {
  await db.updateTable('sessions').set({ confirm_time: confirmTime }).where('id', '=', id).execute()
}

/** The place of a session in lists: its creation time in Unix seconds, and its id. */
export type SessionKey = readonly [createTime: number, id: string]

/** The sessions of an account after a place. `now` is in Unix seconds. */
interface LiveSessions {
  readonly userId: number
  readonly now: number
  readonly after: SessionKey | undefined
}

/**
 * Lists sessions that have not expired, latest sign-in first. An account has so few of them that
 * the index by account is enough.
 */
export function listLiveSessions(
  db: Db,
  { userId, now, after }: LiveSessions,
  limit: number,
): Promise<Session[]> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expire_time', '>', now)
    .$if(after !== undefined, (query) => {
      const [createTime, id] = after ?? [0, '']
      return query.where((eb) =>
        eb.or([
          eb('create_time', '<', createTime),
          eb.and([eb('create_time', '=', createTime), eb('id', '>', id)]),
        ]),
      )
    })
    .orderBy('create_time', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Counts the sessions of an account that have not expired. `now` is in Unix seconds. */
export async function countLiveSessions(db: Db, userId: number, now: number): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('expire_time', '>', now)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertSession(tx: Tx, session: Insertable<SessionsTable>): Promise<void> {
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

/** Moves the expiry of a session to a time in Unix seconds. */
export async function expireSessionAt(db: Db, id: string, expireTime: number): Promise<void> {
  await db.updateTable('sessions').set({ expire_time: expireTime }).where('id', '=', id).execute()
}

/**
 * Deletes a session of an account that has not expired. `now` is in Unix seconds.
 *
 * @returns whether there was one.
 */
export async function deleteLiveSession(
  db: Db,
  userId: number,
  id: string,
  now: number,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('expire_time', '>', now)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
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
