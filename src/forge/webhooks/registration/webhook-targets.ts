import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { OutboundError } from '../../../platform/outbound/errors.ts'
import type { Core } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import type { User } from '../../core/schema.ts'

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
