import { randomInt } from 'node:crypto'

/** Base32 (RFC 4648 section 6), which avoids 0, 1 and 8 because they look like O, I and B. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** People copy one group at a time. */
const GROUP_CHARACTERS = 4

/** One group for the lookup and four secret groups: 80 bits. */
const GROUPS = 5

const CODE = new RegExp(`^[${ALPHABET}]{${GROUPS * GROUP_CHARACTERS}}$`)

/** Number of codes in a set. */
const RECOVERY_CODE_COUNT = 10

/** A recovery code in its canonical form. */
export interface RecoveryCode {
  /** The form that is shown and hashed: groups separated by hyphens. */
  readonly text: string
  /**
   * The group by which the code is found, different for each code of a set. It is not secret. It
   * reduces a check to one slow hash, instead of one for each code of the account.
   */
  readonly lookup: string
}

/** Generates a new set of codes. */
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
 * Parses a recovery code in any case, with hyphens and spaces anywhere.
 *
 * @returns undefined if the text cannot be a recovery code.
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
