import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { containsSql, LAST_CHARACTER } from '../../../platform/database/database.ts'
import { either, positionOf } from '../../../platform/database/dialects/dialects.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'

/**
 * The number of repositories, newest first, that one search examines for a text. It bounds the time
 * that a search blocks the process.
 */
const MAX_SEARCHED = 50_000

/**
 * The number of names that a search takes from the index. A text that more names contain fills a
 * page soon, so that the search examines the repositories.
 */
const MAX_NAMED = 1000

/** A lowercase text that a repository is searched for. */
export interface SearchedText {
  /** A substring of the name, or of a topic. */
  readonly name: string
  /**
   * The end of the owner's name. The text is then the start of the repository's name, and topics do
   * not match.
   */
  readonly ownerEnding: string | undefined
  /** A substring of the description, which also matches. */
  readonly description: string | undefined
}

/**
 * Returns the ids of the repositories whose names contain a text. Undefined if they are too many for
 * the index to be of use.
 *
 * @param text in lower case.
 */
export async function findNamed(db: Db, text: string): Promise<number[] | undefined> {
  if (text === '') return undefined
  const rows = await namesWith(db, text, text + LAST_CHARACTER)
  if (rows.length > MAX_NAMED) return undefined
  return [...new Set(rows.map(({ repository_id }) => repository_id))]
}

// A name contains a text if an end of the name begins with the text.
const namesWith = prepareQuery((db, from: string, to: string) =>
  db
    .selectFrom('repository_name_ends')
    .select('repository_id')
    .where('name_end', '>=', from)
    .where('name_end', '<', to)
    .limit(MAX_NAMED + 1),
)

type Repositories = ExpressionBuilder<Schema, 'repositories'>
type Condition = (eb: Repositories) => Expression<SqlBool>

/**
 * The condition for the repositories with some ids, and for those among the newest that have a topic
 * with a substring.
 *
 * @param ids a JSON array.
 */
export function isNamed(ids: string, text: string): Condition {
  const found = sql<{
    repository_id: number
  }>`select value as repository_id from ${numbersOf(ids)} as named`
  return (eb) => eb('repositories.id', 'in', topicLike(eb, text).unionAll(found))
}

/** The condition for the repositories among the newest that have at least one of some texts. */
export function hasText(texts: readonly SearchedText[]): Condition {
  return (eb) =>
    eb.and([
      isNewest(eb.ref('repositories.id'), eb),
      eb.or(texts.map((text) => hasOneText(text)(eb))),
    ])
}

/** The condition for the id of one of the newest repositories. */
function isNewest(id: Expression<number>, eb: Repositories): Expression<SqlBool> {
  const newest = eb.selectFrom('repositories as all').select(({ fn }) => fn.max('all.id').as('id'))
  return sql`${id} > ${newest} - ${MAX_SEARCHED}`
}

/** Returns as many of the last characters of a text as another text has. */
function lastCharacters(text: Expression<string>, other: string): Expression<string> {
  return either({
    sqlite: sql`substr(${text}, -length(${other}))`,
    postgres: sql`right(${text}, length(${other}))`,
  })
}

function hasOneText({ name, ownerEnding, description }: SearchedText): Condition {
  return (eb) => {
    const key = eb.ref('repositories.name_key')
    if (ownerEnding !== undefined) {
      const begins = sql<SqlBool>`substr(${key}, 1, length(${name})) = ${name}`
      const owners = eb
        .selectFrom('account_names')
        .select('account_id')
        .where(
          ({ ref }) =>
            sql<SqlBool>`${lastCharacters(ref('name_key'), ownerEnding)} = ${ownerEnding}`,
        )
      return ownerEnding === ''
        ? begins
        : eb.and([begins, eb('repositories.owner_id', 'in', owners)])
    }
    const inName = sql<SqlBool>`${positionOf(sql`${name}`, key)} > 0`
    const inText = eb.or([inName, eb('repositories.id', 'in', topicLike(eb, name))])
    if (description === undefined) return inText
    return eb.or([inText, containsSql(eb.ref('repositories.description'), description)])
  }
}

/** The repositories among the newest that have a topic with a substring. */
function topicLike(eb: Repositories, text: string) {
  return eb
    .selectFrom('repository_topics')
    .innerJoin('topics', 'topics.id', 'repository_topics.topic_id')
    .select('repository_topics.repository_id')
    .where(({ ref }) => isNewest(ref('repository_topics.repository_id'), eb))
    .where(({ ref }) => sql<SqlBool>`${positionOf(sql`${text}`, ref('topics.name'))} > 0`)
}
