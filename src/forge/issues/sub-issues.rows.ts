import { sql } from 'kysely'
import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'

/** Returns the id of the parent of an issue; undefined for none. */
export async function parentOf(db: Db, issueId: number): Promise<number | undefined> {
  return (await parentsOf(db, [issueId])).get(issueId)
}

/** Returns the ids of the parents of issues, by the id of the issue. */
export async function parentsOf(
  db: Db,
  issueIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const found = await parentsAmong(db, JSON.stringify(issueIds))
  return new Map(found.map(({ issue_id, parent_id }) => [issue_id, parent_id]))
}

const parentsAmong = prepareQuery((db, ids: string) =>
  db
    .selectFrom('sub_issues')
    .select(['issue_id', 'parent_id'])
    .where('issue_id', 'in', numbersOf(ids)),
)

/** The numbers of the sub-issues of an issue that one repository has. */
export interface ChildCount {
  readonly parent_id: number
  readonly repository_id: number
  readonly total: number
  readonly closed: number
}

/** Counts the sub-issues of issues, for each issue and each repository of sub-issues. */
export function countChildren(db: Db, parentIds: readonly number[]): Promise<ChildCount[]> {
  return countsAmong(db, JSON.stringify(parentIds))
}

const countsAmong = prepareQuery((db, ids: string) =>
  db
    .selectFrom('sub_issues')
    .innerJoin('issues', 'issues.id', 'sub_issues.issue_id')
    .select(['sub_issues.parent_id', 'issues.repository_id'])
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      sql<number>`sum(case when issues.state = 'OPEN' then 0 else 1 end)`.as('closed'),
    ])
    .where('sub_issues.parent_id', 'in', numbersOf(ids))
    .groupBy(['sub_issues.parent_id', 'issues.repository_id']),
)

/** Returns the ids of the sub-issues of an issue, by position. */
export async function childrenOf(db: Db, parentId: number): Promise<number[]> {
  const found = await db
    .selectFrom('sub_issues')
    .select('issue_id')
    .where('parent_id', '=', parentId)
    .orderBy('position')
    .execute()
  return found.map(({ issue_id }) => issue_id)
}

/** Returns the ids of an issue, of its parent, and so on. */
export async function lineOf(db: Db, issueId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with recursive line (id) as (
      select cast(${issueId} as bigint)
      union
      select sub_issues.parent_id from sub_issues join line on sub_issues.issue_id = line.id)
    select id from line`.execute(db)
  return rows.map(({ id }) => Number(id))
}

/** Returns the number of levels of sub-issues below an issue. */
export async function heightOf(db: Db, issueId: number): Promise<number> {
  const { rows } = await sql<{ height: number }>`
    with recursive below (id, depth) as (
      select cast(${issueId} as bigint), 0
      union all
      select sub_issues.issue_id, below.depth + 1 from sub_issues
        join below on sub_issues.parent_id = below.id)
    select max(depth) as height from below`.execute(db)
  return Number(rows[0]?.height ?? 0)
}

/** Stores the sub-issues of an issue, in order. Deleted issues have left gaps in the positions. */
export async function storeChildren(
  tx: Tx,
  parentId: number,
  children: readonly number[],
): Promise<void> {
  const stored = await tx
    .selectFrom('sub_issues')
    .select(['issue_id', 'position'])
    .where('parent_id', '=', parentId)
    .execute()
  const positions = new Map(stored.map(({ issue_id, position }) => [issue_id, position]))
  for (const id of positions.keys())
    if (!children.includes(id))
      await tx.deleteFrom('sub_issues').where('issue_id', '=', id).execute()
  for (const [index, id] of children.entries()) {
    const position = index + 1
    const row = { issue_id: id, parent_id: parentId, position }
    if (!positions.has(id)) await tx.insertInto('sub_issues').values(row).execute()
    else if (positions.get(id) !== position)
      await tx.updateTable('sub_issues').set({ position }).where('issue_id', '=', id).execute()
  }
}
