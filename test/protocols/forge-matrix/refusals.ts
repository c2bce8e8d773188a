import type { DescMethod } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { RPC_PROTOCOLS } from '../../support/server.ts'
import type { Cell, Matrix } from './cells.ts'

/** A row of a table: a method, and what its cells are made of. */
export interface Row {
  readonly method: DescMethod
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
 * Describes who gets what of each method: every cell by one protocol, and one of each kind of
 * refusal by all of them and by every route over REST.
 *
 * @param matrix gives it once it is there.
 */
export function describeRefusals<R extends Row>(
  rows: readonly R[],
  matrix: () => Matrix,
  cellsOf: (row: R) => Cell[],
): void {
  it.each(named(rows))('every caller: $name', async ({ row }) => {
    expect(await matrix().byRpc(row.method, cellsOf(row))).toEqual([])
  })

  describe('each error', () => {
    it.each(named(rows))('has its reason on every protocol: $name', async ({ row }) => {
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

/** One cell for each way in which a call is refused. */
function samplesOf(cells: readonly Cell[]): Cell[] {
  const refused = cells.filter(({ expected }) => expected !== 'let through')
  return [...new Map(refused.map((cell) => [cell.expected, cell])).values()]
}
