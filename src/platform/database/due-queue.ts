import type { SelectQueryBuilder } from 'kysely'
import { numbersOf } from './prepared.ts'
import type { Db, Schema } from './schema.ts'

/** Work that is due, about one resource of one account. */
export interface DuePiece {
  readonly id: number
  readonly ownerId: number
}

/** The work in progress. */
export interface WorkInProgress {
  readonly ids: readonly number[]
  /** Accounts whose limit of concurrent work is reached. */
  readonly ownerIds: readonly number[]
}

/** Work in the order of its due times. Times are Unix milliseconds. */
export interface DueQueue {
  /**
   * Returns the work that has been due longest, in an order without ties and without the exceptions;
   * undefined when none is due.
   */
  next(now: number, except: WorkInProgress): Promise<DuePiece | undefined>
  /** Returns the next due time after `now`; undefined when there is none. */
  nextTime(now: number): Promise<number | undefined>
}

/**
 * Creates a queue from a query.
 *
 * @param pieces all work with due times; null means never. Needs an index on the due time.
 * @param ties the order of work of the same due time, as the index has it.
 */
export function dueQueue<Table extends keyof Schema>(
  db: Db,
  pieces: SelectQueryBuilder<Schema, Table, DuePiece & { readonly dueTime: number | null }>,
  ties: readonly ('id' | 'ownerId')[] = ['id'],
): DueQueue {
  const queue = db.selectFrom(pieces.as('piece')).orderBy('dueTime').limit(1)
  return {
    next: (now, except) =>
      queue
        .select(['id', 'ownerId'])
        // Servers that ask at once get the same piece, whose lock one of them takes.
        .$call((query) => ties.reduce((ordered, key) => ordered.orderBy(key), query))
        .where('dueTime', '<=', now)
        // One parameter, so that lists of all lengths share a prepared statement.
        .$if(except.ids.length > 0, (query) =>
          query.where('id', 'not in', numbersOf(JSON.stringify(except.ids))),
        )
        .$if(except.ownerIds.length > 0, (query) =>
          query.where('ownerId', 'not in', numbersOf(JSON.stringify(except.ownerIds))),
        )
        .executeTakeFirst(),
    async nextTime(now) {
      const row = await queue.select('dueTime').where('dueTime', '>', now).executeTakeFirst()
      return row?.dueTime ?? undefined
    },
  }
}
