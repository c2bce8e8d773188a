import { type Condition, mapTerms, readFilter, termsOf } from '../../platform/filters/conditions.ts'
import { InvalidFilterError } from '../../platform/filters/limits.ts'
import { choiceField, type Field, type FilterSchema } from '../../platform/filters/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { accountField } from '../accounts/users/account-field.ts'
import { findUserIdsByNameKeys } from '../accounts/users/users.rows.ts'
import { nowSeconds } from '../core/core.ts'
import type { MemoCondition, MemoFlag, MemoTerm } from './memo-condition.rows.ts'
import type { MemoVisibility } from './schema.ts'

/**
 * The maximum number of strings that one filter searches contents for, because each search is
 * expensive.
 */
const MAX_CONTENT_TERMS = 8

/** A term of the filter, with creators by name. */
type WrittenTerm =
  | Exclude<MemoTerm, { kind: 'creator' }>
  | { readonly kind: 'creator'; readonly keys: readonly string[] }

const VISIBILITIES: readonly MemoVisibility[] = ['PRIVATE', 'PROTECTED', 'PUBLIC']

const MEMO_FILTER: FilterSchema<WrittenTerm> = {
  logic: ['and', 'or', 'not'],
  fields: {
    content: { type: 'text', term: (part) => ({ kind: 'content', part }) },
    creator: accountField(['=', '!=', 'in'], (keys) => ({ kind: 'creator', keys })),
    visibility: choiceField(VISIBILITIES, ['=', '!=', 'in'], (among) => ({
      kind: 'visibility',
      among,
    })),
    tags: { type: 'strings', term: (tag) => ({ kind: 'tags', among: [tag] }) },
    tag: { type: 'string', operators: ['in'], term: (among) => ({ kind: 'tags', among }) },
    created_ts: time('create_time'),
    updated_ts: time('update_time'),
    pinned: flag('pinned'),
    has_link: flag('has_link'),
    has_code: flag('has_code'),
    has_task_list: flag('has_task_list'),
    has_incomplete_tasks: flag('has_incomplete_tasks'),
  },
}

/**
 * Parses the filter of ListMemos, as the proto file describes it.
 *
 * The names of creators are resolved here. A name without an account matches no memo.
 *
 * @returns the condition, or undefined for a blank filter.
 * @throws INVALID_FILTER
 */
export async function readMemoFilter(
  app: AccountsApp,
  filter: string,
): Promise<MemoCondition | undefined> {
  const written = readFilter(filter, MEMO_FILTER, nowSeconds(app.clock))
  if (!written) return undefined
  if (contentTerms(written) > MAX_CONTENT_TERMS) throw new InvalidFilterError(filter)
  const keys = termsOf(written).flatMap((term) => (term.kind === 'creator' ? term.keys : []))
  const ids = await findUserIdsByNameKeys(app.db, keys)
  return mapTerms(written, (term): MemoTerm => {
    if (term.kind !== 'creator') return term
    return { kind: 'creator', ids: term.keys.flatMap((key) => ids.get(key) ?? []) }
  })
}

function contentTerms(condition: Condition<WrittenTerm>): number {
  return termsOf(condition).filter(({ kind }) => kind === 'content').length
}

function time(column: 'create_time' | 'update_time'): Field<WrittenTerm> {
  return {
    type: 'time',
    term: (operator, seconds) => ({ kind: 'time', column, operator, seconds }),
  }
}

function flag(column: MemoFlag): Field<WrittenTerm> {
  return { type: 'flag', term: () => ({ kind: 'flag', column }) }
}
