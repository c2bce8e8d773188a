import { create } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { isLongTier } from '../../support/tier.ts'
import { type Cell, type Matrix, matrixOf } from './cells.ts'
import { expectedOfRepository, REPOSITORY_GATES } from './model.ts'
import { describeRefusals, modelsOf, named } from './refusals.ts'
import { REPOSITORY_ROWS, type RepositoryRow } from './repository-rows.ts'
import { type MatrixStage, openMatrixStage } from './stage.ts'
import { CALLER_NAMES, callerFacts, isHidden, pathOf, STRANGERS } from './test-users.ts'

let stage: MatrixStage
let matrix: Matrix

beforeAll(async () => {
  stage = await openMatrixStage()
  matrix = matrixOf(stage, REPOSITORY_GATES)
})
afterAll(() => stage.close())

function cellsOf({ needs, requestTo, consumes }: RepositoryRow): Cell[] {
  return stage.places.flatMap((place) =>
    CALLER_NAMES.map((caller) => {
      const expected = expectedOfRepository(needs, callerFacts(caller), place)
      const isTaken = consumes && expected === 'let through'
      const request = async () => requestTo(isTaken ? await stage.copyOf(place) : place)
      return { caller, about: pathOf(place), expected, request }
    }),
  )
}

describe('access to a repository', () => {
  describeRefusals({
    rows: REPOSITORY_ROWS,
    isFull: isLongTier,
    kindOf: ({ needs: { unit, level } }) => `${unit}: ${level}`,
    matrix: () => matrix,
    cellsOf,
  })
})

describe('a repository that a caller may not see', () => {
  const models = modelsOf(REPOSITORY_ROWS)

  /** All hidden repositories for a model of its access class, one of them for another method. */
  function hiddenFor(row: RepositoryRow) {
    const hidden = stage.places.filter(isHidden)
    const nth = REPOSITORY_ROWS.indexOf(row) % hidden.length
    return isLongTier || models.has(row) ? hidden : hidden.slice(nth, nth + 1)
  }

  /** One stranger for a method that is no model, another one for the next method. */
  function strangersFor(row: RepositoryRow) {
    const nth = REPOSITORY_ROWS.indexOf(row) % STRANGERS.length
    return isLongTier || models.has(row) ? STRANGERS : STRANGERS.slice(nth, nth + 1)
  }

  it.each(named(REPOSITORY_ROWS))(
    'is indistinguishable from a missing one: $name',
    async ({ row }) => {
      for (const caller of strangersFor(row)) {
        const answers = (place: Parameters<RepositoryRow['requestTo']>[0]) =>
          Promise.all(matrix.answers(row.method, row.requestTo(place), caller))
        const missing = await answers({ id: 999_999, owner: 'bob', name: 'missing' })
        expect(missing.length).toBeGreaterThan(0)
        for (const place of hiddenFor(row))
          expect(await answers(place), `${caller} on ${pathOf(place)}`).toEqual(missing)
      }
    },
  )

  it('is indistinguishable from a missing one in comparisons', async () => {
    const [base] = stage.places
    if (!base) throw new Error('there is nothing to compare')
    for (const caller of STRANGERS) {
      const answers = (head: string) => {
        const names = { owner: base.owner, repo: base.name, basehead: `main...${head}:main` }
        const request = create(CommitService.method.compareCommits.input, names)
        return Promise.all(matrix.answers(CommitService.method.compareCommits, request, caller))
      }
      const missing = await answers('bob/missing')
      for (const place of stage.places.filter(isHidden)) {
        expect(await answers(pathOf(place)), `${caller} with ${pathOf(place)}`).toEqual(missing)
      }
    }
  })
})
