import type { HandlerContext } from '@connectrpc/connect'

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

/** What compatible systems tell about the page of some lists, beside the headers of every list. */
export function setPageHeaders(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  total: number,
  { offset, limit }: NumberedPage,
): void {
  responseHeader.set('x-page', String(offset / limit + 1))
  responseHeader.set('x-perpage', String(limit))
  responseHeader.set('x-pagecount', String(Math.ceil(total / limit)))
  responseHeader.set('x-hasmore', String(offset + limit < total))
}
