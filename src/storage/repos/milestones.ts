import { sql } from 'kysely'
import { containsSql } from '../database/database.ts'
import type { Milestone, MilestoneChanges, NewMilestone } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** Which milestones to list. */
export interface MilestoneFilter {
  /** Undefined for both. */
  readonly state: Milestone['state'] | undefined
  /** Part of the title; empty for all. */
  readonly titlePart: string
}

/** Milestones of a repository: by when they are due, those without a date last; then by title. */
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
      // The words of the index.
      .orderBy(sql`due_time is null`)
      .orderBy('due_time')
      .orderBy('title')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute()
  )
}

/** How many there are in that list. */
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

/** The milestones with these numbers, by number. */
export async function findMilestonesByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Milestone>> {
  if (ids.length === 0) return new Map()
  const found = await db.selectFrom('milestones').selectAll().where('id', 'in', ids).execute()
  return new Map(found.map((milestone) => [milestone.id, milestone]))
}

/** The milestone of a title; the oldest one when there are several. */
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

/** Changes a milestone that exists. */
export function updateMilestone(tx: Tx, id: number, changes: MilestoneChanges): Promise<Milestone> {
  return tx
    .updateTable('milestones')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a milestone with every row that hangs off it. */
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
