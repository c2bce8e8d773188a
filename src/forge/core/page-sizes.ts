/** Page sizes of lists that the operator may configure. */
export interface PageSizes {
  /** Size for requests that name none; undefined for the default of the list. */
  readonly defaultPageSize: number | undefined
  /** Maximum size; undefined for the maximum of the list. */
  readonly maxPageSize: number | undefined
}

/**
 * Returns the page sizes of a list. Configured sizes override those of the list, and no default
 * exceeds the maximum.
 *
 * @param usual the sizes of the list if the operator configures none.
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
