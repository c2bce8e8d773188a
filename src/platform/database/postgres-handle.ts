import { Kysely } from 'kysely'
import { createExclusive, type Exclusive } from '../concurrency/exclusive.ts'
import { createPrecedence, type Precedence } from '../concurrency/precedence.ts'
import type { Db, Schema } from './schema.ts'

/** The longest time for which a transaction waits for another one that has failed several times. */
const MAX_GIVE_WAY_MS = 500

/** A PostgreSQL database with what its transactions in this process wait for. */
export class PostgresHandle extends Kysely<Schema> {
  readonly exclusive: Exclusive = createExclusive()
  readonly precedence: Precedence = createPrecedence(MAX_GIVE_WAY_MS)
}

/**
 * Returns the mutex of the transactions of this process, by key. A handle that a plugin has wrapped
 * has none, since only tests wrap handles.
 */
export function exclusiveOf(db: Db): Exclusive {
  return db instanceof PostgresHandle ? db.exclusive : (_key, work) => work()
}

/** Returns the precedence of the transactions of this process. A wrapped handle has none. */
export function precedenceOf(db: Db): Precedence {
  return db instanceof PostgresHandle
    ? db.precedence
    : { giveWay: async () => {}, take: (work) => work() }
}
