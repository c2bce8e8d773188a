import { Kysely } from 'kysely'
import { createExclusive, type Exclusive } from '../../concurrency/exclusive.ts'
import type { Db, Schema } from '../schema/schema.ts'

/** A PostgreSQL database with what its transactions in this process wait for. */
export class PostgresHandle extends Kysely<Schema> {
  readonly exclusive: Exclusive = createExclusive()
}

/**
 * Returns the mutex of the transactions of this process, by key. A handle that a plugin has wrapped
 * has none, since only tests wrap handles.
 */
export function exclusiveOf(db: Db): Exclusive {
  return db instanceof PostgresHandle ? db.exclusive : (_key, work) => work()
}
