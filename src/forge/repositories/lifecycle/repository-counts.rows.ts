import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import {
  isHiddenFrom,
  isNearTo,
  isOpenTo,
  type OpenTo,
  type RepositoryReader,
  readableBy,
} from '../access/repository-readers.rows.ts'

/**
 * Returns a query for the number of all repositories that a reader can access. Triggers count the
 * repositories, so the query reads only those of hidden owners and those near to the reader.
 */
export function countReadable(db: Db, reader: RepositoryReader) {
  return db.selectNoFrom(numberOf(db, reader).as('count'))
}

function numberOf(db: Db, reader: RepositoryReader) {
  const { userId, needsSignIn, restricted, publicOnly, administrator } = reader
  if (needsSignIn) return sql<number>`0`
  if (administrator !== 'none') return publicOnly ? openTo(db, 'everybody') : all(db)
  if (userId === undefined) return openTo(db, 'everybody')
  const near = (eb: Repositories) => eb.and([isNearTo(eb, userId), readableBy(reader)(eb)])
  if (restricted) return sql<number>`${counted(db, near)}`
  if (publicOnly) return openTo(db, 'everybody')
  const granted = counted(db, (eb) => eb.and([near(eb), eb.not(isOpenTo(eb, 'accounts'))]))
  return sql<number>`${openTo(db, 'accounts')} + ${granted}`
}

type Repositories = ExpressionBuilder<Schema, 'repositories'>

function counted(db: Db, where: (eb: Repositories) => Expression<SqlBool>) {
  return db
    .selectFrom('repositories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(where)
}

function all(db: Db) {
  return sql<number>`${db.selectFrom('repository_counts').select(sql`cast(sum(count) as bigint)`.as('count'))}`
}

/** The number of the public repositories without those that some readers need a grant for. */
function openTo(db: Db, readers: OpenTo) {
  const open = db.selectFrom('repository_counts').select('count').where('private', '=', sql.lit(0))
  return sql<number>`${open} - ${counted(db, (eb) => isHiddenFrom(eb, readers))}`
}
