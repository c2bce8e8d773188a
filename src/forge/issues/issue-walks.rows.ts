import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db } from '../../platform/database/schema.ts'
import {
  conversationsWith,
  countOwn,
  hasTestedWords,
  type TestedTexts,
  testedTexts,
} from '../conversations/search-texts.rows.ts'
import {
  countIssues,
  type IssuePage,
  isMerged,
  type ListedPage,
  listIssues,
  MAX_COUNTED,
  newestOfRanges,
  pageOf,
  pageOfParts,
  type Reading,
  selectedWithAnyWords,
  wordsOf,
} from './issue-lists.rows.ts'
import { ordered, orderNamed, valuesOf } from './issue-orders.rows.ts'

/**
 * Lists with words that many texts have. To find all of these texts takes longer than a page should, so
 * that the first conversations are read without their words, and their texts are tested.
 */

/** The numbers of conversations that are tested for a first page, and for any page. */
const MIN_TESTED = 500
const MAX_TESTED = 5_000
/** The number of conversations that are tested for each one up to the end of a page. */
const TESTED_FOR_EACH = 4
/** The number of texts with the words that are read for a total. */
const MAX_COUNTED_TEXTS = 40_000

/** Lists conversations as `listIssues` does, and tests the first ones for words that many texts have. */
export async function listConversations(
  db: Db,
  reading: Reading,
  page: IssuePage,
): Promise<ListedPage> {
  return (await pageOfTested(db, reading, page)) ?? listIssues(db, reading, page)
}

/**
 * Counts conversations as `countIssues` does, and first those whose own text has words that many have.
 *
 * @param leftOut the number of conversations of the repository that kinds and state leave out. Undefined
 *   for lists with more filters, and for those of several repositories.
 */
export async function countConversations(
  db: Db,
  reading: Reading,
  leftOut?: number,
): Promise<number> {
  return (await countOwnTexts(db, reading, leftOut)) ?? countIssues(db, reading)
}

/** Returns whether a list is read by time, and its words are tested. */
function isTested(reading: Reading): boolean {
  const isByTime = 'repositoryId' in reading.place || isMerged(reading)
  return reading.isCommon && !reading.isNarrow && isByTime
}

/** Returns undefined if the page needs more conversations than those that were tested. */
async function pageOfTested(
  db: Db,
  reading: Reading,
  { offset, after, limit, sort, firstRepositoryId }: IssuePage,
): Promise<ListedPage | undefined> {
  if (sort !== 'latest' || firstRepositoryId !== undefined || !isTested(reading)) return undefined
  const list = { ...reading, hasAnyWords: true }
  const wanted = Math.max(MIN_TESTED, TESTED_FOR_EACH * (offset + limit))
  const maxTested = Math.min(MAX_TESTED, wanted)
  const newest = isMerged(reading)
    ? newestOfRanges(db, list, maxTested, after)
    : pageOfParts(db, list, { offset: 0, limit: maxTested, sort, after })
  const order = orderNamed(sort)
  const ids = (await newest.execute()).map(({ id }) => id)
  const tested = sql`select issues.id from issues where issues.id in ${numbersOf(JSON.stringify(ids))}`
  const { rows } = await sql<{ id: number }>`select issues.id from issues
    where issues.id in (${tested}) and ${isMeant(reading, await testedTexts(db, tested))}`.execute(
    db,
  )
  const matches = new Set(rows.map(({ id }) => Number(id)))
  const found = ids.filter((id) => matches.has(id))
  if (found.length <= offset + limit && ids.length === maxTested) return undefined
  const shown = numbersOf(JSON.stringify(found.slice(offset, offset + limit + 1)))
  const query = db
    .selectFrom('issues')
    .selectAll('issues')
    .select(valuesOf(order))
    .where('issues.id', 'in', shown)
  return pageOf(await ordered(query, order).execute(), limit, order)
}

/**
 * Counts the conversations of a repository whose titles and descriptions have the words. Each has one
 * such text, so no match counts twice.
 *
 * @returns undefined if a comment may have the words of another one that counts.
 */
async function countOwnTexts(
  db: Db,
  reading: Reading,
  leftOut = MAX_COUNTED_TEXTS,
): Promise<number | undefined> {
  const words = wordsOf(reading)
  const isOfWords = words && reading.isCommon && !reading.isNarrow && !reading.filter.number
  if (!isOfWords || !('repositoryId' in reading.place)) return undefined
  // To read a text of the index costs a tenth of reading the conversation, too.
  if (leftOut < MAX_COUNTED_TEXTS) {
    const limit = MAX_COUNTED + leftOut + 1
    if ((await countOwn(db, words, limit)) === limit) return MAX_COUNTED + 1
  }
  const found = db
    .selectFrom(conversationsWith(words, MAX_COUNTED_TEXTS).as('found'))
    .crossJoin('issues')
    .select('issues.id')
    .whereRef('issues.id', '=', 'found.id')
    .where(() => selectedWithAnyWords(reading))
    .limit(MAX_COUNTED + 1)
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (${found}) as counted_ones`.execute(db)
  const count = Number(rows[0]?.count)
  return count > MAX_COUNTED ? count : undefined
}

/** The condition that a tested conversation has the words or the number of a search. */
function isMeant(reading: Reading, tested: TestedTexts): RawBuilder<SqlBool> {
  const words = wordsOf(reading)
  if (!words) throw new Error('a test needs words')
  const { number } = reading.filter
  const hasWords = hasTestedWords(words, tested)
  return number === undefined
    ? sql<SqlBool>`${hasWords}`
    : sql<SqlBool>`(issues.number = ${number} or ${hasWords})`
}
