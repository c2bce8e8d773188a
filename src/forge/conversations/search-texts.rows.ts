import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import {
  countFound,
  type Ends,
  findConversations,
  isFound,
  isFoundWithin,
  listFound,
  type SearchTerm,
  type TextSearch,
  writeIndexedText,
} from '../../platform/database/dialects/text-index.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from './schema.ts'

/** A part of a conversation that has a text. */
export type TextPart = 'title' | 'body' | 'comments'

/** Words that a conversation is searched for. */
export interface SearchedWords {
  /** All of them must be in one and the same text. At least one, each with at least one token. */
  readonly terms: readonly SearchTerm[]
  /** Where they may be: title and description are one text, and each comment is one. */
  readonly parts: readonly TextPart[]
  /** The repository of a list; undefined for all repositories. */
  readonly repositoryId: number | undefined
}

/**
 * Returns the condition that a conversation has some words. The condition knows no rights: the query
 * needs the conditions of its reader besides.
 *
 * @param isCommon whether `listRare` finds too many.
 */
export function hasWords(
  eb: ExpressionBuilder<Schema, 'issues'>,
  { terms, parts, repositoryId }: SearchedWords,
  isCommon = false,
): Expression<SqlBool> {
  const has = (part: TextPart) => parts.includes(part)
  // With an operator, SQLite reads an index in the order of the list and tests each row.
  const id = isCommon ? sql<number>`(issues.id + 0)` : eb.ref('issues.id')
  const found = (column: TextSearch['column'], of: TextSearch['of']) =>
    isFound(id, { terms, column, of, repositoryId })
  if (has('title') && has('body') && has('comments')) return found(undefined, undefined)
  const ofConversation = has('title')
    ? [found(has('body') ? undefined : 'title', 'conversations')]
    : has('body')
      ? [found('body', 'conversations')]
      : []
  return eb.or([...ofConversation, ...(has('comments') ? [found(undefined, 'comments')] : [])])
}

/** The number of texts that a query reads one by one, whatever their order. */
const MAX_RARE = 1_000

/**
 * Finds the conversations that have some words. A query with their ids needs no guess of a database how
 * many texts have the words.
 *
 * @returns undefined if so many texts have the words that a query had better read by time.
 */
export async function listRare(
  db: Db,
  { terms, repositoryId }: SearchedWords,
): Promise<number[] | undefined> {
  const search = { terms, repositoryId, column: undefined, of: undefined }
  const found = await listFound(db, search, MAX_RARE + 1)
  return found.length > MAX_RARE ? undefined : [...new Set(found)]
}

/** Counts the texts with some words up to a limit. @param of undefined for all texts. */
export function countTexts(
  db: Db,
  { terms, repositoryId }: SearchedWords,
  limit: number,
  of?: TextSearch['of'],
): Promise<number> {
  return countFound(db, { terms, repositoryId, column: undefined, of }, limit)
}

/**
 * Selects the ids of the conversations of some texts with some words. Each conversation has one text of its
 * own, title and description, and any number of comments.
 */
export function conversationsWith(
  { terms, repositoryId }: SearchedWords,
  limit: number,
  of?: TextSearch['of'],
) {
  return findConversations({ terms, repositoryId, column: undefined, of }, limit)
}

/** Conversations whose texts a query tests. */
export interface TestedTexts {
  /** Number of the conversations. */
  readonly count: number
  readonly conversations: Ends
  /** Undefined if the conversations have no comments. */
  readonly comments: Ends | undefined
}

/** Finds where the texts of some conversations are. @param ids selects the ids of the conversations. */
export async function testedTexts(db: Db, ids: RawBuilder<unknown>): Promise<TestedTexts> {
  const { rows } = await sql<
    Record<'count' | 'first' | 'last' | 'first_comment' | 'last_comment', number | null>
  >`
    with tested (id) as materialized (${ids})
    select count(*) as count, min(tested.id) as first, max(tested.id) as last,
      (select min(issue_comments.id) from issue_comments where issue_id in (select id from tested)) as first_comment,
      (select max(issue_comments.id) from issue_comments where issue_id in (select id from tested)) as last_comment
    from tested`.execute(db)
  const [row] = rows
  const ends = (first?: number | null, last?: number | null) => ({
    first: Number(first ?? 0),
    last: Number(last ?? 0),
  })
  return {
    count: Number(row?.count ?? 0),
    conversations: ends(row?.first, row?.last),
    comments: row?.first_comment ? ends(row.first_comment, row.last_comment) : undefined,
  }
}

/** Returns the condition that one of the tested conversations has some words in any of its texts. */
export function hasTestedWords(
  { terms, repositoryId }: SearchedWords,
  tested: TestedTexts,
): Expression<SqlBool> {
  return isFoundWithin(sql.ref<number>('issues.id'), { terms, repositoryId }, tested)
}

/** A text that is stored: title and description of a conversation, or a comment. */
interface StoredText {
  readonly conversation: Pick<Conversation, 'id' | 'repository_id'>
  readonly commentId?: number | undefined
  /** Comments have none. */
  readonly title?: string | undefined
  readonly body: string
}

/** Makes a text findable by its present words, and no longer by its former ones. */
export async function writeSearchText(
  tx: Tx,
  { conversation, commentId, title = '', body }: StoredText,
): Promise<void> {
  const { id: issueId, repository_id: repositoryId } = conversation
  const id = commentId === undefined ? issueId * 2 : commentId * 2 + 1
  await writeIndexedText(tx, { id, issueId, repositoryId, title, body })
}
