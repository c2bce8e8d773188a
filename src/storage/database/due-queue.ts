import type { SelectQueryBuilder } from 'kysely'
import type { Db, Schema } from '../schema/schema.ts'

/** A piece of work that rows say is due, about one thing of one account. */
export interface DuePiece {
  readonly id: number
  readonly ownerId: number
}

/** What is under way already, and whose. */
export interface Busy {
  readonly ids: readonly number[]
  /** Accounts that have all their places taken. */
  readonly ownerIds: readonly number[]
}

/** Work in the order in which it falls due. Times are Unix milliseconds. */
export interface DueQueue {
  /** The piece that has been due longest, but for those that are left out. */
  next(now: number, except: Busy): Promise<DuePiece | undefined>
  /** When the next piece falls due after `now`; undefined when none will. */
  nextTime(now: number): Promise<number | undefined>
}

/**
 * The queue that rows make.
 *
 * @param pieces all of them, with when they are due; null for never. An index has to be on that.
 */
export function dueQueue<Table extends keyof Schema>(
  db: Db,
  pieces: SelectQueryBuilder<Schema, Table, DuePiece & { readonly dueTime: number | null }>,
): DueQueue {
  const queue = db.selectFrom(pieces.as('piece')).orderBy('dueTime').limit(1)
  return {
    next: (now, except) =>
      queue
        .select(['id', 'ownerId'])
        .where('dueTime', '<=', now)
        .$if(except.ids.length > 0, (query) => query.where('id', 'not in', except.ids))
        .$if(except.ownerIds.length > 0, (query) =>
          query.where('ownerId', 'not in', except.ownerIds),
        )
        .executeTakeFirst(),
    async nextTime(now) {
      const row = await queue.select('dueTime').where('dueTime', '>', now).executeTakeFirst()
      return row?.dueTime ?? undefined
    },
  }
}
