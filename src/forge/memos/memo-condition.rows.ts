import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { containsSql } from '../../platform/database/database.ts'
import { either } from '../../platform/database/dialects/dialects.ts'
import type { Schema } from '../../platform/database/schema.ts'
import type { MemoVisibility } from './schema.ts'

/** The condition of a filter of memos. */
export type MemoCondition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly MemoCondition[] }
  | { readonly kind: 'not'; readonly condition: MemoCondition }
  | { readonly kind: 'term'; readonly term: MemoTerm }

/** A term about one column, or about the tags. */
export type MemoTerm =
  /** The content contains this text. The case of ASCII letters is ignored. */
  | { readonly kind: 'content'; readonly part: string }
  | { readonly kind: 'creator'; readonly ids: readonly number[] }
  | { readonly kind: 'visibility'; readonly among: readonly MemoVisibility[] }
  /** At least one tag is among these. */
  | { readonly kind: 'tags'; readonly among: readonly string[] }
  | {
      readonly kind: 'time'
      readonly column: 'create_time' | 'update_time'
      readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>='
      /** Unix seconds, possibly a fraction. */
      readonly seconds: number
    }
  | { readonly kind: 'flag'; readonly column: MemoFlag }

export type MemoFlag = 'pinned' | 'has_link' | 'has_code' | 'has_task_list' | 'has_incomplete_tasks'

/**
 * The maximum number of tags that are looked up one by one. With more, each tag of the memo, which
 * has at most 500, is looked up in the set.
 */
export const MAX_SOUGHT_TAGS = 8

/** Returns the condition as SQL for a row of `memos`. Every value is a parameter. */
export function memoConditionSql(
  eb: ExpressionBuilder<Schema, 'memos'>,
  condition: MemoCondition,
): Expression<SqlBool> {
  switch (condition.kind) {
    case 'and':
      return eb.and(condition.conditions.map((inner) => memoConditionSql(eb, inner)))
    case 'or':
      return eb.or(condition.conditions.map((inner) => memoConditionSql(eb, inner)))
    case 'not':
      return eb.not(memoConditionSql(eb, condition.condition))
    case 'term':
      return termSql(eb, condition.term)
  }
}

function termSql(eb: ExpressionBuilder<Schema, 'memos'>, term: MemoTerm): Expression<SqlBool> {
  switch (term.kind) {
    case 'content':
      return containsSql(eb.ref('memos.content'), term.part)
    case 'creator':
      return term.ids.length === 0 ? eb.lit(false) : eb('memos.creator_id', 'in', term.ids)
    case 'visibility':
      return term.among.length === 0 ? eb.lit(false) : eb('memos.visibility', 'in', term.among)
    case 'tags':
      if (term.among.length === 0) return eb.lit(false)
      return eb.exists(
        eb
          .selectFrom('memo_tags')
          .select('memo_tags.tag')
          .whereRef('memo_tags.memo_id', '=', 'memos.id')
          .where(tagSql(term.among.length), 'in', term.among)
          .modifyEnd(PER_MEMO),
      )
    case 'time':
      return sql`${eb.ref(`memos.${term.column}`)} ${sql.raw(term.operator)} ${timeValue(term.seconds)}`
    case 'flag':
      return eb(`memos.${term.column}`, '=', 1)
  }
}

/** PostgreSQL reads a parameter as the type of the column, which has no fractions. */
function timeValue(seconds: number): Expression<number> {
  return either({ sqlite: sql`${seconds}`, postgres: sql`${seconds}::double precision` })
}

const TAG = sql.ref<string>('memo_tags.tag')

/**
 * A unary plus excludes a column from the indexes (https://sqlite.org/optoverview.html, "The WHERE
 * clause"). PostgreSQL chooses by statistics.
 */
const UNINDEXED_TAG = either({ sqlite: sql<string>`+${TAG}`, postgres: TAG })

/**
 * With an offset, PostgreSQL looks up the tags of each memo of a page, rather than reading the tags of
 * all memos once for each term.
 */
const PER_MEMO = either({ sqlite: sql``, postgres: sql`offset 0` })

function tagSql(count: number): Expression<string> {
  return count <= MAX_SOUGHT_TAGS ? TAG : UNINDEXED_TAG
}
