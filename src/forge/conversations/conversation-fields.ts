import { checkLength } from '../accounts/users/user-fields.ts'
import { DomainError } from '../core/errors.ts'
import { NO_DATE_FROM_SECONDS } from './milestones.ts'

/** The limit of compatible systems. */
export const MAX_TITLE_CHARACTERS = 255

/** Maximum length of a description. Lists contain fifty of them. */
const MAX_BODY_CHARACTERS = 65_536

/** RFC 3339, section 5.6: the day, and the time zone after the time. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/**
 * Returns a title in the form in which it is stored: on one line, without null bytes, because that
 * of a pull request becomes the message of a commit. A long one is cut, as in compatible systems.
 */
export function readTitle(title: string): string {
  const characters = [...title.replace(/[\0\r\n]+/g, ' ').trim()]
  return characters.length > MAX_TITLE_CHARACTERS
    ? `${characters.slice(0, MAX_TITLE_CHARACTERS - 1).join('')}…`
    : characters.join('')
}

/** @throws INVALID_FIELD */
export function checkBody(body: string | undefined): void {
  checkLength('body', body, MAX_BODY_CHARACTERS)
}

/**
 * Returns the end of the day of a date in its own time zone, in Unix seconds. Null for dates that
 * mean none, such as the zero time of Go and the year 9999.
 */
export function endOfDay(text: string): number | null {
  const [, day = '', zone = ''] = DATE_TIME.exec(text) ?? []
  const midnight = new Date(`${day}T00:00:00Z`)
  const end = new Date(`${day}T23:59:59${zone.toUpperCase()}`)
  const isDate = !Number.isNaN(midnight.getTime()) && !Number.isNaN(end.getTime())
  // JavaScript accepts a day that the month does not have as a day of the next month.
  if (!isDate || !midnight.toISOString().startsWith(day))
    throw new DomainError('INVALID_FIELD', { field: 'due_date' })
  const seconds = end.getTime() / 1000
  return seconds < 0 || seconds >= NO_DATE_FROM_SECONDS ? null : seconds
}
