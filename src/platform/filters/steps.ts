import { setImmediate } from 'node:timers/promises'

/**
 * The maximum cost of one step, which takes milliseconds. Other requests are served between steps.
 *
 * The unit is a tenth of a microsecond on ordinary hardware. Costs are estimates for the worst
 * rows.
 */
const STEP_WORK = 50_000

/**
 * The maximum cost of one page: less than a second. A client that wants more requests the next
 * page.
 */
const PAGE_WORK = 8_000_000

/** The cost of reading a row and its position in the list, before any condition. */
const ROW_WORK = 12

/** Each step looks at this many times as many rows as the step before, up to the limit. */
const GROWTH = 4

/** A row that the search looked at. */
export interface ScannedRow<Position> {
  readonly position: Position
  /** Whether the row meets the condition of the filter. */
  readonly meets: boolean
}

/** The limits of a search. */
export interface SearchBounds {
  /** The maximum number of rows that one statement looks at. */
  readonly rowsPerStep: number
  /** The maximum number of rows that are looked at for one page. */
  readonly maxRows: number
}

/**
 * Returns the limits of a search.
 *
 * @param conditionWork the maximum cost of the filter's condition for one row, in units of
 *   `STEP_WORK`.
 */
export function searchBounds(conditionWork: number): SearchBounds {
  const rowWork = ROW_WORK + conditionWork
  return {
    rowsPerStep: Math.max(1, Math.floor(STEP_WORK / rowWork)),
    maxRows: Math.max(1, Math.floor(PAGE_WORK / rowWork)),
  }
}

/**
 * Reads one page of the rows that meet a filter. Yields between the steps.
 *
 * A page can end early, before it is full, when the search has looked at `maxRows` rows.
 *
 * @param limit the maximum number of rows of the page.
 * @param after the position of the last row of the previous page; undefined for the first page.
 * @param scan reads the next rows of the list, including those that do not meet the filter. Fewer
 *   rows than requested mean the end of the list.
 * @returns the rows of the page, and the position where the next page starts; undefined on the last
 *   page.
 */
export async function searchInSteps<Position, Row extends ScannedRow<Position>>(
  { rowsPerStep, maxRows }: SearchBounds,
  limit: number,
  after: Position | undefined,
  scan: (after: Position | undefined, rows: number) => Promise<Row[]>,
): Promise<{ readonly found: Row[]; readonly next: Position | undefined }> {
  const found: Row[] = []
  let position = after
  let left = maxRows
  // Where most rows meet the filter, a page is full after few rows.
  let growingLimit = limit + 1
  for (;;) {
    const wanted = Math.min(rowsPerStep, left, growingLimit)
    growingLimit *= GROWTH
    const rows = await scan(position, wanted)
    left -= rows.length
    for (const row of rows) {
      if (!row.meets) continue
      // A row beyond the limit shows that the page is not the last.
      if (found.length === limit) return { found, next: found.at(-1)?.position }
      found.push(row)
    }
    if (rows.length < wanted) return { found, next: undefined }
    position = rows.at(-1)?.position
    if (left === 0) return { found, next: position }
    await setImmediate()
  }
}
