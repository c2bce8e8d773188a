import { filled } from '../language/catalogue.ts'
import { t } from '../language/texts.tsx'
import type { ReasonKey } from './reason-key.ts'

/** A refusal, as the server says it. */
interface Refusal {
  readonly reason: string
  readonly metadata: Readonly<Record<string, string>>
  /** In English. */
  readonly message: string
}

/** Returns what a refusal says in the language of the page. Rare reasons have the words of the server. */
export function refusalText({ reason, metadata, message }: Refusal): string {
  const key = `${reason} @reason` as ReasonKey & 'PERMISSION_DENIED @reason'
  const text = t(key)
  const values: Readonly<Record<string, string>> = { ...metadata, message }
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  // A text without a translation is the reason. Some reasons leave a value out, or have an empty one.
  const isTranslated = text !== reason && names.every((name) => values[name])
  return isTranslated ? filled(text, values) : message
}
