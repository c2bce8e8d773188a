import { parseCookie } from 'cookie'
import Negotiator from 'negotiator'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { type Catalogue, englishOf } from '../../web/language/catalogue.ts'
import { french as frenchOfPages } from '../../web/language/french.ts'
import { german as germanOfPages, type Text } from '../../web/language/german.ts'
import {
  LANGUAGE_COOKIE,
  LANGUAGES,
  type Language,
  languageOf,
} from '../../web/language/languages.ts'
import { french } from './french.ts'
import { german } from './german.ts'

/** A text of the pages or of the server, in English. */
export type ShellText = Text | keyof typeof german

const CATALOGUES: Readonly<Record<Language, Catalogue>> = {
  en: {},
  de: { ...germanOfPages, ...german },
  fr: { ...frenchOfPages, ...french },
}

/**
 * Returns the language of a page: the one that the reader has chosen in this browser, or else the one
 * of the pages that the browser prefers (RFC 9110 section 12.5.4), or else English.
 */
export function languageOfRequest(request: HttpRequest): Language {
  const chosen = parseCookie(request.headers.cookie ?? '')[LANGUAGE_COOKIE]
  const preferred = () => new Negotiator(request).language([...LANGUAGES])
  return languageOf(chosen) ?? languageOf(preferred()) ?? 'en'
}

/** Returns a text in a language. */
export function translated(language: Language, text: ShellText): string {
  const found = CATALOGUES[language][text]
  return typeof found === 'string' ? found : englishOf(text)
}
