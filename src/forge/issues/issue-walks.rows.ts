import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db } from '../../platform/database/schema.ts'
import {
  hasTestedWords,
  type TestedTexts,
  testedTexts,
} from '../conversations/search-texts.rows.ts'
import {
  type IssuePage,
  isMerged,
  type ListedPage,
  listIssues,
  newestOfRanges,
  pageOf,
  pageOfParts,
  type Reading,
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

/** Lists conversations as `listIssues` does, and tests the first ones for words that many texts have. */
export async function listConversations(
  db: Db,
  reading: Reading,
  page: IssuePage,
): Promise<ListedPage> {
  return (await pageOfTested(db, reading, page)) ?? listIssues(db, reading, page)
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
