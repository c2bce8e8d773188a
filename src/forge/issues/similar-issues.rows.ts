import type { Db } from '../../platform/database/schema.ts'
import type { Conversation } from '../conversations/schema.ts'
import { hasWords } from '../conversations/search-texts.rows.ts'

/** Returns the ids of the newest issues of a repository whose title or description has a word. */
export async function issuesWithToken(
  db: Db,
  repositoryId: number,
  token: string,
  limit: number,
): Promise<number[]> {
  const terms = [{ tokens: [token], isPrefix: false }]
  const found = await db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', 0)
    .where((eb) => hasWords(eb, { terms, parts: ['title', 'body'], repositoryId }))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return found.map(({ id }) => id)
}

/** Returns issues by their ids, in any order. */
export function findIssues(db: Db, ids: readonly number[]): Promise<Conversation[]> {
  return db.selectFrom('issues').selectAll().where('id', 'in', ids).execute()
}
