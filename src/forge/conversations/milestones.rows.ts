import { sql } from 'kysely'
import { containsSql } from '../../platform/database/database.ts'
import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Milestone, MilestoneChanges, NewMilestone } from './schema.ts'

/** A filter for milestones. */
export interface MilestoneFilter {
  /** Undefined for all. */
  readonly state: Milestone['state'] | undefined
  /** A substring of the title; empty for all. */
  readonly titlePart: string
}

/**
 * Returns milestones of a repository, sorted by due date, then by title. Milestones without a date
 * are last.
 */
export function listMilestones(
  db: Db,
  repositoryId: number,
  filter: MilestoneFilter,
  offset: number,
  limit: number,
): Promise<Milestone[]> {
  return (
    selectMilestones(db, repositoryId, filter)
      .selectAll()
      // The same expression as in the index.
      .orderBy(sql`(due_time is null)`)
      .orderBy('due_time')
      .orderBy('title')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute()
  )
}

/** Returns the number of milestones in that list. */
export async function countMilestones(
  db: Db,
  repositoryId: number,
  filter: MilestoneFilter,
): Promise<number> {
  const { count } = await selectMilestones(db, repositoryId, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export function findMilestone(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<Milestone | undefined> {
  return db
    .selectFrom('milestones')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Returns milestones by their ids. */
export async function findMilestonesByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Milestone>> {
  if (ids.length === 0) return new Map()
  const found = await milestonesByIds(db, JSON.stringify(ids))
  return new Map(found.map((milestone) => [milestone.id, milestone]))
}

const milestonesByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('milestones').selectAll().where('id', 'in', numbersOf(ids)),
)

/** The conversations of one milestone, kind and state. */
interface MilestoneCount {
  readonly milestone_id: number | null
  readonly is_pull: number
  readonly is_open: number
  readonly count: number
}

/** Counts the conversations of some milestones. Those without conversations are left out. */
export function countByMilestone(db: Db, ids: readonly number[]): Promise<MilestoneCount[]> {
  return db
    .selectFrom('issues')
    .select(({ fn }) => [
      'milestone_id',
      'is_pull',
      sql<number>`cast(state = 'OPEN' as integer)`.as('is_open'),
      fn.countAll<number>().as('count'),
    ])
    .where('milestone_id', 'in', numbersOf(JSON.stringify(ids)))
    .groupBy(['milestone_id', 'is_pull', sql`cast(state = 'OPEN' as integer)`])
    .execute()
}

/** Returns the oldest milestone with a title. */
export function findMilestoneByTitle(
  db: Db,
  repositoryId: number,
  title: string,
): Promise<Milestone | undefined> {
  return db
    .selectFrom('milestones')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('title', '=', title)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

export function insertMilestone(tx: Tx, milestone: NewMilestone): Promise<Milestone> {
  return tx.insertInto('milestones').values(milestone).returningAll().executeTakeFirstOrThrow()
}

/** Updates a milestone. */
export function updateMilestone(tx: Tx, id: number, changes: MilestoneChanges): Promise<Milestone> {
  return tx
    .updateTable('milestones')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a milestone and its dependent rows. */
export async function deleteMilestone(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('milestones').where('id', '=', id).execute()
}

function selectMilestones(db: Db, repositoryId: number, { state, titlePart }: MilestoneFilter) {
  return db
    .selectFrom('milestones')
    .where('repository_id', '=', repositoryId)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'open'))
    .$if(titlePart !== '', (query) => query.where((eb) => containsSql(eb.ref('title'), titlePart)))
}
