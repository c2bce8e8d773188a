/** Sizes of the pages of the forge's lists, by default and at most, as in compatible systems. */
const DEFAULT_LIMIT = 30
const MAX_LIMIT = 50

/** A page of a list by number, as the forge's clients ask for it. */
export interface NumberedPage {
  /** Results before it. */
  readonly offset: number
  /** Size as applied. */
  readonly limit: number
}

/**
 * Reads the page that a request asks for.
 *
 * @param page from 1; anything below is the first one.
 * @param limit anything below 1 asks for the usual size, and too much for the largest.
 */
export function readNumberedPage({ page, limit }: { page: number; limit: number }): NumberedPage {
  const size = limit < 1 ? DEFAULT_LIMIT : Math.min(limit, MAX_LIMIT)
  return { offset: (Math.max(page, 1) - 1) * size, limit: size }
}
