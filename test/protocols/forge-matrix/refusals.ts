import type { DescMethod } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { RPC_PROTOCOLS } from '../../support/server.ts'
import type { Cell, Matrix } from './cells.ts'
import { AT_THE_DOOR, type Gate, type Needs } from './model.ts'
import { callerFacts } from './test-users.ts'

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
 * Describes who gets what of each method, by one protocol, and one of each kind of refusal by every
 * route over REST. The model of each access class is called by everybody on everything (in the usual
 * tier, on two places by who is refused before the server looks for the place), and with each refusal
 * by all protocols; another method of the class by one caller for each gate, and by
 * every token, whose scopes it names itself.
 */
export function describeRefusals<R extends Row>({
  rows,
  isFull,
  matrix,
  cellsOf,
}: Refusals<R>): void {
  const models = isFull ? new Set(rows) : modelsOf(rows)
  const others = rows.filter((row) => !models.has(row))

  it.each(named([...models]))('every caller: $name', async ({ row }) => {
    const cells = isFull ? cellsOf(row) : withoutRepeats(cellsOf(row), rows.indexOf(row))
    expect(await matrix().byRpc(row.method, cells)).toEqual([])
  })

  it.each(named(others))('a caller for each gate, and each token: $name', async ({ row }) => {
    const cells = someOf(cellsOf(row), rows.indexOf(row))
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

/**
 * One cell for each outcome, of which different methods get different ones, and those of all tokens
 * in one place.
 */
function someOf(cells: readonly Cell[], nth: number): Cell[] {
  const outcomes = new Set(cells.map(({ expected }) => expected))
  const chosen = [...outcomes].flatMap((outcome) => {
    const alike = cells.filter(({ expected }) => expected === outcome)
    return alike[nth % alike.length] ?? []
  })
  const place = cells[0]?.about
  const byTokens = cells.filter(
    ({ about, caller }) => about === place && callerFacts(caller).scopes !== undefined,
  )
  return [...new Set([...chosen, ...byTokens])]
}

/** One cell for each way in which a call is refused. */
function samplesOf(cells: readonly Cell[]): Cell[] {
  const refused = cells.filter(({ expected }) => expected !== 'let through')
  return [...new Map(refused.map((cell) => [cell.expected, cell])).values()]
}
