import { nameKey } from '../core/names.ts'

/** How two numbers compare, in the spelling that storage has for it. */
export type OrderOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** What a list can be filtered by. Anything else is refused. */
export interface FilterSchema<Term> {
  /** How terms may be joined. */
  readonly logic: readonly ('and' | 'or' | 'not')[]
  readonly fields: Readonly<Record<string, Field<Term>>>
}

/**
 * A field: which operators it takes, and the terms that they make. An undefined term refuses the
 * filter.
 */
export type Field<Term> =
  | {
      /** Compared with strings. `!=` negates the term. */
      readonly type: 'string'
      readonly operators: readonly EqualityOperator[]
      /** The field is one of these. */
      readonly term: (values: readonly string[]) => Term | undefined
    }
  /** `field.contains("…")` */
  | { readonly type: 'text'; readonly term: (part: string) => Term }
  /** `"…" in field` */
  | { readonly type: 'strings'; readonly term: (element: string) => Term }
  /** Compared with moments, see `momentOf`, in Unix seconds. */
  | { readonly type: 'time'; readonly term: (operator: OrderOperator, seconds: number) => Term }
  /** Stands alone, or is compared with `true` or `false`. */
  | { readonly type: 'flag'; readonly term: () => Term }

export type EqualityOperator = '=' | '!=' | 'in'

/** A string field that only has some values. Any other refuses the filter. */
export function choiceField<Value extends string, Term>(
  allowed: readonly Value[],
  operators: readonly EqualityOperator[],
  term: (among: readonly Value[]) => Term,
): Field<Term> {
  const termOf = (values: readonly string[]) => {
    const among = values.flatMap((value) => allowed.find((candidate) => candidate === value) ?? [])
    return among.length === values.length ? term(among) : undefined
  }
  return { type: 'string', operators, term: termOf }
}

/**
 * A field that holds accounts by their resource name, `users/{user}`. Any other text refuses the
 * filter; whether there are such accounts is for the reader of the term to find out.
 *
 * @param term is given the folded names.
 */
export function accountField<Term>(
  operators: readonly EqualityOperator[],
  term: (keys: readonly string[]) => Term,
): Field<Term> {
  const termOf = (names: readonly string[]) => {
    const keys = names.flatMap((name) => /^users\/([^/]+)$/.exec(name)?.[1] ?? []).map(nameKey)
    return keys.length === names.length ? term(keys) : undefined
  }
  return { type: 'string', operators, term: termOf }
}
