import { DomainError } from '../core/errors.ts'
import { compileGlob, MAX_PATTERN_CHARACTERS } from '../core/globs.ts'
import { isEventName } from '../webhooks/hook-events.ts'
import { readTarget } from '../webhooks/webhook-targets.ts'

/** The forms of requests. Both have the headers of both systems. */
const TYPES: readonly string[] = ['gitea', 'forgejo']

const CONTENT_TYPES: readonly string[] = ['json', 'form']

/** The number of names of events that a request may repeat: more than there are. */
const MAX_EVENTS = 100

const MAX_SECRET_CHARACTERS = 255
const MAX_HEADER_CHARACTERS = 1024

/** The properties of a webhook that a caller chooses. */
export interface HookValues {
  readonly url: string
  readonly content_type: string
  /** Empty for no signatures. */
  readonly secret: string
  readonly events: readonly string[]
  readonly branch_filter: string
  /** Empty for no header. */
  readonly authorization_header: string
  readonly active: boolean
}

/** The properties of a new webhook. */
export interface NewHookValues extends HookValues {
  readonly type: string
}

/**
 * Checks properties of a webhook, and returns them in their stored spelling.
 *
 * @throws INVALID_FIELD, INVALID_WEBHOOK_URL
 */
export function readHookValues<V extends Partial<NewHookValues>>(values: V): V {
  const { type, url, content_type, secret, events, branch_filter, authorization_header } = values
  require(type === undefined || TYPES.includes(type), 'type', 'the type is not known')
  require(content_type === undefined ||
    CONTENT_TYPES.includes(
      content_type,
    ), 'config.content_type', 'the content type must be json or form')
  require(events === undefined ||
    (events.length <= MAX_EVENTS && events.every(isEventName)), 'events', 'an event is not known')
  require(branch_filter === undefined ||
    isFilter(branch_filter), 'branch_filter', 'the glob is not valid')
  checkLength(secret, 'config.secret', MAX_SECRET_CHARACTERS)
  checkLength(authorization_header, 'authorization_header', MAX_HEADER_CHARACTERS)
  // Other characters cannot be sent (RFC 9110 section 5.5).
  require(authorization_header === undefined ||
    /^[\x20-\x7e]*$/.test(
      authorization_header,
    ), 'authorization_header', 'the header must be printable ASCII')
  return {
    ...values,
    ...(url !== undefined && { url: readTarget(url) }),
    ...(events !== undefined && { events: [...new Set(events)] }),
  }
}

function isFilter(glob: string): boolean {
  return (
    glob === '' || (glob.length <= MAX_PATTERN_CHARACTERS && compileGlob(glob, '') !== undefined)
  )
}

function checkLength(text: string | undefined, field: string, maxCharacters: number): void {
  if (text !== undefined && text.length > maxCharacters)
    throw new DomainError('INVALID_FIELD', { field, max_length: String(maxCharacters) })
}

function require(isValid: boolean, field: string, rule: string): void {
  if (!isValid) throw new DomainError('INVALID_FIELD', { field, rule })
}
