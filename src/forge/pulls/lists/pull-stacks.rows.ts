import { sql } from 'kysely'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { PullRequest } from '../schema.ts'

/** A pull request of a stack. */
export type StackedPull = Pick<
  PullRequest,
  'id' | 'number' | 'title' | 'base_branch' | 'head_branch' | 'head_commit'
>

const open = sql.lit('OPEN' as const)

/**
 * Returns an open pull request, the open ones of the same repository below, and those above, at any
 * height, the oldest first. The recursion visits each pull request once and ends at the limit,
 * because anybody may open pull requests between existing branches, also in a circle.
 *
 * @param mainBranch a branch with which a stack ends.
 * @param limit of each direction.
 */
export const listStackOf = prepareQuery(
  (db, repositoryId: number, pullId: number, mainBranch: string, limit: number) =>
    db
      .withRecursive('above(id, branch)', (query) =>
        query
          .selectFrom('issues')
          .select(['issues.id', 'issues.head_branch as branch'])
          .where('issues.id', '=', pullId)
          .where('issues.state', '=', open)
          .where('issues.head_repository_id', '=', repositoryId)
          .where('issues.head_branch', '<>', mainBranch)
          .union(
            query
              .selectFrom('above')
              .innerJoin('issues', 'issues.base_branch', 'above.branch')
              .select(['issues.id', 'issues.head_branch as branch'])
              .where('issues.repository_id', '=', repositoryId)
              .where('issues.state', '=', open)
              .where('issues.head_repository_id', '=', repositoryId)
              .where('issues.head_branch', '<>', mainBranch),
          ),
      )
      .withRecursive('below(id, branch)', (query) =>
        query
          .selectFrom('issues')
          .select(['issues.id', 'issues.base_branch as branch'])
          .where('issues.id', '=', pullId)
          .where('issues.state', '=', open)
          .where('issues.base_branch', '<>', mainBranch)
          .union(
            query
              .selectFrom('below')
              .innerJoin('issues', 'issues.head_branch', 'below.branch')
              .select(['issues.id', 'issues.base_branch as branch'])
              .where('issues.head_repository_id', '=', repositoryId)
              .where('issues.state', '=', open)
              .where('issues.repository_id', '=', repositoryId)
              .where('issues.head_branch', '<>', mainBranch),
          ),
      )
      .selectFrom('issues')
      .select(['id', 'number', 'title', 'base_branch', 'head_branch', 'head_commit'])
      .where(({ eb, or, selectFrom }) =>
        or([
          eb('id', 'in', selectFrom('above').select('above.id').limit(limit)),
          eb('id', 'in', selectFrom('below').select('below.id').limit(limit)),
        ]),
      )
      .orderBy('id'),
)
