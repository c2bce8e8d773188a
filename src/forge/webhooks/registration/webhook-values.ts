import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { OutboundError } from '../../../platform/outbound/errors.ts'
import type { Core } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { compileGlob, MAX_PATTERN_CHARACTERS } from '../../core/globs.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import type { User } from '../../core/schema.ts'
import { isEventName } from '../outbox/webhook-events.ts'

/** The forms of requests. All have the headers of compatible systems. */
const TYPES: readonly string[] = ['gitea', 'forgejo', 'slack', 'discord', 'msteams']

/** The settings of the messages to each kind of chat. */
const CHAT_SETTINGS: Readonly<Record<string, readonly (keyof ChatSettings)[]>> = {
  slack: ['channel', 'username', 'icon_url', 'color'],
  discord: ['username', 'icon_url'],
}

const CONTENT_TYPES: readonly string[] = ['json', 'form']

/** The number of names of events that a request may repeat: more than there are. */
const MAX_EVENTS = 100

const MAX_SECRET_CHARACTERS = 255
const MAX_HEADER_CHARACTERS = 1024

const MAX_NAME_CHARACTERS = 255
const MAX_COLOR_CHARACTERS = 32

/** Settings of the messages to a chat. An empty or absent one leaves the choice to the chat. */
export interface ChatSettings {
  readonly channel?: string
  readonly username?: string
  readonly icon_url?: string
  readonly color?: string
}

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
  readonly chat: ChatSettings
}

/** The properties of a new webhook. */
export interface NewHookValues extends HookValues {
  readonly type: string
}

/** Checks the properties of a new webhook, and returns them in their stored spelling. */
export function readNewHookValues(values: NewHookValues): NewHookValues {
  const { type, chat } = values
  require(TYPES.includes(type), 'type', 'the type is not known')
  require(type !== 'slack' ||
    Boolean(chat.channel), 'config.channel', 'a message to Slack needs a channel')
  return readHookValues(type, values)
}

/**
 * Checks properties of a webhook, and returns them in their stored spelling, without the settings of
 * other kinds of chats.
 */
export function readHookValues<V extends Partial<NewHookValues>>(type: string, values: V): V {
  const { url, content_type, secret, events, branch_filter, authorization_header, chat } = values
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
    ...(chat && { chat: readChat(type, chat) }),
  }
}

function readChat(type: string, chat: ChatSettings): ChatSettings {
  const names = (CHAT_SETTINGS[type] ?? []).filter((name) => chat[name] !== undefined)
  for (const name of names)
    checkLength(
      chat[name],
      `config.${name}`,
      name === 'color' ? MAX_COLOR_CHARACTERS : MAX_NAME_CHARACTERS,
    )
  require(!chat.icon_url ||
    /^https?:\/\/\S+$/i.test(
      chat.icon_url,
    ), 'config.icon_url', 'the picture must have an HTTP or HTTPS URL')
  return Object.fromEntries(names.map((name) => [name, chat[name]]))
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

const MAX_URL_CHARACTERS = 2048

/**
 * An absolute http or https URL without user information, and without the mistakes that URL parsers
 * correct silently.
 */
const WRITTEN_URL = /^https?:\/\/[^\s\p{Cc}/?#@\\]+([/?][^\s\p{Cc}#\\]*)?$/iu

/**
 * Returns the target that a user wrote, without surrounding blanks.
 *
 * @throws INVALID_WEBHOOK_URL
 */
export function readTarget(text: string): string {
  const url = text.trim()
  const isTarget =
    url.length <= MAX_URL_CHARACTERS &&
    WRITTEN_URL.test(url) &&
    URL.canParse(url) &&
    !hasInvisibleCharacters(url)
  if (!isTarget) throw new DomainError('INVALID_WEBHOOK_URL')
  return url
}

/**
 * Resolves the host of a target, and checks its addresses.
 *
 * @throws BLOCKED_ADDRESS; INVALID_WEBHOOK_URL when the host cannot be resolved.
 */
export async function checkDestination(
  { outbound }: Core,
  caller: Pick<User, 'id'>,
  target: string,
): Promise<void> {
  const url = new URL(target)
  try {
    await outbound.checkDestination(url, accountHolder(caller.id))
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.failure === 'BLOCKED_ADDRESS')
      throw new DomainError('BLOCKED_ADDRESS', { host: url.hostname })
    throw new DomainError('INVALID_WEBHOOK_URL')
  }
}
