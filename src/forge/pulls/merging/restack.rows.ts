import { sql } from 'kysely'
import type { Db } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/**
 * Lists the open pull requests into a branch whose heads are branches of the same repository, oldest
 * first.
 */
export function listOpenInside(
  db: Db,
  repositoryId: number,
  branch: string,
  limit: number,
): Promise<PullRequest[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('base_branch', '=', branch)
    .where('head_repository_id', '=', repositoryId)
    .where('state', '=', sql.lit('OPEN' as const))
    .orderBy('id')
    .limit(limit)
    .execute()
}
