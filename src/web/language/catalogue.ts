/** The forms of a text about a number, by its plural category (`Intl.PluralRules`). */
export interface Forms {
  readonly one: string
  readonly other: string
}

/**
 * Translations by the English texts. A name in braces stands for a value. An English text with several
 * meanings has a key for each, which ends with ` @` and a word about the meaning, such as `Open @state`.
 * The key of a text about a number is its English plural.
 */
export type Catalogue = Readonly<Record<string, string | Forms>>

/** The names in braces of a text. */
export type ValueName<Key extends string> = Key extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ValueName<Rest>
  : never

/** Returns the English text of a key, without the word about its meaning. */
export function englishOf(key: string): string {
  return key.replace(/ @[a-z-]+$/, '')
}

/** Returns a text with values in place of names. Names without a value stay. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (name, key: string) =>
    Object.hasOwn(values, key) ? (values[key] ?? name) : name,
  )
}
