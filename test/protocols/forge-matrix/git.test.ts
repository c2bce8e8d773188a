import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLongTier } from '../../support/tier.ts'
import { wholeAnswer } from './ask.ts'
import { inParallel } from './cells.ts'
import { expectedOfRepository, GATES, type RepositoryNeeds } from './model.ts'
import { pairsOf } from './refusals.ts'
import { type MatrixStage, openMatrixStage } from './stage.ts'
import {
  CALLER_NAMES,
  type CallerName,
  callerFacts,
  isHidden,
  type PlaceFacts,
  pathOf,
  STRANGERS,
} from './test-users.ts'

let stage: MatrixStage

beforeAll(async () => {
  stage = await openMatrixStage()
})
afterAll(() => stage.close())

const FETCHING: RepositoryNeeds = {
  signedIn: false,
  scopes: ['read:repository'],
  unit: 'code',
  level: 'read',
}
const PUSHING: RepositoryNeeds = {
  signedIn: true,
  scopes: ['write:repository'],
  unit: 'code',
  level: 'write',
  writes: true,
  movesRefs: true,
}

/** What git sends; its requests want nothing and push nothing. */
const VERBS = [
  {
    name: 'the refs to fetch',
    method: 'GET',
    path: 'info/refs?service=git-upload-pack',
    needs: FETCHING,
  },
  {
    name: 'the refs to push to',
    method: 'GET',
    path: 'info/refs?service=git-receive-pack',
    needs: PUSHING,
  },
  { name: 'a fetch', method: 'POST', path: 'git-upload-pack', needs: FETCHING },
  { name: 'a push', method: 'POST', path: 'git-receive-pack', needs: PUSHING },
] as const
type Verb = (typeof VERBS)[number]

/** What ends a list of lines in the protocol (gitprotocol-common(5)). */
const FLUSH = '0000'

function send(
  { method, path }: Verb,
  repository: string,
  authorization: string | undefined,
): Promise<Response> {
  return fetch(`${stage.url}/${repository}.git/${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(authorization !== undefined && { authorization: forGit(authorization) }),
      ...(method === 'POST' && { 'content-type': `application/x-${path}-request` }),
    },
    ...(method === 'POST' && { body: FLUSH }),
  })
}

/** Git clients send tokens as passwords; other credentials stay as they are. */
function forGit(authorization: string): string {
  const [scheme, secret] = authorization.split(' ')
  return scheme === 'token'
    ? `Basic ${Buffer.from(`bob:${secret}`).toString('base64')}`
    : authorization
}

/**
 * As over REST, save that anonymous callers are asked to sign in wherever that could help, and that
 * git has no status for what is archived.
 */
function expectedStatus({ needs }: Verb, caller: CallerName, place: PlaceFacts): number {
  const expectedOf = (needed: RepositoryNeeds) =>
    expectedOfRepository(needed, callerFacts(caller), place)
  const expected = expectedOf(needs)
  // Readers of code and pull requests push to open pull requests.
  const canPropose =
    needs.level === 'write' &&
    (['code', 'pulls'] as const).every(
      (unit) => expectedOf({ ...needs, level: 'read', unit }) === 'let through',
    )
  if (expected === 'let through' || canPropose) return 200
  if (caller === 'anonymous') return 401
  return expected === 'REPOSITORY_ARCHIVED' ? 403 : GATES[expected]
}

describe('access by Git', () => {
  it.each(VERBS)('$name', async (verb) => {
    const differences: string[] = []
    const all = stage.places.flatMap((place) =>
      CALLER_NAMES.map((caller) => {
        const expected = expectedStatus(verb, caller, place)
        return { place, caller, about: pathOf(place), expected }
      }),
    )
    // The second request of a fetch or of a push is decided as the first one.
    const cells = isLongTier || verb.method === 'GET' ? all : pairsOf(all, VERBS.indexOf(verb))
    await inParallel(cells, async ({ place, caller, expected }) => {
      const { status, headers } = await wholeAnswer(
        send(verb, pathOf(place), stage.authorization[caller]),
      )
      const name = `${caller} on ${pathOf(place)}`
      if (status !== expected) differences.push(`${name}: ${status}, not ${expected}`)
      const asksForCredentials = headers.some(([header]) => header === 'www-authenticate')
      if (asksForCredentials !== (expected === 401))
        differences.push(`${name}: asks for credentials or does not`)
    })
    expect(differences.sort()).toEqual([])
  })

  it.each(VERBS)(
    'tells nothing of a repository that somebody may not know of: $name',
    async (verb) => {
      for (const caller of STRANGERS) {
        const answer = (repository: string) =>
          wholeAnswer(send(verb, repository, stage.authorization[caller]))
        const missing = await answer('bob/missing')
        for (const place of stage.places.filter(isHidden)) {
          expect(await answer(pathOf(place)), `${caller} on ${pathOf(place)}`).toEqual(missing)
        }
      }
    },
  )
})
