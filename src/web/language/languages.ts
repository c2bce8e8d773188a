// The server imports this file too, to choose the language of a page.

/** The languages of the pages, the default first (BCP 47). */
export const LANGUAGES = ['en', 'de', 'fr'] as const

export type Language = (typeof LANGUAGES)[number]

/** The name of each language in itself. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
}

/** The cookie with the language that the reader has chosen in this browser. */
export const LANGUAGE_COOKIE = 'branchline-language'

/** Returns the language of a code; undefined for all others. */
export function languageOf(code: string | undefined): Language | undefined {
  return LANGUAGES.find((language) => language === code)
}
