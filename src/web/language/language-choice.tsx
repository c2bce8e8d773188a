import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import { LANGUAGE_COOKIE, LANGUAGE_NAMES, LANGUAGES, languageOf } from './languages.ts'
import { LANGUAGE, t } from './texts.tsx'

/** A year, after which browsers forget cookies at the latest (RFC 6265bis section 5.5). */
const MAX_AGE_SECONDS = 365 * 86_400

/** Chooses the language of the pages in this browser. */
export function LanguageChoice(): VNode {
  const id = useId()
  return (
    <div class="theme">
      <label for={id}>{t('Language')}</label>
      <select
        id={id}
        value={LANGUAGE}
        onChange={({ currentTarget: { value } }) => choose(languageOf(value) ?? 'en')}
      >
        {LANGUAGES.map((language) => (
          <option key={language} value={language} lang={language}>
            {LANGUAGE_NAMES[language]}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Loads the page in a language. Texts that the user has typed stay, as in each reload. */
function choose(language: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: not all browsers have the Cookie Store API.
  document.cookie = `${LANGUAGE_COOKIE}=${language}; Path=/; SameSite=Lax; Max-Age=${MAX_AGE_SECONDS}${secure}`
  location.reload()
}
