import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/schema.ts'
import { conversationsWith, countTexts } from '../conversations/search-texts.rows.ts'
import {
  countIssues,
  MAX_COUNTED,
  type Reading,
  readableKinds,
  selectedAnywhere,
  wordsOf,
} from './issue-lists.rows.ts'

/**
 * Totals of lists with words that many texts have. The texts lead to their conversations, because many
 * conversations of the list may not have the words.
 */

/** The number of texts with the words that are read for a total. */
const MAX_COUNTED_TEXTS = 40_000

/**
 * Counts conversations as `countIssues` does.
 *
 * @param leftOut the number of conversations of the repository that kinds and state leave out. Undefined
 *   for lists with more filters, and for those of several repositories.
 */
export async function countConversations(
  db: Db,
  reading: Reading,
  leftOut?: number,
): Promise<number> {
  const words = wordsOf(reading)
  const isOfWords = words && reading.isCommon && !reading.isNarrow && !reading.filter.number
  if (!isOfWords) return countIssues(db, reading)
  // To read a text of the index costs a tenth of reading the conversation, too.
  if (leftOut !== undefined && leftOut < MAX_COUNTED_TEXTS) {
    const limit = MAX_COUNTED + leftOut + 1
    if ((await countTexts(db, words, limit, 'conversations')) === limit) return MAX_COUNTED + 1
  }
  const own = conversationsWith(words, MAX_COUNTED_TEXTS, 'conversations')
  for (const limit of [MAX_COUNTED + 1, MAX_COUNTED_TEXTS]) {
    const { readable, all } = await countFound(db, reading, sql`${own}`, limit)
    if (readable > MAX_COUNTED) return readable
    if (all < limit) break
  }
  const texts = await countTexts(db, words, MAX_COUNTED_TEXTS + 1)
  if (texts > MAX_COUNTED_TEXTS) return countIssues(db, reading)
  const some = conversationsWith(words, MAX_COUNTED_TEXTS)
  const each = sql`(select distinct texts.id from ${some} as texts)`
  return (await countFound(db, reading, each, MAX_COUNTED_TEXTS)).readable
}

/**
 * Counts those conversations of a list that a query selects. Rights are tested once for all conversations
 * of a repository.
 *
 * @param found selects the ids.
 * @param limit of the conversations that are counted, whether readable or not.
 */
async function countFound(
  db: Db,
  reading: Reading,
  found: RawBuilder<unknown>,
  limit: number,
): Promise<{ readonly readable: number; readonly all: number }> {
  const ofList = sql`select issues.repository_id, issues.is_pull from ${found} as found
    cross join issues where issues.id = found.id and ${selectedAnywhere(reading)} limit ${limit}`
  const ofRepositories = sql`(select repository_id, is_pull, count(*) as count
    from (${ofList}) as found_issues group by repository_id, is_pull)`
  const { rows } = await sql<{ readable: number | null; total: number | null }>`
    select sum(issues.count) as total,
      sum(case when ${readableKinds(reading)} then issues.count else 0 end) as readable
    from ${ofRepositories} as issues`.execute(db)
  return { readable: Number(rows[0]?.readable ?? 0), all: Number(rows[0]?.total ?? 0) }
}
