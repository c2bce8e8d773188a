import { setImmediate } from 'node:timers/promises'

/**
 * Work is counted in tenths of a microsecond of an ordinary machine, estimated for the worst rows.
 *
 * One step takes milliseconds, after which other calls get their turn.
 */
const STEP_WORK = 50_000

/**
 * What one page may cost altogether: less than a second. Who wants to go through more asks for the
 * next page.
 */
const PAGE_WORK = 8_000_000

/** To read a row and its place in the list, before any condition. */
const ROW_WORK = 12

/** How many times as many rows as before each step looks at, up to the bound. */
const GROWTH = 4

/** A row that was looked at. */
export interface ScannedRow<Position> {
  readonly place: Position
  /** Whether the row meets the condition of the filter. */
  readonly meets: boolean
}

/** How far a search goes. */
export interface SearchBounds {
  /** Most rows looked at in one statement. */
  readonly rowsPerStep: number
  /** Most rows looked at for one page. */
  readonly maxRows: number
}

/**
 * @param conditionWork what the condition of the filter costs for one row at worst, in units of
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
 * Reads one page of the rows that meet a filter, in steps between which other work gets its turn.
 *
 * Ends early, with a page that is not full, when as many rows were looked at as the bounds allow.
 *
 * @param limit most rows of the page.
 * @param after place of the last row of the page before; undefined for the first page.
 * @param scan reads the next rows of the list, those that do not meet the filter included. Fewer
 *   than asked for are the last ones.
 * @returns the rows of the page, and where the next page starts, undefined on the last one.
 */
export async function searchInSteps<Position, Row extends ScannedRow<Position>>(
  { rowsPerStep, maxRows }: SearchBounds,
  limit: number,
  after: Position | undefined,
  scan: (after: Position | undefined, rows: number) => Promise<Row[]>,
): Promise<{ readonly found: Row[]; readonly next: Position | undefined }> {
  const found: Row[] = []
  let place = after
  let left = maxRows
  // Where most rows meet the filter, a page is full after few of them.
  let ambition = limit + 1
  for (;;) {
    const wanted = Math.min(rowsPerStep, left, ambition)
    ambition *= GROWTH
    const rows = await scan(place, wanted)
    left -= rows.length
    for (const row of rows) {
      if (!row.meets) continue
      // One more than fits tells that the page is not the last.
      if (found.length === limit) return { found, next: found.at(-1)?.place }
      found.push(row)
    }
    if (rows.length < wanted) return { found, next: undefined }
    place = rows.at(-1)?.place
    if (left === 0) return { found, next: place }
    await setImmediate()
  }
}
