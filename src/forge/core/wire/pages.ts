import type { HandlerContext } from '@connectrpc/connect'
import { type PageSizes, pageSizes } from '../core.ts'
import type { Page } from '../names.ts'

/** Default page sizes of lists of the forge, as in compatible systems. */
const USUAL = { defaultPageSize: 30, maxPageSize: 50 }

/**
 * Returns the page that a request asks for.
 *
 * @param settings page sizes that the operator set.
 * @param page starts at 1. A smaller number means the first page.
 * @param limit a number below 1 means the default size. A number above the maximum means the maximum.
 */
export function readNumberedPage(
  settings: PageSizes,
  { page, limit }: { page: number; limit: number },
): Page {
  const { defaultPageSize, maxPageSize } = numberedPageSizes(settings)
  const size = limit < 1 ? defaultPageSize : Math.min(limit, maxPageSize)
  return { offset: (Math.max(page, 1) - 1) * size, limit: size }
}

/** Returns the page sizes of lists of the forge. */
export function numberedPageSizes(settings: PageSizes): ReturnType<typeof pageSizes> {
  return pageSizes(settings, USUAL)
}

/** Sets the page headers that compatible systems send for some lists, besides those of every list. */
export function setPageHeaders(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  total: number,
  { offset, limit }: Page,
): void {
  responseHeader.set('x-page', String(offset / limit + 1))
  responseHeader.set('x-perpage', String(limit))
  responseHeader.set('x-pagecount', String(Math.ceil(total / limit)))
  responseHeader.set('x-hasmore', String(offset + limit < total))
}
