import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restAt, type SendRest } from '../../support/rest.ts'
import { atTheDoor, mayKnowOf, mayRead, type Needs } from './model.ts'
import { type MatrixStage, openMatrixStage, type Place } from './stage.ts'
import {
  CALLER_NAMES,
  type CallerFacts,
  callerFacts,
  ORGANIZATION_NAMES,
  type PlaceFacts,
  pathOf,
  type UserFacts,
  userFacts,
} from './test-users.ts'

let stage: MatrixStage
let rest: SendRest
let repositories: Place[]

beforeAll(async () => {
  stage = await openMatrixStage()
  rest = restAt(stage.url)
  const [original] = stage.places
  if (!original) throw new Error('there is nothing to fork')
  repositories = [
    ...stage.places,
    await stage.fork(original, 'lodge'),
    await stage.fork(original, 'hidden'),
  ]
})
afterAll(() => stage.close())

/**
 * A list: where it is, what it asks of callers, and what it has of the things that a caller may
 * know of.
 */
interface List {
  readonly path: string
  readonly needs: Needs
  /** Names, in any order. */
  expected(who: CallerFacts): string[]
}

const anybody = (...scopes: string[]): Needs => ({ signedIn: false, scopes })
const signedIn = (...scopes: string[]): Needs => ({ signedIn: true, scopes })
const readable = (who: CallerFacts, isListed: (place: PlaceFacts) => boolean) =>
  repositories.filter((place) => isListed(place) && mayRead(who, place)).map(pathOf)

/**
 * Whether something about a repository was given to somebody, or they are in the organisation that
 * owns it.
 */
function hasPartIn({ user }: CallerFacts, { owner }: PlaceFacts): boolean {
  const { owns, collaborates, team }: UserFacts = user ? userFacts(user) : {}
  return collaborates !== undefined || (owner === 'bob' ? owns === true : team !== undefined)
}

const REPOSITORY_LISTS: readonly List[] = [
  {
    path: '/repos/search',
    needs: anybody('read:repository'),
    expected: (who) => readable(who, () => true),
  },
  {
    path: '/repos/search?q=PUBLIC&mode=source',
    needs: anybody('read:repository'),
    expected: (who) => readable(who, ({ name }) => name.includes('public')),
  },
  {
    path: '/repos/search?is_private=true',
    needs: anybody('read:repository'),
    expected: (who) => readable(who, (place) => place.private === true),
  },
  {
    path: '/users/bob/repos',
    needs: anybody('read:repository', 'read:user'),
    expected: (who) => readable(who, ({ owner }) => owner === 'bob'),
  },
  {
    path: '/user/repos',
    needs: signedIn('read:repository', 'read:user'),
    expected: (who) => readable(who, (place) => hasPartIn(who, place)),
  },
  {
    path: '/repos/guild/public/forks',
    needs: anybody('read:repository'),
    expected: (who) => readable(who, ({ name }) => name.startsWith('fork-of-')),
  },
  ...ORGANIZATION_NAMES.map(
    (organization): List => ({
      path: `/orgs/${organization}/repos`,
      needs: anybody('read:organization'),
      expected: (who) =>
        mayKnowOf(who, organization) ? readable(who, ({ owner }) => owner === organization) : [],
    }),
  ),
]

const ORGANIZATION_LISTS: readonly List[] = [
  {
    path: '/orgs',
    needs: anybody('read:organization'),
    expected: (who) => ORGANIZATION_NAMES.filter((name) => mayKnowOf(who, name)),
  },
  // Nobody shows that they are a member.
  {
    path: '/users/tess/orgs',
    needs: anybody('read:user', 'read:organization'),
    expected: (who) => ORGANIZATION_NAMES.filter((name) => mayKnowOf(who, name, true)),
  },
  {
    path: '/user/orgs',
    needs: signedIn('read:user', 'read:organization'),
    expected: (who) => {
      const isMember = who.user !== undefined && userFacts(who.user).team !== undefined
      return isMember ? ORGANIZATION_NAMES.filter((name) => mayKnowOf(who, name, true)) : []
    },
  },
]

describe('lists contain only resources that the caller may see', () => {
  it.each(REPOSITORY_LISTS)('$path', (list) => compare(list, ({ full_name }) => full_name))
  it.each(ORGANIZATION_LISTS)('$path', (list) => compare(list, ({ name }) => name))

  it('the repositories of a team', async () => {
    const [guild] = stage.organizations
    const teamRepositories: List = {
      path: `/teams/${guild?.team}/repos`,
      needs: signedIn('read:organization'),
      expected: (who) =>
        mayKnowOf(who, 'guild', true) ? readable(who, ({ owner }) => owner === 'guild') : [],
    }
    await compare(teamRepositories, ({ full_name }) => full_name)
    for (const caller of CALLER_NAMES) {
      const found = teamRepositories.expected(callerFacts(caller))
      for (const place of stage.places.filter(({ owner }) => owner === 'guild')) {
        if (atTheDoor(teamRepositories.needs, callerFacts(caller))) continue
        const path = `/teams/${guild?.team}/repos/${pathOf(place)}`
        const { status } = await rest(
          { authorization: stage.authorization[caller] ?? '' },
          'GET',
          path,
        )
        expect(status, `${caller} on ${pathOf(place)}`).toBe(
          found.includes(pathOf(place)) ? 200 : 404,
        )
      }
    }
  })
})

/** Reads a list as everybody, and counts it too. */
async function compare(
  { path, needs, expected }: List,
  nameOf: (item: Record<string, string>) => string | undefined,
) {
  for (const caller of CALLER_NAMES) {
    const who = callerFacts(caller)
    if (atTheDoor(needs, who)) continue
    const authorization = stage.authorization[caller]
    const size = path.includes('?') ? '&limit=50' : '?limit=50'
    const { body, headers } = await rest(
      authorization === undefined ? undefined : { authorization },
      'GET',
      path + size,
    )
    const items: Record<string, string>[] = Array.isArray(body) ? body : (body.data ?? [])
    expect(items.map(nameOf).sort(), caller).toEqual(expected(who).sort())
    if (items.length > 0) expect(headers.get('x-total-count'), caller).toBe(String(items.length))
  }
}
