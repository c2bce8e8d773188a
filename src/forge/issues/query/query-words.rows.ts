import { type Expression, type SqlBool, sql } from 'kysely'
import { tokensOf } from '../../../platform/database/text-tokens.ts'
import { hasWords } from '../../conversations/search-texts.rows.ts'
import type { Issues } from './query-links.rows.ts'
import type { Words } from './schema.ts'

/**
 * The condition that all words are in one and the same text: title and description, or one comment,
 * as far as these parts are asked for. Words without letters and digits do not restrict. A number
 * alone also finds the conversation of that number.
 */
export function hasQueryWords(eb: Issues, { words, parts }: Words): Expression<SqlBool> {
  const { terms, number } = termsOf(words)
  if (terms.length === 0) return sql<SqlBool>`true`
  return eb.or([
    ...(number === undefined || parts.length < 3 ? [] : [eb('issues.number', '=', number)]),
    hasWords(eb, { terms, parts, repositoryId: undefined }),
  ])
}

/** Returns what words mean: terms, and the number that they are, if they are one. */
export function termsOf(words: Words['words']) {
  const terms = words.flatMap(({ text, isPhrase }) => {
    const tokens = tokensOf(text)
    return tokens.length === 0 ? [] : [{ tokens, isPrefix: !isPhrase }]
  })
  const [word] = words
  const number = words.length === 1 && word ? /^#?(\d{1,9})$/.exec(word.text)?.[1] : undefined
  return { terms, number: number === undefined ? undefined : Number(number) }
}
