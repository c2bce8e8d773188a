import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { repositoryReader } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import { parseQuery } from './parse.ts'
import type { QueryCondition } from './query-conditions.rows.ts'
import { findNames } from './query-names.ts'
import type { Condition, QuerySort } from './schema.ts'

/** Queries of one list, as they apply to a caller. */
export interface ReadQuery {
  /** Undefined for no condition. */
  readonly condition: QueryCondition | undefined
  /** Undefined if no query has an order. */
  readonly sort: QuerySort | undefined
}

/**
 * Reads queries that a conversation must all match. The first order counts.
 *
 * @param repository of a list of one repository.
 * @throws INVALID_ISSUE_QUERY
 */
export async function readQueries(
  app: ReposApp,
  caller: Caller,
  repository: Repository | undefined,
  texts: readonly string[],
): Promise<ReadQuery> {
  const queries = texts.map(parseQuery)
  const sort = queries.find((query) => query.sort)?.sort
  const found = queries.flatMap(({ condition }) => condition ?? [])
  const [first] = found
  if (!first) return { condition: undefined, sort }
  const condition: Condition = found.length === 1 ? first : { kind: 'and', items: found }
  return {
    condition: {
      condition,
      names: await findNames(app, caller, repository, condition),
      reader: repositoryReader(app, caller),
      now: nowSeconds(app.clock),
      draftPrefixes: app.settings.wipPrefixes,
    },
    sort,
  }
}
