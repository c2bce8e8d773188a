import type { DescMethod } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { RPC_PROTOCOLS } from '../../support/server.ts'
import type { Cell, Matrix } from './cells.ts'
import { AT_THE_DOOR, type Gate, type Needs } from './model.ts'
import { callerFacts } from './test-users.ts'

/** How far apart in the list of cells the choice of pairs starts for two methods beside each other. */
const CELLS_BETWEEN_STARTS = 37

/** A row of a table: a method, and what its cells are made of. */
export interface Row {
  readonly method: DescMethod
  readonly needs: Needs
  /** Whether each call takes something away, which has to be made first. */
  readonly consumes?: boolean
}

/** The matrix that is described. */
export interface Refusals<R extends Row> {
  readonly rows: readonly R[]
  /** Whether every cell of every row is called. */
  readonly isFull: boolean
  /** What access classes have in common that differ in further conditions only; the class without it. */
  kindOf?(row: R): string
  /** Returns the matrix once it is there. */
  matrix(): Matrix
  cellsOf(row: R): Cell[]
}

/** Names the rows of a table, for tests of each. */
export function named<R extends Row>(rows: readonly R[]): { name: string; row: R }[] {
  return rows.map((row) => ({ name: nameOf(row.method), row }))
}

/** A method for the reader of a failure. */
export function nameOf({ parent, name }: DescMethod): string {
  return `${parent.name}.${name}`
}

/**
 * Returns one row for each access class: the first of those that ask the same of their callers,
 * save for the scopes of tokens.
 */
export function modelsOf<R extends Row>(rows: readonly R[]): ReadonlySet<R> {
  const classOf = ({ needs }: R) => JSON.stringify({ ...needs, scopes: [] })
  const models = new Map(
    rows
      .filter(({ consumes }) => !consumes)
      .map((row) => [classOf(row), row] as const)
      .reverse(),
  )
  return new Set(models.values())
}

/**
 * Returns the row of each kind of access class that has the most outcomes, which everybody calls on
 * everything.
 */
function fullOf<R extends Row>(
  models: ReadonlySet<R>,
  kindOf: (row: R) => string,
  cellsOf: (row: R) => Cell[],
): ReadonlySet<R> {
  const largest = new Map<string, { row: R; outcomes: number }>()
  for (const row of models) {
    const outcomes = new Set(cellsOf(row).map(({ expected }) => expected)).size
    const kind = kindOf(row)
    if (outcomes > (largest.get(kind)?.outcomes ?? 0)) largest.set(kind, { row, outcomes })
  }
  return new Set([...largest.values()].map(({ row }) => row))
}

/**
 * Describes who gets what of each method, by one protocol, and one of each kind of refusal by every
 * route over REST. In the usual tier:
 * - One method of each kind is called by everybody on everything (on two places by who is refused
 *   before the server looks for the place).
 * - The models of the other access classes are called by everybody with each outcome, and on everything
 *   with each outcome.
 * - Each model is refused for each reason by all protocols.
 * - Another method is called by one caller for each outcome, and by the tokens that show its scopes.
 */
