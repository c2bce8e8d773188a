import type { ComponentChildren, VNode } from 'preact'
import { type Catalogue, englishOf, type Forms, filled, type ValueName } from './catalogue.ts'
import type { PluralText, Text } from './german.ts'
import { type Language, languageOf } from './languages.ts'

type Value = string | number | bigint

type Values<Name extends string> = [Name] extends [never]
  ? []
  : [values: Readonly<Record<Name, Value>>]

/** The language of the page, which the server has chosen. Workers and tests have no page. */
export const LANGUAGE: Language = languageOf(globalThis.document?.documentElement.lang) ?? 'en'

/** The reader's locale of that language, for numbers and times. */
export const LOCALE =
  globalThis.navigator?.languages?.find((locale) => locale.split('-')[0] === LANGUAGE) ?? LANGUAGE

// Before any other module is evaluated, since constants have texts too.
const CATALOGUE = await load(LANGUAGE)

const PLURALS = new Intl.PluralRules(LANGUAGE)

/** Loads the texts of a language. The page is in English where they are not available. */
async function load(language: Language): Promise<Catalogue> {
  try {
    if (language === 'de') return (await import('./german.ts')).german
    if (language === 'fr') return (await import('./french.ts')).french
  } catch {
    // The server has been upgraded, or cannot be reached.
  }
  return {}
}

/** Returns a text in the language of the page, with values in place of the names in braces. */
export function t<Key extends Text>(text: Key, ...[values]: Values<ValueName<Key>>): string {
  return filled(translationOf(text), written(values ?? {}))
}

/**
 * Returns a text about a number in the language of the page. `{count}` is the number.
 *
 * @param one the English singular.
 * @param other the English plural, which is the key of the text.
 */
export function plural<Key extends PluralText>(
  count: number | bigint,
  one: string,
  other: Key,
  ...[values]: Values<Exclude<ValueName<Key>, 'count'>>
): string {
  return filled(formOf(count, one, other), written({ ...values, count }))
}

/** A text in which elements have the places of the names in braces. */
export function T<Key extends Text>({
  text,
  ...parts
}: { readonly text: Key } & Readonly<Record<ValueName<Key>, ComponentChildren>>): VNode {
  return between(translationOf(text), parts)
}

/** A text about a number in which elements have the places of the other names in braces. */
export function Plural<Key extends PluralText>({
  count,
  one,
  other,
  ...parts
}: { readonly count: number | bigint; readonly one: string; readonly other: Key } & Readonly<
  Record<Exclude<ValueName<Key>, 'count'>, ComponentChildren>
>): VNode {
  return between(formOf(count, one, other), { ...parts, count: numberText(count) })
}

/** Returns a number as the reader's locale writes it. */
export function numberText(value: number | bigint, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(LOCALE, options).format(value)
}

function translationOf(key: string): string {
  const found = CATALOGUE[key]
  return typeof found === 'string' ? found : englishOf(key)
}

function formOf(count: number | bigint, one: string, other: string): string {
  const found = CATALOGUE[other]
  const forms: Forms = typeof found === 'object' ? found : { one, other: englishOf(other) }
  return PLURALS.select(Number(count)) === 'one' ? forms.one : forms.other
}

function written(values: Readonly<Record<string, Value>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : numberText(value),
    ]),
  )
}

function between(text: string, parts: Readonly<Record<string, ComponentChildren>>): VNode {
  // Every second piece is a name, since the expression has a group.
  const pieces = text.split(/\{(\w+)\}/)
  return <>{pieces.map((piece, i) => (i % 2 === 0 ? piece : parts[piece]))}</>
}
