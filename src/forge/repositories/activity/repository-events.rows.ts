import type { Insertable } from 'kysely'
import { commitInOrder } from '../../../platform/database/commit-order.ts'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { RepositoryEvent, RepositoryEventLog, RepositoryEventsTable } from '../schema.ts'

/** A filter for events: the types that a reader wants, and the audiences that the reader is in. */
interface RepositoryEventFilter {
  /** Undefined for all. */
  readonly types: readonly RepositoryEvent['type'][] | undefined
  readonly audiences: readonly RepositoryEvent['audience'][]
  /** The id of what the events are about; undefined for all. */
  readonly subjectId?: number
}

/** @returns the id of the event, and the number of stored events of its repository */
export async function insertRepositoryEvent(
  tx: Tx,
  event: Insertable<RepositoryEventsTable>,
): Promise<{ id: number; count: number }> {
  await commitInOrder(tx, 'repository_events')
  const { id } = await tx
    .insertInto('repository_events')
    .values(event)
    .returning('id')
    .executeTakeFirstOrThrow()
  const { count } = await tx
    .insertInto('repository_event_logs')
    .values({ repository_id: event.repository_id, newest: id, floor: 0, count: 1 })
    .onConflict((conflict) =>
      conflict
        .column('repository_id')
        .doUpdateSet((eb) => ({ newest: id, count: eb('repository_event_logs.count', '+', 1) })),
    )
    .returning('count')
    .executeTakeFirstOrThrow()
  return { id, count }
}

/** Returns the event log of a repository. A repository without events has an empty log. */
export async function findRepositoryEventLog(
  db: Db,
  repositoryId: number,
): Promise<RepositoryEventLog> {
  const log = await db
    .selectFrom('repository_event_logs')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
  return log ?? { repository_id: repositoryId, newest: 0, floor: 0, count: 0 }
}

/**
 * Returns the log of a repository and its events with ids above `after`, in order, in one snapshot.
 */
export async function listRepositoryEvents(
  db: Db,
  repositoryId: number,
  after: number,
  { types, audiences, subjectId }: RepositoryEventFilter,
  limit: number,
): Promise<{ log: Pick<RepositoryEventLog, 'newest' | 'floor'>; events: RepositoryEvent[] }> {
  // One statement reads the log and the events, so that no event is added or pruned in between.
  const rows = await db
    .selectFrom('repository_event_logs as log')
    .leftJoin('repository_events as event', (join) => {
      const behind = join
        .onRef('event.repository_id', '=', 'log.repository_id')
        .on('event.id', '>', after)
        .on('event.audience', 'in', audiences)
      const typed = types ? behind.on('event.type', 'in', types) : behind
      return subjectId === undefined ? typed : typed.on('event.subject_id', '=', subjectId)
    })
    .select(['log.newest', 'log.floor'])
    .select([
      'event.id',
      'event.type',
      'event.audience',
      'event.actor_id',
      'event.subject_id',
      'event.subject',
    ])
    .select('event.time')
    .where('log.repository_id', '=', repositoryId)
    .orderBy('event.id')
    .limit(limit)
    .execute()
  const events = rows.flatMap(({ id, type, audience, actor_id, subject_id, subject, time }) =>
    id === null || type === null || audience === null || subject === null || time === null
      ? []
      : [{ id, repository_id: repositoryId, type, audience, actor_id, subject_id, subject, time }],
  )
  return { log: rows[0] ?? { newest: 0, floor: 0 }, events }
}

/** Returns the newest events of a repository, latest first. */
export function listNewestRepositoryEvents(
  db: Db,
  repositoryId: number,
  types: readonly RepositoryEvent['type'][],
  audiences: readonly RepositoryEvent['audience'][],
  limit: number,
): Promise<RepositoryEvent[]> {
  return db
    .selectFrom('repository_events')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('type', 'in', types)
    .where('audience', 'in', audiences)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

const repositoriesWithEvents = prepareQuery((db, after: number) =>
  db
    .selectFrom('repository_events')
    .select(['repository_id', ({ fn }) => fn.max('id').as('newest')])
    .where('id', '>', after)
    .groupBy('repository_id'),
)

/** Returns the repositories with events after an id, each with the id of its latest event. */
export function findRepositoriesWithEvents(
  db: Db,
  after: number,
): Promise<{ repository_id: number; newest: number }[]> {
  return repositoriesWithEvents(db, after)
}

/** Returns the highest event id of all repositories; 0 without events. */
export async function findNewestRepositoryEventId(db: Db): Promise<number> {
  const row = await db
    .selectFrom('repository_events')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? 0
}

/** Returns the oldest events of one or all repositories, in order. */
export function listOldestRepositoryEvents(
  tx: Tx,
  repositoryId: number | undefined,
  limit: number,
): Promise<Pick<RepositoryEvent, 'id' | 'repository_id' | 'time'>[]> {
  return tx
    .selectFrom('repository_events')
    .select(['id', 'repository_id', 'time'])
    .$if(repositoryId !== undefined, (query) =>
      query.where('repository_id', '=', repositoryId ?? 0),
    )
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Deletes events, which must be the oldest of their repositories, in order. */
export async function deleteRepositoryEvents(
  tx: Tx,
  events: readonly Pick<RepositoryEvent, 'id' | 'repository_id'>[],
): Promise<void> {
  const forgotten = new Map<number, { floor: number; count: number }>()
  for (const { id, repository_id } of events) {
    forgotten.set(repository_id, {
      floor: id,
      count: (forgotten.get(repository_id)?.count ?? 0) + 1,
    })
  }
  for (const [repositoryId, { floor, count }] of forgotten) {
    await tx
      .deleteFrom('repository_events')
      .where('repository_id', '=', repositoryId)
      .where('id', '<=', floor)
      .execute()
    await tx
      .updateTable('repository_event_logs')
      .set((eb) => ({ floor, count: eb('count', '-', count) }))
      .where('repository_id', '=', repositoryId)
      .execute()
  }
}
