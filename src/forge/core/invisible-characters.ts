/**
 * Characters that are invisible or rearrange visible text: control and format characters, line
 * separators, lone surrogates, and default-ignorable characters such as zero-width spaces and
 * joiners (Unicode Standard Annex #44, Default_Ignorable_Code_Point).
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gu')

/**
 * Returns whether a text contains invisible characters. E-mail addresses and URLs must not contain
 * any: addresses that look alike would differ, and a line break would forge output. A URL may
 * contain such characters percent-encoded.
 */
export function hasInvisibleCharacters(text: string): boolean {
  return INVISIBLE.test(text)
}

/** Returns a text without its invisible characters. */
export function withoutInvisibleCharacters(text: string): string {
  return text.replace(ALL_INVISIBLE, '')
}
