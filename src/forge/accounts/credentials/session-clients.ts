import { isIP } from 'node:net'
import { withoutInvisibleCharacters } from '../../core/invisible-characters.ts'

/** The client that signs in, as its session describes it. */
export interface SessionClient {
  /** The header `User-Agent`; empty if there is none. */
  readonly userAgent: string
  /** The address of the peer, which is no IP address on a Unix socket. */
  readonly address: string
}

/** Real texts are shorter. A client must not fill the database. */
const MAX_USER_AGENT_CHARACTERS = 256

/** Returns what a session stores of a client: a short text to show, and an IP address or nothing. */
export function storedClient({ userAgent, address }: SessionClient): SessionClient {
  return {
    userAgent: withoutInvisibleCharacters(userAgent.slice(0, MAX_USER_AGENT_CHARACTERS)).trim(),
    address: isIP(address) === 0 ? '' : address,
  }
}
