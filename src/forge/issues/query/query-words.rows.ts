import { type Expression, type SqlBool, sql } from 'kysely'
import { containsSql } from '../../../platform/database/database.ts'
import type { Issues } from './query-links.rows.ts'
import type { Words } from './schema.ts'

/**
 * The condition that all words are in one and the same text: title and description, or one comment,
 * as far as these parts are asked for. A number alone also finds the conversation of that number.
 */
export function hasWords(eb: Issues, { words, parts }: Words): Expression<SqlBool> {
  const everyWord = (has: (text: string) => Expression<SqlBool>) =>
    eb.and(words.map(({ text }) => has(text)))
  const own = [
    ...(parts.includes('title') ? [eb.ref('issues.title')] : []),
    ...(parts.includes('body') ? [eb.ref('issues.body')] : []),
  ]
  const [word] = words
  const number = words.length === 1 && word ? /^#?(\d{1,9})$/.exec(word.text)?.[1] : undefined
  return eb.or([
    ...(number === undefined || parts.length < 3 ? [] : [eb('issues.number', '=', Number(number))]),
    ...(own.length === 0
      ? []
      : [everyWord((word) => eb.or(own.map((text) => containsSql(text, word))))]),
    ...(parts.includes('comments')
      ? [
          eb.exists(
            eb
              .selectFrom('issue_comments')
              .select('issue_comments.id')
              .whereRef('issue_comments.issue_id', '=', 'issues.id')
              .where(() => everyWord((text) => containsSql(sql.ref('issue_comments.body'), text))),
          ),
        ]
      : []),
  ])
}
