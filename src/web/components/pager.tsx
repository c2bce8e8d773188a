import type { VNode } from 'preact'

/** Links to the neighbouring pages of a list. */
export function Pager(props: { page: number; limit: number; total: bigint }): VNode | null {
  const { page, limit, total } = props
  const last = Math.max(1, Math.ceil(Number(total) / Math.max(limit, 1)))
  if (last === 1) return null
  return (
    <nav class="pager" aria-label="Pages">
      {page > 1 && (
        <a rel="prev" href={withPage(page - 1)}>
          Previous
        </a>
      )}
      <span>
        Page {page} of {last}
      </span>
      {page < last && (
        <a rel="next" href={withPage(page + 1)}>
          Next
        </a>
      )}
    </nav>
  )
}

/** Returns the page that an address names. */
export function pageOf(query: URLSearchParams): number {
  const page = Number(query.get('page') ?? '1')
  return Number.isInteger(page) && page > 0 ? page : 1
}

function withPage(page: number): string {
  const query = new URLSearchParams(location.search)
  query.set('page', String(page))
  return `${location.pathname}?${query}`
}
