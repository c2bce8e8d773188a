import { randomInt } from 'node:crypto'

/** Base32 (RFC 4648 section 6), which has no 0, 1 and 8 to be taken for O, I and B. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Groups are what people copy at one go. */
const GROUP_CHARACTERS = 4

/** One group to find the code by, and four that are secret: 80 bits. */
const GROUPS = 5

const CODE = new RegExp(`^[${ALPHABET}]{${GROUPS * GROUP_CHARACTERS}}$`)

/** How many codes an account gets at a time. */
export const RECOVERY_CODE_COUNT = 10

/** A recovery code, in the one form in which it is hashed. */
export interface RecoveryCode {
  /** As shown and stored: groups with hyphens between. */
  readonly text: string
  /**
   * The group that the code is found by, different for each code of a set. It is no secret: it
   * makes checking a code one slow hash instead of one for each code of the account.
   */
  readonly lookup: string
}

/** @returns a new set of codes. */
export function newRecoveryCodes(): RecoveryCode[] {
  const codes = new Map<string, RecoveryCode>()
  while (codes.size < RECOVERY_CODE_COUNT) {
    const code = inGroups(
      Array.from({ length: GROUPS * GROUP_CHARACTERS }, randomCharacter).join(''),
    )
    codes.set(code.lookup, code)
  }
  return [...codes.values()]
}

/**
 * Reads a recovery code as people type it: in any case, with hyphens and blanks anywhere.
 *
 * @returns undefined for a text that no recovery code looks like.
 */
export function parseRecoveryCode(text: string): RecoveryCode | undefined {
  const characters = text.replace(/[\s-]/g, '').toUpperCase()
  return CODE.test(characters) ? inGroups(characters) : undefined
}

function inGroups(characters: string): RecoveryCode {
  const groups = Array.from({ length: GROUPS }, (_, i) =>
    characters.slice(i * GROUP_CHARACTERS, (i + 1) * GROUP_CHARACTERS),
  )
  return { text: groups.join('-'), lookup: groups[0] ?? '' }
}

function randomCharacter(): string {
  return ALPHABET.charAt(randomInt(ALPHABET.length))
}
