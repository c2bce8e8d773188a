import { afterAll, beforeAll, describe } from 'vitest'
import { isLongTier } from '../../support/tier.ts'
import { ACCOUNT_ROWS, type AccountRow } from './account-rows.ts'
import { type Cell, type Matrix, matrixOf } from './cells.ts'
import { ACCOUNT_GATES, expectedOfAccount } from './model.ts'
import { describeRefusals } from './refusals.ts'
import { type MatrixStage, openMatrixStage } from './stage.ts'
import { CALLER_NAMES, callerFacts } from './test-users.ts'

let stage: MatrixStage
let matrix: Matrix

beforeAll(async () => {
  stage = await openMatrixStage([])
  matrix = matrixOf(stage, ACCOUNT_GATES)
})
afterAll(() => stage.close())

function cellsOf({ needs, request, endsToken }: AccountRow): Cell[] {
  const callers = CALLER_NAMES.filter(
    (caller) => !endsToken || callerFacts(caller).scopes === undefined,
  )
  return callers.map((caller) => ({
    caller,
    about: 'their own behalf',
    expected: expectedOfAccount(needs, callerFacts(caller)),
    request: () => request,
  }))
}

describe("what may be done to one's own account and to the instance", () => {
  describeRefusals({ rows: ACCOUNT_ROWS, isFull: isLongTier, matrix: () => matrix, cellsOf })
})
