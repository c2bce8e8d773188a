import { type Expression, type SqlBool, sql } from 'kysely'
import type { Db, Tx } from '../schema.ts'
import { tokensOf } from '../text-tokens.ts'
import { either, isPostgres } from './dialects.ts'

/**
 * The index of the texts of conversations. The id of a text is twice the id of its conversation, or
 * twice the id of its comment and 1. So neither database needs a table from texts to ids.
 *
 * SQLite: an FTS5 table without the texts. PostgreSQL: vectors of our tokens, in a GIN index, without
 * a text search configuration.
 */
export interface IndexedText {
  readonly id: number
  readonly issueId: number
  readonly repositoryId: number
  readonly title: string
  readonly body: string
}

/**
 * The maximum number of tokens of a text that are found, their maximum size, and the maximum number of
 * places of one token: limits of the vectors of PostgreSQL
 * (https://www.postgresql.org/docs/15/textsearch-limits.html).
 */
const MAX_TOKENS = 16_000
const MAX_BYTES = 512 * 1024
const MAX_PLACES = 255
/** Takes the place of a token that has too many places. No search has this token. */
const UNFOUND = '·'

export async function createTextIndex(tx: Tx): Promise<void> {
  if (!isPostgres(tx)) {
    await sql`create virtual table search_index using fts5(facets, title, body,
      content = '', contentless_delete = 1, tokenize = 'ascii')`.execute(tx)
    return
  }
  await sql`create table search_texts (id bigint primary key, issue_id bigint not null,
    repository_id bigint not null, tokens tsvector not null)`.execute(tx)
  await sql`create index search_texts_tokens on search_texts using gin (tokens)`.execute(tx)
}

/** Creates the list of the words of the index. PostgreSQL needs none. */
export async function createTextWords(tx: Tx): Promise<void> {
  if (isPostgres(tx)) return
  await sql`create virtual table search_words using fts5vocab(search_index, row)`.execute(tx)
}

export async function dropTextWords(tx: Tx): Promise<void> {
  if (!isPostgres(tx)) await sql`drop table search_words`.execute(tx)
}

export async function dropTextIndex(tx: Tx): Promise<void> {
  await sql`drop table ${tableOf(tx)}`.execute(tx)
}

/** Writes a text to the index, in place of its former words. */
export async function writeIndexedText(tx: Tx, text: IndexedText): Promise<void> {
  const { title, body } = limited(tokensOf(text.title), tokensOf(text.body))
  if (isPostgres(tx)) {
    await sql`insert into search_texts (id, issue_id, repository_id, tokens)
      values (${text.id}, ${text.issueId}, ${text.repositoryId}, ${vectorOf(title, body)}::tsvector)
      on conflict (id) do update
        set tokens = excluded.tokens, repository_id = excluded.repository_id`.execute(tx)
    return
  }
  await sql`delete from search_index where rowid = ${text.id}`.execute(tx)
  await sql`insert into search_index (rowid, facets, title, body)
    values (${text.id}, ${facetOf(text.repositoryId)}, ${title.join(' ')}, ${body.join(' ')})`.execute(
    tx,
  )
}

/** Removes all texts from the index. */
export async function clearTextIndex(tx: Tx): Promise<void> {
  await (isPostgres(tx)
    ? sql`truncate search_texts`
    : sql`insert into search_index (search_index) values ('delete-all')`
  ).execute(tx)
}

