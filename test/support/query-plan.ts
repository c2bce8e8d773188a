import { CompiledQuery } from 'kysely'
import type { Db } from '../../src/storage/schema/schema.ts'

/**
 * How SQLite goes about each query of some work, step by step. The database has to be one in
 * memory.
 */
export async function plansOf(
  db: Db,
  work: (watched: Db) => Promise<unknown>,
): Promise<string[][]> {
  const queries: Pick<CompiledQuery, 'sql' | 'parameters'>[] = []
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
  const plans: string[][] = []
  for (const { sql, parameters } of queries) {
    const explain = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
    plans.push(
      (await db.executeQuery<{ detail: string }>(explain)).rows.map(({ detail }) => detail),
    )
  }
  return plans
}
