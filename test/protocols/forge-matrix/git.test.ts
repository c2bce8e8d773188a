import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALLER_NAMES, callerFacts, pathOf } from './cast.ts'
import { type Cell, differencesIn, inParallel } from './cells.ts'
import { expectedOfRepository, GATES, REPOSITORY_GATES, type RepositoryNeeds } from './model.ts'
import { type MatrixStage, openMatrixStage, type Place } from './stage.ts'

let stage: MatrixStage

beforeAll(async () => {
  stage = await openMatrixStage()
})
afterAll(() => stage.close())

const fetching: RepositoryNeeds = { signedIn: false, scopes: ['read:repository'], unit: 'code', level: 'read' }
const pushing: RepositoryNeeds = {
  signedIn: true,
  scopes: ['write:repository'],
  unit: 'code',
  level: 'write',
  writes: true,
  movesRefs: true,
}
