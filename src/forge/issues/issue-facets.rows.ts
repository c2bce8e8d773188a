import { type Expression, sql } from 'kysely'
import type { Db } from '../../platform/database/schema.ts'
import { MAX_COUNTED, readingOf, selectIds } from './issue-lists.rows.ts'
import type { IssueSelection } from './issue-selections.rows.ts'

/** The number of values of each facet. */
const MAX_VALUES = 100

/** What can be counted in a list. */
export const FACETS = ['labels', 'milestones', 'assignees', 'states'] as const

export type Facet = (typeof FACETS)[number]

/** A value and the number of conversations that have it. */
export interface FacetCount {
  readonly name: string
  readonly count: number
}

/** Counts the values of a facet in a list, the most frequent ones first. */
export async function countFacet(
  db: Db,
  selection: IssueSelection,
  facet: Facet,
): Promise<FacetCount[]> {
  const ids = selectIds(db, await readingOf(db, selection), MAX_COUNTED)
  const { rows } = await QUERIES[facet](sql`(${ids})`).execute(db)
  return rows
}

const QUERIES: Readonly<
  Record<Facet, (ids: Expression<unknown>) => ReturnType<typeof sql<FacetCount>>>
> = {
  // As lists show them: labels of the repository, and of its present owner.
  labels: (ids) => sql<FacetCount>`
    select labels.name as name, count(*) as count
    from issue_labels
      join labels on labels.id = issue_labels.label_id
      join issues on issues.id = issue_labels.issue_id
      join repositories on repositories.id = issues.repository_id
    where issues.id in ${ids}
      and (labels.repository_id = issues.repository_id
        or labels.organization_id = repositories.owner_id)
    group by labels.name order by count desc, name limit ${MAX_VALUES}`,
  milestones: (ids) => sql<FacetCount>`
    select milestones.title as name, count(*) as count
    from issues join milestones on milestones.id = issues.milestone_id
    where issues.id in ${ids}
    group by milestones.title order by count desc, name limit ${MAX_VALUES}`,
  assignees: (ids) => sql<FacetCount>`
    select users.username as name, count(*) as count
    from issue_assignees join users on users.id = issue_assignees.user_id
    where issue_assignees.issue_id in ${ids}
    group by users.username order by count desc, name limit ${MAX_VALUES}`,
  states: (ids) => sql<FacetCount>`
    select case when issues.state = 'OPEN' then 'open' else 'closed' end as name, count(*) as count
    from issues where issues.id in ${ids}
    group by 1 order by count desc, name`,
}
