import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLongTier } from '../../support/tier.ts'
import { type Cell, type Matrix, matrixOf } from './cells.ts'
import { expectedOfOrganization, ORGANIZATION_GATES } from './model.ts'
import { ORGANIZATION_ROWS, type OrganizationRow } from './organization-rows.ts'
import { describeRefusals, named } from './refusals.ts'
import { type MatrixStage, openMatrixStage } from './stage.ts'
import { CALLER_NAMES, callerFacts } from './test-users.ts'

let stage: MatrixStage
let matrix: Matrix

beforeAll(async () => {
  stage = await openMatrixStage()
  matrix = matrixOf(stage, ORGANIZATION_GATES)
})
afterAll(() => stage.close())

function cellsOf({ needs, requestTo }: OrganizationRow): Cell[] {
  return stage.organizations.flatMap((organization) =>
    CALLER_NAMES.map((caller) => ({
      caller,
      about: organization.name,
      expected: expectedOfOrganization(needs, callerFacts(caller), organization.name),
      request: () => requestTo(organization),
    })),
  )
}

describe('access to an organisation', () => {
  describeRefusals({ rows: ORGANIZATION_ROWS, isFull: isLongTier, matrix: () => matrix, cellsOf })
})

describe('an organisation that a caller may not see', () => {
  it.each(named(ORGANIZATION_ROWS))(
    'answers as one that does not exist: $name',
    async ({ row }) => {
      const hidden = stage.organizations.filter(({ name }) => name === 'hidden')
      expect(hidden.length).toBe(1)
      for (const caller of ['anonymous', 'stranger', 'restricted stranger'] as const) {
        const answers = (target: Parameters<OrganizationRow['requestTo']>[0]) =>
          Promise.all(matrix.answers(row.method, row.requestTo(target), caller))
        const missing = await answers({ name: 'missing', team: 999_999, ownersTeam: 999_999 })
        expect(missing.length).toBeGreaterThan(0)
        for (const organization of hidden)
          expect(await answers(organization), caller).toEqual(missing)
      }
    },
  )
})