export function describeRefusals<R extends Row>({
  rows,
  isFull,
  kindOf = ({ method }) => nameOf(method),
  matrix,
  cellsOf,
}: Refusals<R>): void {
  const models = isFull ? new Set(rows) : modelsOf(rows)
  const others = rows.filter((row) => !models.has(row))

  it.each(named([...models]))('every caller: $name', async ({ row }) => {
    expect(await matrix().byRpc(row.method, modelCells(row))).toEqual([])
  })

  /** Finds out in a test, when the places exist. */
  function modelCells(row: R): Cell[] {
    const cells = cellsOf(row)
    if (isFull) return cells
    const nth = rows.indexOf(row)
    const isWhole = fullOf(models, kindOf, cellsOf).has(row)
    return isWhole ? withoutRepeats(cells, nth) : pairsOf(cells, nth)
  }

  it.each(named(others))('a caller for each gate, and tokens: $name', async ({ row }) => {
    const cells = someOf(cellsOf(row), row.needs, rows.indexOf(row))
    expect(await matrix().byRpc(row.method, cells)).toEqual([])
  })

  describe('each error', () => {
    it.each(named([...models]))('has its reason on every protocol: $name', async ({ row }) => {
      for (const protocol of RPC_PROTOCOLS) {
        expect(
          await matrix().byRpc(row.method, samplesOf(cellsOf(row)), protocol),
          protocol,
        ).toEqual([])
      }
    })

    it.each(named(rows))('has its status on every route: $name', async ({ row }) => {
      expect(await matrix().byRest(row.method, samplesOf(cellsOf(row)))).toEqual([])
    })
  })
}

/**
 * Leaves out most cells of callers who are refused before the server looks for what the call is about.
 * Two places are left for each of these callers, others for each method.
 */
function withoutRepeats(cells: readonly Cell[], nth: number): Cell[] {
  const isAtTheDoor = ({ expected }: Cell) => AT_THE_DOOR.includes(expected as Gate)
  const refused = cells.filter(isAtTheDoor)
  const chosen = [...new Set(refused.map(({ caller }) => caller))].flatMap((one) => {
    const alike = refused.filter(({ caller }) => caller === one)
    const places = [nth, nth + Math.ceil(alike.length / 2)]
    return places.flatMap((place) => alike[place % alike.length] ?? [])
  })
  return [...cells.filter((cell) => !isAtTheDoor(cell)), ...new Set(chosen)]
}

/** Each caller with each outcome of theirs, and each place with each outcome there, in few cells. */
export function pairsOf<C extends Pick<Cell, 'caller' | 'about'> & { readonly expected: unknown }>(
  cells: readonly C[],
  nth: number,
): C[] {
  const found = new Set<string>()
  const start = (nth * CELLS_BETWEEN_STARTS) % cells.length
  return [...cells.slice(start), ...cells.slice(0, start)].filter(({ caller, about, expected }) => {
    const pairs = [`${caller}: ${expected}`, `${about}: ${expected}`]
    if (pairs.every((pair) => found.has(pair))) return false
    for (const pair of pairs) found.add(pair)
    return true
  })
}

/**
 * One cell for each outcome, of which different methods get different ones, and in one place those of
 * the tokens that show the scopes of the method: one that it takes, those that have too little of the
 * same kind, and another one that it refuses.
 */
function someOf(cells: readonly Cell[], { scopes }: Needs, nth: number): Cell[] {
  const outcomes = new Set(cells.map(({ expected }) => expected))
  const chosen = [...outcomes].flatMap((outcome) => {
    const alike = cells.filter(({ expected }) => expected === outcome)
    return alike[nth % alike.length] ?? []
  })
  const place = cells[0]?.about
  const byTokens = cells.filter(
    ({ about, caller }) => about === place && callerFacts(caller).scopes !== undefined,
  )
  const refused = byTokens.filter(({ expected }) => expected === 'SCOPE_MISSING')
  const scopesOf = ({ caller }: Cell) => callerFacts(caller).scopes ?? []
  const taken = byTokens.find((cell) => !refused.includes(cell))
  const lesser = refused.filter((cell) =>
    scopesOf(cell).some((scope) =>
      [scope, scope.replace('read:', 'write:')].some((one) => scopes.includes(one)),
    ),
  )
  const another = refused[nth % refused.length]
  return [...new Set([...chosen, taken, ...lesser, another])].filter((cell) => cell !== undefined)
}

/** One cell for each way in which a call is refused. */
function samplesOf(cells: readonly Cell[]): Cell[] {
  const refused = cells.filter(({ expected }) => expected !== 'let through')
  return [...new Map(refused.map((cell) => [cell.expected, cell])).values()]
}
