import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/schema.ts'

/** Columns of a table that repeat what another row says, so that an index has both. */
interface Repetition {
  readonly table: string
  /** The column by which a row of the table is found. */
  readonly key: string
  /** The values that the columns repeat. */
  readonly columns: Readonly<Record<string, RawBuilder<unknown>>>
  /** The table with these values, and how a row of it is found. */
  readonly source: string
  readonly isSource: RawBuilder<unknown>
}

/** A key whose rows repeat other values than their source has. */
interface WrongRepetition {
  readonly table: string
  readonly key: string
  /** Corrects the rows. */
  repair(): Promise<void>
}

const ofConversation = (table: string): Repetition => ({
  table,
  key: 'issue_id',
  columns: {
    repository_id: sql`source.repository_id`,
    is_pull: sql`source.is_pull`,
    is_open: sql`cast(source.state = 'OPEN' as integer)`,
    create_time: sql`source.create_time`,
  },
  source: 'issues',
  isSource: sql`source.id = ${sql.table(table)}.issue_id`,
})

/** The repeated columns that lists and searches of issues rely on. */
const REPETITIONS: readonly Repetition[] = [
  ofConversation('issue_labels'),
  ofConversation('issue_assignees'),
  {
    table: 'issues',
    key: 'id',
    columns: { is_public: sql`1 - source.private` },
    source: 'repositories',
    isSource: sql`source.id = issues.repository_id`,
  },
]

/** The maximum number of keys of a table that are reported at a time. */
const MAX_WRONG = 100

/** Compares repeated columns with what they repeat. */
export async function* wrongRepetitions(db: Db): AsyncGenerator<WrongRepetition> {
  for (const { table, key, columns, source, isSource } of REPETITIONS) {
    const differs = Object.entries(columns).map(
      ([column, value]) => sql`${sql.ref(`${table}.${column}`)} <> ${value}`,
    )
    const from = sql`${sql.table(source)} as source`
    const { rows } = await sql<{ key: number }>`
      select distinct ${sql.ref(`${table}.${key}`)} as key from ${sql.table(table)}
      inner join ${from} on ${isSource} where ${sql.join(differs, sql` or `)} limit ${MAX_WRONG}`.execute(
      db,
    )
    const repeated = Object.entries(columns).map(
      ([column, value]) =>
        sql`${sql.ref(column)} = (select ${value} from ${from} where ${isSource})`,
    )
    for (const row of rows)
      yield {
        table,
        key: String(row.key),
        async repair() {
          await sql`update ${sql.table(table)} set ${sql.join(repeated)}
            where ${sql.ref(key)} = ${row.key}`.execute(db)
        },
      }
  }
}
