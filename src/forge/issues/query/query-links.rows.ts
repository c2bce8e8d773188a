import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Schema } from '../../../platform/database/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../../repositories/access/repository-readers.rows.ts'
import type { Value } from './schema.ts'

export type Issues = ExpressionBuilder<Schema, 'issues'>

/** The condition that a reader may read another conversation, whose row has that alias. */
export function isReadable(
  eb: Issues,
  reader: RepositoryReader,
  alias: string,
): Expression<SqlBool> {
  const column = (name: string) => sql.ref(`${alias}.${name}`)
  const within = (isPull: 0 | 1) =>
    eb.exists(
      eb
        .selectFrom('repositories')
        .select('repositories.id')
        .where(sql<SqlBool>`repositories.id = ${column('repository_id')}`)
        .where(sql<SqlBool>`${column('is_pull')} = ${sql.lit(isPull)}`)
        .where(isPull === 1 ? 'repositories.has_pull_requests' : 'repositories.has_issues', '=', 1)
        // Pull requests consist of code, so a reader needs both features.
        .$if(isPull === 1, (query) => query.where(readableBy(reader, 'code')))
        .where(readableBy(reader, isPull === 1 ? 'pulls' : 'issues')),
    )
  return eb.or([within(0), within(1)])
}

/** The other side of a dependency or another link. */
interface OtherSide {
  readonly state?: 'open'
  /** A reference to one conversation. */
  readonly named?: Value
  readonly repositories?: ReadonlyMap<string, number>
}

/**
 * The condition that a conversation waits for another one that the reader may read, or that such a
 * one waits for it. Repositories with dependencies switched off have none.
 */
export function waits(
  eb: Issues,
  reader: RepositoryReader,
  side: 'on its own' | 'for it',
  { state, named, repositories }: OtherSide,
): Expression<SqlBool> {
  const [own, others] =
    side === 'on its own'
      ? (['issue_id', 'depends_on_id'] as const)
      : (['depends_on_id', 'issue_id'] as const)
  return eb.exists(
    eb
      .selectFrom('issue_dependencies')
      .innerJoin('issues as other', 'other.id', `issue_dependencies.${others}`)
      .select('other.id')
      .whereRef(`issue_dependencies.${own}`, '=', 'issues.id')
      .where(
        sql<SqlBool>`exists (select 1 from repositories as waiting_in
          where waiting_in.id = ${sql.ref(side === 'on its own' ? 'issues.repository_id' : 'other.repository_id')}
          and waiting_in.has_dependencies = 1)`,
      )
      .$if(state === 'open', (query) => query.where('other.state', '=', 'OPEN'))
      .$if(named !== undefined, (query) => query.where(() => isNamed('other', named, repositories)))
      .where(() => isReadable(eb, reader, 'other')),
  )
}

/**
 * The condition that a conversation has a parent, a child, or another conversation that it repeats,
 * and that the reader may read the other one.
 */
export function isLinked(
  eb: Issues,
  reader: RepositoryReader,
  link: 'parent' | 'children' | 'duplicate',
  { named, repositories }: Pick<OtherSide, 'named' | 'repositories'>,
): Expression<SqlBool> {
  const ids = {
    parent: sql`(select sub_issues.parent_id from sub_issues where sub_issues.issue_id = issues.id)`,
    children: sql`(select sub_issues.issue_id from sub_issues where sub_issues.parent_id = issues.id)`,
    duplicate: sql`(issues.duplicate_of_id)`,
  }
  return eb.exists(
    eb
      .selectFrom('issues as other')
      .select('other.id')
      .where(sql<SqlBool>`other.id in ${ids[link]}`)
      .$if(named !== undefined, (query) => query.where(() => isNamed('other', named, repositories)))
      .where(() => isReadable(eb, reader, 'other')),
  )
}

/** The condition that the row with an alias is the conversation that a value names. */
function isNamed(
  alias: string,
  value: Value | undefined,
  repositories: ReadonlyMap<string, number> | undefined,
): Expression<SqlBool> {
  if (value?.kind !== 'conversation') return sql<SqlBool>`false`
  const { owner, repo, number } = value
  const id =
    owner === undefined || repo === undefined
      ? sql.ref('issues.repository_id')
      : sql`${repositories?.get(`${owner}/${repo}`.toLowerCase()) ?? 0}`
  return sql<SqlBool>`(${sql.ref(`${alias}.number`)} = ${number}
    and ${sql.ref(`${alias}.repository_id`)} = ${id})`
}
