/** A comparison of two numbers, spelled as in SQL. */
export type OrderOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** The filters that a list supports. Any other filter is invalid. */
export interface FilterSchema<Term> {
  /** The supported logical operators. */
  readonly logic: readonly ('and' | 'or' | 'not')[]
  readonly fields: Readonly<Record<string, Field<Term>>>
}

/**
 * The operators of a field, and the terms that they create. A term that is undefined makes the
 * filter invalid.
 */
export type Field<Term> =
  | {
      /** Compared with strings. `!=` negates the term. */
      readonly type: 'string'
      readonly operators: readonly EqualityOperator[]
      /** Creates the term for a field that equals one of the values. */
      readonly term: (values: readonly string[]) => Term | undefined
    }
  /** `field.contains("…")` */
  | { readonly type: 'text'; readonly term: (part: string) => Term }
  /** `"…" in field` */
  | { readonly type: 'strings'; readonly term: (element: string) => Term }
  /** Compared with times (see `momentOf`) in Unix seconds. */
  | { readonly type: 'time'; readonly term: (operator: OrderOperator, seconds: number) => Term }
  /** Used alone, or compared with `true` or `false`. */
  | { readonly type: 'flag'; readonly term: () => Term }

export type EqualityOperator = '=' | '!=' | 'in'

/** A string field with a fixed set of values. Any other value makes the filter invalid. */
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
