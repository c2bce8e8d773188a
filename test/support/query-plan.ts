import { CompiledQuery, type Kysely, sql } from 'kysely'
import { TestRunner } from 'vitest'
import { isPostgres } from '../../src/platform/database/dialects/dialects.ts'
import type { Db, Schema } from '../../src/platform/database/schema.ts'

type Query = Pick<CompiledQuery, 'sql' | 'parameters'>

/** Returns the number of queries of some work. */
export async function countQueries(
  db: Db,
  work: (watched: Db) => Promise<unknown>,
): Promise<number> {
  return (await watchQueries(db, work)).length
}

/**
 * Returns how SQLite executes each query of some work, step by step. The database has to be one in
 * memory.
 *
 * PostgreSQL has other steps, which depend on statistics. There, this function checks that each
 * table can be read by an index, and skips the rest of the test.
 *
 * @param options `scanned` are tables that have no index for the work.
 */
export async function plansOf(
  db: Db,
  work: (watched: Db) => Promise<unknown>,
  { scanned = [] }: { scanned?: readonly string[] } = {},
): Promise<string[][]> {
  const queries = await watchQueries(db, work)
  if (isPostgres(db)) await checkIndexes(db, queries, scanned)
  return explain(db, 'explain query plan', queries)
}

async function watchQueries(db: Db, work: (watched: Db) => Promise<unknown>): Promise<Query[]> {
  const queries: Query[] = []
  const built = new Map<unknown, CompiledQuery>()
  const watched = db.withPlugin({
    transformQuery({ node, queryId }) {
      built.set(queryId, db.getExecutor().compileQuery(node, queryId))
      return node
    },
    async transformResult({ result, queryId }) {
      // Parts of a query are built too, and are not run.
      const query = built.get(queryId)
      if (query) queries.push(query)
      return result
    },
  })
  // Prepared queries come compiled, past the plugin.
  watched.executeQuery = (query) => {
    if ('sql' in query) queries.push(query)
    return db.executeQuery(query)
  }
  await work(watched)
  return queries
}

async function explain(
  db: Kysely<Schema>,
  command: string,
  queries: readonly Query[],
): Promise<string[][]> {
  const plans: string[][] = []
  for (const query of queries) {
    const explained = CompiledQuery.raw(`${command} ${query.sql}`, [...query.parameters])
    const { rows } = await db.executeQuery<{ detail?: string; 'QUERY PLAN'?: string }>(explained)
    plans.push(rows.map((row) => row.detail ?? row['QUERY PLAN'] ?? ''))
  }
  return plans
}

/**
 * Checks that PostgreSQL reads a whole table only where there is no other way
 * (https://www.postgresql.org/docs/15/runtime-config-query.html#GUC-ENABLE-SEQSCAN). Tables of a few
 * rows are faster to read as a whole.
 */
async function checkIndexes(
  db: Db,
  queries: readonly Query[],
  scanned: readonly string[],
): Promise<void> {
  const steps = (tx: Kysely<Schema>) =>
    sql`set local enable_seqscan = off`
      .execute(tx)
      .then(() => explain(tx, 'explain (costs off)', queries))
  const plans = await (db.isTransaction ? steps(db) : db.transaction().execute(steps))
  const scans = plans.flat().flatMap((step) => /Seq Scan on (\w+)/.exec(step)?.[1] ?? [])
  const unexpected = scans.filter((table) => !scanned.includes(table))
  if (unexpected.length > 0) {
    throw new Error(`no index serves ${unexpected.join()}:\n${plans.flat().join('\n')}`)
  }
  TestRunner.getCurrentTest()?.context.skip('indexes are usable; the steps are those of SQLite')
}
