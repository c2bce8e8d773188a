import type { HandlerContext } from '@connectrpc/connect'
import { type PageSizes, pageSizes } from '../../domain/core/page-sizes.ts'

/**
 * Sizes of the pages of the forge's lists unless the operator sets others: those of compatible
 * systems.
 */
const USUAL = { defaultPageSize: 30, maxPageSize: 50 }

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
 * @param settings sizes that the operator set.
 * @param page from 1; anything below is the first one.
 * @param limit anything below 1 asks for the usual size, and too much for the largest.
 */
export function readNumberedPage(
  settings: PageSizes,
  { page, limit }: { page: number; limit: number },
): NumberedPage {
  const { defaultPageSize, maxPageSize } = pageSizes(settings, USUAL)
  const size = limit < 1 ? defaultPageSize : Math.min(limit, maxPageSize)
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
