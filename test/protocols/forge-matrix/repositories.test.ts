import type { DescMethod } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROTOCOLS } from '../invoke.ts'
import { type Asker, askerAt, hasField, restRequestsOf, routesOf, sendRest, servedMethods } from './ask.ts'
import { CALLER_NAMES, type CallerName, callerFacts, pathOf } from './cast.ts'
import { type Cell, differencesIn, inParallel } from './cells.ts'
import { type Expected, expectedOfRepository, GATES, REPOSITORY_GATES } from './model.ts'
import { ORGANIZATION_ROWS } from './organization-rows.ts'
import { REPOSITORY_ROWS, type RepositoryRow } from './repository-rows.ts'
import { type MatrixStage, openMatrixStage, type Place } from './stage.ts'

let stage: MatrixStage
let asker: Asker

beforeAll(async () => {
  stage = await openMatrixStage()
  asker = askerAt(stage.url)
})
afterAll(() => stage.close())

const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`
const ROWS = REPOSITORY_ROWS.map((row) => ({ name: nameOf(row.method), row }))

/** A caller and a repository, and what has to come of a call. */
interface Pair {
  readonly caller: CallerName
  readonly place: Place
  readonly expected: Expected
}

function pairsOf({ needs }: RepositoryRow): Pair[] {
  return stage.places.flatMap((place) =>
    CALLER_NAMES.map((caller) => ({
      caller,
      place,
      expected: expectedOfRepository(needs, callerFacts(caller), place),
    })),
  )
}

/** One pair for each way in which a call is refused. */
function samplesOf(row: RepositoryRow): Pair[] {
  const refused = pairsOf(row).filter(({ expected }) => expected !== 'let through')
  return [...new Map(refused.map((pair) => [pair.expected, pair])).values()]
}

const nameOfPair = ({ caller, place }: Pair) => `${caller} on ${pathOf(place)}`

describe('who may do what to which repository', () => {
  it.each(ROWS)('$name', async ({ row }) => {
    const { method, requestTo, consumes } = row
    const cells = pairsOf(row).map((pair): Cell => {
      const { caller, place, expected } = pair
      return {
        name: nameOfPair(pair),
        expected,
        ask: async () => {
          const isTaken = consumes && expected === 'let through'
          return asker.ask(method, requestTo(isTaken ? await stage.copyOf(place) : place), stage.authorization[caller])
        },
      }
    })
    expect(await differencesIn(cells, REPOSITORY_GATES)).toEqual([])
  })

  it('has a row for every method that is about a repository', async () => {
    const rows: readonly { readonly method: DescMethod }[] = [...REPOSITORY_ROWS, ...ORGANIZATION_ROWS]
    const isAboutOne = (method: DescMethod) =>
      hasField(method.input, 'repo') || routesOf(method).some(({ template }) => template.includes('/repositories/{'))
    const withoutRow = (method: DescMethod) => !rows.some((row) => row.method === method)
    const missing = (await servedMethods()).filter((method) => isAboutOne(method) && withoutRow(method))
    expect(missing.map(nameOf)).toEqual([])
  })
})

describe('each refusal', () => {
  it.each(ROWS)('is the same on every protocol: $name', async ({ row }) => {
    const cells = samplesOf(row).flatMap((pair) =>
      PROTOCOLS.filter((protocol) => protocol !== 'REST').map(
        (protocol): Cell => ({
          name: `${nameOfPair(pair)}, by ${protocol}`,
          expected: pair.expected,
          ask: () => asker.ask(row.method, row.requestTo(pair.place), stage.authorization[pair.caller], protocol),
        }),
      ),
    )
    expect(await differencesIn(cells, REPOSITORY_GATES)).toEqual([])
  })

  it.each(ROWS)('has its status on every route: $name', async ({ row }) => {
    const differences: string[] = []
    await inParallel(samplesOf(row), async (pair) => {
      if (pair.expected === 'let through') return
      for (const request of restRequestsOf(row.method, row.requestTo(pair.place))) {
        const { status } = await sendRest(stage.url, request, stage.authorization[pair.caller])
        if (status !== GATES[pair.expected]) {
          differences.push(`${nameOfPair(pair)}, ${request.verb} ${request.path}: ${status} for ${pair.expected}`)
        }
      }
    })
    expect(differences).toEqual([])
  })
})

describe('a repository that somebody may not know of', () => {
  const missing = { id: 999_999, owner: 'bob', name: 'missing' } as const
  const strangers = ['anonymous', 'stranger', 'restricted stranger', 'token of the owner for public data'] as const

  it.each(ROWS)('answers as one that does not exist: $name', async ({ row }) => {
    const hidden = stage.places.filter((place) => place.private || place.owner === 'hidden')
    for (const caller of strangers) {
      const answers = async (place: Pick<Place, 'id' | 'owner' | 'name'>) => {
        const requests = restRequestsOf(row.method, row.requestTo(place))
        return Promise.all(requests.map((request) => wholeAnswer(request, stage.authorization[caller])))
      }
      const expected = await answers(missing)
      expect(expected.length).toBeGreaterThan(0)
      for (const place of hidden) expect(await answers(place), `${caller} on ${pathOf(place)}`).toEqual(expected)
    }
  })
})

/** Everything that came back, save what is never the same. */
async function wholeAnswer(request: Parameters<typeof sendRest>[1], authorization: string | undefined) {
  const response = await sendRest(stage.url, request, authorization)
  const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status: response.status, headers, body: await response.text() }
}
