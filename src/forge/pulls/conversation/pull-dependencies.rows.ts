import { sql } from 'kysely'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/**
 * Lists the pull requests that a pull request depends on: those of its repository first, then by
 * repository and number.
 */
export function listDependencies(
  db: Db,
  { id, repository_id }: Pick<PullRequest, 'id' | 'repository_id'>,
  offset: number,
  limit: number,
): Promise<PullRequest[]> {
  return selectDependencies(db, id)
    .selectAll('pull_requests')
    .orderBy(sql`case when pull_requests.repository_id = ${repository_id} then 0 else 1 end`)
    .orderBy('pull_requests.repository_id')
    .orderBy('pull_requests.number')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of comments in that list. */
export async function countDependencies(db: Db, pullId: number): Promise<number> {
  const { count } = await selectDependencies(db, pullId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns whether a pull request depends on an open one. */
export async function isBlocked(db: Db, pullId: number): Promise<boolean> {
  const open = await selectDependencies(db, pullId)
    .select('pull_requests.id')
    .where(sql<boolean>`pull_requests.state = 'OPEN'`)
    .limit(1)
    .executeTakeFirst()
  return open !== undefined
}

function selectDependencies(db: Db, pullId: number) {
  return db
    .selectFrom('pull_dependencies')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_dependencies.depends_on_id')
    .where('pull_dependencies.pull_request_id', '=', pullId)
}

export async function dependsOn(db: Db, pullId: number, otherId: number): Promise<boolean> {
  const found = await db
    .selectFrom('pull_dependencies')
    .select('depends_on_id')
    .where('pull_request_id', '=', pullId)
    .where('depends_on_id', '=', otherId)
    .executeTakeFirst()
  return found !== undefined
}

/** @throws a foreign key violation if one of the users was deleted. */
export async function insertDependency(tx: Tx, pullId: number, dependsOnId: number): Promise<void> {
  await tx
    .insertInto('pull_dependencies')
    .values({ pull_request_id: pullId, depends_on_id: dependsOnId })
    .execute()
}

export async function deleteDependency(tx: Tx, pullId: number, dependsOnId: number): Promise<void> {
  await tx
    .deleteFrom('pull_dependencies')
    .where('pull_request_id', '=', pullId)
    .where('depends_on_id', '=', dependsOnId)
    .execute()
}
