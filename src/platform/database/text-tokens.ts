/** The maximum number of characters of a token. The rest of a longer word is left out. */
const MAX_TOKEN_CHARACTERS = 64

/**
 * Chinese, Japanese, Korean and Thai. They have no spaces between words, or endings that are part of
 * the word.
 */
const UNSPACED = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}]`
const CHARACTER = String.raw`[\p{L}\p{N}\p{M}]`
/** A run of one of both sorts. Each character decides alone, so that the scan is linear. */
const RUNS = new RegExp(`((?:(?=${UNSPACED})${CHARACTER})+)|(?:(?!${UNSPACED})${CHARACTER})+`, 'gu')
const DIACRITICS = /(?=\p{M})\p{Diacritic}/gu

/**
 * Returns the tokens of a text, in their order: words of letters and digits, without case and
 * diacritics. Runs of Chinese, Japanese, Korean and Thai become overlapping pairs of characters, so
 * that any neighbouring characters are found.
 *
 * Both databases store and compare these tokens, so that they find the same texts.
 */
export function tokensOf(text: string): string[] {
  const tokens: string[] = []
  for (const [run, unspaced] of folded(text).matchAll(RUNS)) {
    const characters = Array.from(run)
    if (unspaced === undefined) tokens.push(characters.slice(0, MAX_TOKEN_CHARACTERS).join(''))
    else if (characters.length === 1) tokens.push(run)
    else
      for (let i = 1; i < characters.length; i++)
        tokens.push(`${characters[i - 1]}${characters[i]}`)
  }
  return tokens
}

/**
 * Folds case in both directions: upper case makes one of `ß` and `ss`, and lower case one of `Σ` and
 * both forms of the small letter.
 */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKD')
    .replaceAll(DIACRITICS, '')
    .normalize('NFKC')
}