/** Returns the number of texts in the index. */
export async function countIndexedTexts(db: Db): Promise<number> {
  const { rows } = await (isPostgres(db)
    ? sql<{ count: number }>`select count(*) as count from search_texts`
    : sql<{ count: number }>`select count(*) as count from search_index_docsize`
  ).execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Words that follow each other. */
export interface SearchTerm {
  /** At least one. */
  readonly tokens: readonly string[]
  /** Whether the last token may be the beginning of a word. */
  readonly isPrefix: boolean
  /** The words of the index that begin with the last token, if these are known. */
  readonly words?: readonly string[] | undefined
}

/** What texts are searched for. */
export interface TextSearch {
  /** All of them are in one and the same text. At least one. */
  readonly terms: readonly SearchTerm[]
  readonly column: 'title' | 'body' | undefined
  readonly of: 'conversations' | 'comments' | undefined
  /** Undefined for all repositories. */
  readonly repositoryId: number | undefined
}

/** The number of words with the same beginning that a search names one by one. */
const MAX_NAMED_WORDS = 16
const LAST_CHARACTER = '\u{10FFFF}'

/**
 * Finds the words of beginnings. For a beginning, FTS5 merges the texts of all words at the start of each
 * query, so that even one match costs as much as all (https://www.sqlite.org/fts5.html, section 4.1). The
 * texts of named words are read one by one. PostgreSQL has no such cost.
 *
 * @returns the terms, with their words where these are few.
 */
export async function withWords(db: Db, terms: readonly SearchTerm[]): Promise<SearchTerm[]> {
  if (isPostgres(db)) return [...terms]
  return Promise.all(
    terms.map(async (term) => ({
      ...term,
      words: term.isPrefix ? await wordsOf(db, term.tokens.at(-1) ?? '') : undefined,
    })),
  )
}

/** Returns a token and the longer words that begin with it; undefined if there are many. */
async function wordsOf(db: Db, token: string): Promise<string[] | undefined> {
  // The list counts the texts of each word that it returns, so the token itself is not asked for.
  const { rows } = await sql<{ term: string }>`select term from search_words
    where term >= ${`${token}\u{1}`} and term <= ${token + LAST_CHARACTER}
    limit ${MAX_NAMED_WORDS}`.execute(db)
  return rows.length < MAX_NAMED_WORDS ? [token, ...rows.map(({ term }) => term)] : undefined
}

/** The conversation of a text of SQLite. */
const CONVERSATION = sql`case when search_index.rowid & 1
  then (select issue_id from issue_comments where issue_comments.id = search_index.rowid >> 1)
  else search_index.rowid >> 1 end`

/** Returns the condition that an id is one of a conversation with such a text. */
export function isFound(id: Expression<number>, search: TextSearch): Expression<SqlBool> {
  const found = fromIndex(search)
  return either<SqlBool>({
    sqlite: sql`${id} in (select ${CONVERSATION} ${found})`,
    postgres: sql`${id} in (select search_texts.issue_id ${found})`,
  })
}

/**
 * Selects the ids of the conversations of the texts that a search finds, at most a number of texts. The
 * id of a conversation of several texts comes several times.
 */
export function findConversations(search: TextSearch, limit: number) {
  const found = fromIndex(search)
  const id = search.of === 'conversations' ? sql`search_index.rowid >> 1` : CONVERSATION
  return either<{ id: number }>({
    sqlite: sql`(select ${id} as id ${found} limit ${limit})`,
    postgres: sql`(select search_texts.issue_id as id ${found} limit ${limit})`,
  })
}

/** Returns the conversations of the texts that a search finds, at most a number of texts. */
export async function listFound(db: Db, search: TextSearch, limit: number): Promise<number[]> {
  const found = fromIndex(search)
  const { rows } = await (isPostgres(db)
    ? sql<{ id: number }>`select search_texts.issue_id as id ${found} limit ${limit}`
    : sql<{ id: number }>`select ${CONVERSATION} as id ${found} limit ${limit}`
  ).execute(db)
  return rows.map(({ id }) => Number(id))
}

/** The lowest and the highest id of conversations or of comments. */
export interface Ends {
  readonly first: number
  readonly last: number
}

/**
 * Returns the condition that an id is one of a conversation with such a text, for a query that tests some
 * conversations. SQLite reads the matches between the ends of their texts, and PostgreSQL the texts.
 *
 * @param comments undefined for no comments.
 */
export function isFoundWithin(
  id: Expression<number>,
  search: Omit<TextSearch, 'of' | 'column'>,
  {
    conversations,
    comments,
  }: { readonly conversations: Ends; readonly comments: Ends | undefined },
): Expression<SqlBool> {
  const found = fromIndex({ ...search, column: undefined, of: undefined })
  const between = (
    { first, last }: Ends,
    parity: 0 | 1,
  ) => sql`select search_index.rowid >> 1 ${found}
    and search_index.rowid between ${integer(first * 2)} and ${integer(last * 2 + 1)}
    and search_index.rowid & 1 = ${sql.lit(parity)}`
  const query = tsqueryOfAll(search.terms, '')
  // With a function, PostgreSQL does not read the index of all words.
  const matches = sql`coalesce(search_texts.tokens, ''::tsvector) @@ ${query}::tsquery`
  const ofComment = sql`from issue_comments where issue_comments.issue_id = ${id}`
  return either<SqlBool>({
    // With an operator, SQLite does not begin with the matches.
    sqlite: sql`((${id} + 0) in (${between(conversations, 0)}) ${
      comments
        ? sql`or exists (select 1 ${ofComment} and (issue_comments.id + 0) in (${between(comments, 1)}))`
        : sql``
    })`,
    postgres: sql`(exists (select 1 from search_texts where search_texts.id = ${id} * 2 and ${matches})
      or exists (select 1 ${ofComment} and exists (select 1 from search_texts
        where search_texts.id = issue_comments.id * 2 + 1 and ${matches})))`,
  })
}

/** Returns the number of texts that a search finds, or a limit if there are more. */
export async function countFound(db: Db, search: TextSearch, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from
    (select 1 ${fromIndex(search)} limit ${limit}) as found`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** The end of a query for texts. */
function fromIndex({ terms, column, of, repositoryId }: TextSearch) {
  const parity = of === undefined ? undefined : of === 'comments' ? 1 : 0
  const words = `{${column ?? 'title body'}} : (${terms.map(matchOf).join(' AND ')})`
  const match =
    repositoryId === undefined ? words : `facets : ${facetOf(repositoryId)} AND ${words}`
  const weight = column === undefined ? '' : column === 'title' ? 'A' : 'B'
  const query = tsqueryOfAll(terms, weight)
  return either({
    sqlite: sql`from search_index where search_index match ${match}
      ${parity === undefined ? sql`` : sql`and search_index.rowid & 1 = ${parity}`}`,
    postgres: sql`from search_texts where search_texts.tokens @@ ${query}::tsquery
      ${repositoryId === undefined ? sql`` : sql`and search_texts.repository_id = ${repositoryId}`}
      ${parity === undefined ? sql`` : sql`and search_texts.id & 1 = ${parity}`}`,
  })
}

/**
 * The driver binds numbers as floating-point values, and FTS5 reads bounds of ids only from integers
 * (https://www.sqlite.org/src/file/ext/fts5/fts5_main.c, `fts5GetRowidLimit`).
 */
const integer = (value: number) => sql`cast(${value} as integer)`

function tableOf(db: Db | Tx) {
  return sql.table(isPostgres(db) ? 'search_texts' : 'search_index')
}

const facetOf = (repositoryId: number) => `r${repositoryId}`

// Tokens are letters and digits, so they need no escapes.
function matchOf({ tokens, isPrefix, words }: SearchTerm): string {
  const named = words?.map((word) => `"${[...tokens.slice(0, -1), word].join(' ')}"`)
  return named ? `(${named.join(' OR ')})` : `"${tokens.join(' ')}"${isPrefix ? ' *' : ''}`
}

const tsqueryOfAll = (terms: TextSearch['terms'], weight: string) =>
  terms.map((term) => tsqueryOf(term, weight)).join(' & ')

function tsqueryOf({ tokens, isPrefix }: SearchTerm, weight: string): string {
  const last = tokens.length - 1
  const lexemes = tokens.map((token, i) => {
    const flags = `${isPrefix && i === last ? '*' : ''}${weight}`
    return `'${token}'${flags === '' ? '' : `:${flags}`}`
  })
  return `(${lexemes.join(' <-> ')})`
}

/** Cuts the tokens of a text to what both databases store. */
function limited(title: readonly string[], body: readonly string[]) {
  const places = new Map<string, number>()
  let count = 0
  let bytes = 0
  const cut = (tokens: readonly string[]) => {
    const kept: string[] = []
    for (const token of tokens) {
      count += 1
      bytes += Buffer.byteLength(token)
      if (count > MAX_TOKENS || bytes > MAX_BYTES) break
      const place = (places.get(token) ?? 0) + 1
      places.set(token, place)
      kept.push(place > MAX_PLACES ? UNFOUND : token)
    }
    return kept
  }
  return { title: cut(title), body: cut(body) }
}

/** Returns the text of a vector. A place without a word separates title and body. */
function vectorOf(title: readonly string[], body: readonly string[]): string {
  const places = new Map<string, string[]>()
  const add = (token: string, place: string) => {
    if (token === UNFOUND) return
    const known = places.get(token)
    if (known) known.push(place)
    else places.set(token, [place])
  }
  for (const [i, token] of title.entries()) add(token, `${i + 1}A`)
  for (const [i, token] of body.entries()) add(token, `${title.length + i + 2}B`)
  return [...places].map(([token, at]) => `'${token}':${at.join(',')}`).join(' ')
}
