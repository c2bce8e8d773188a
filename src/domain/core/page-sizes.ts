/** Sizes of the pages of lists, as far as the operator sets them. */
export interface PageSizes {
  /** For a request that asks for none; undefined for the usual size of the list. */
  readonly defaultPageSize: number | undefined
  /** What larger requests get; undefined for the usual one of the list. */
  readonly maxPageSize: number | undefined
}

/**
 * The sizes of the pages of a list. One that the operator sets counts for every list, and a usual
 * one gives way to it: no page is larger than the largest.
 *
 * @param usual sizes of the list where the operator sets none.
 */
export function pageSizes(
  { defaultPageSize, maxPageSize }: PageSizes,
  usual: { readonly defaultPageSize: number; readonly maxPageSize: number },
): { readonly defaultPageSize: number; readonly maxPageSize: number } {
  const largest = maxPageSize ?? Math.max(usual.maxPageSize, defaultPageSize ?? 0)
  return {
    defaultPageSize: Math.min(defaultPageSize ?? usual.defaultPageSize, largest),
    maxPageSize: largest,
  }
}
