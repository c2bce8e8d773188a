/**
 * What nobody sees in a text, and what moves around what they see: control and format characters,
 * line separators, halves of surrogate pairs, and what Unicode lets be ignored, such as zero-width
 * spaces and joiners (Unicode Standard Annex #44, Default_Ignorable_Code_Point).
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

/**
 * Whether a text has characters that cannot be seen. E-mail addresses and URLs have none: with one,
 * two that look alike are different, and a new line in one forges what it is printed into. URLs
 * have such characters in percent encoding.
 */
export function hasInvisibleCharacters(text: string): boolean {
  return UNSEEN.test(text)
}
