import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  PASSWORD,
  signIn,
  startTestServer,
  type TestUsers,
} from '../../support/server.ts'
import type { OrganizationTarget } from './organization-rows.ts'
import {
  CALLER_NAMES,
  type CallerName,
  callerFacts,
  hasPull,
  ORGANIZATION_NAMES,
  ORGANIZATIONS,
  type OrganizationName,
  PLACES,
  type PlaceFacts,
  pathOf,
  type TeamFacts,
  USERS,
  type UserFacts,
  type Username,
  userFacts,
} from './test-users.ts'

/** A repository that there is. */
export interface Place extends PlaceFacts {
  readonly id: number
}

/** An organisation that there is. */
export interface Organization extends OrganizationTarget {
  readonly name: OrganizationName
}

/** A server with the whole users, its organisations and their repositories. */
export interface MatrixStage {
  readonly url: string
  /** Values of the Authorization header. */
  readonly authorization: Readonly<Record<CallerName, string | undefined>>
  readonly places: readonly Place[]
  readonly organizations: readonly Organization[]
  /**
   * Makes a repository that is as another one is, save that it was given to nobody, for a call that
   * takes it away.
   */
  copyOf(place: Place): Promise<Place>
  /** Forks a repository for an organisation, and gives it to whom the others were given. */
  fork(place: Place, owner: OrganizationName): Promise<Place>
  close(): Promise<void>
}

/**
 * Makes all of it, through the public API.
 *
 * @param facts the repositories, of which tests of other things need none.
 */
export async function openMatrixStage(facts: readonly PlaceFacts[] = PLACES): Promise<MatrixStage> {
  const upstream = await startGitUpstream()
  upstream.commit('main')
  const server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { gitHooks: true },
  })
  const users = await createTestUsers(server.url)
  const rest = restAt(server.url)
  const actors = await inviteUsers(server.url, rest, users)
  const organizations: Organization[] = []
  for (const name of ORGANIZATION_NAMES) {
    await must(
      rest(users.bob, 'POST', '/orgs', { username: name, visibility: ORGANIZATIONS[name] }),
    )
    organizations.push({ name, ...(await makeTeams(rest, users.bob, name)) })
  }
  const places: Place[] = []
  for (const one of facts) {
    const place = await makeRepository(rest, users.bob, upstream, one)
    await share(rest, users.bob, place)
    if (hasPull(place)) await propose(rest, users.bob, place)
    await settle(rest, users.bob, place)
    places.push(place)
  }
  const authorization = {} as Record<CallerName, string | undefined>
  for (const name of CALLER_NAMES) authorization[name] = await authorize(server.url, actors, name)
  await must(rest(users.ada, 'PATCH', '/admin/users/erin', { prohibit_login: true }))
  let copies = 0
  let lastCopy: Promise<unknown> = Promise.resolve()
  const copy = async (copied: PlaceFacts) => {
    const place = await makeRepository(rest, users.bob, upstream, copied)
    await settle(rest, users.bob, place)
    return place
  }
  return {
    url: server.url,
    authorization,
    places,
    organizations,
    copyOf(place) {
      copies += 1
      const copied = { ...place, name: `copy-${copies}` }
      // One after the other: nobody may copy many at a time.
      const copying = lastCopy.then(() => copy(copied))
      lastCopy = copying
      return copying
    },
    async fork(place, owner) {
      const name = `fork-of-${place.owner}`
      const { body } = await must(
        rest(users.bob, 'POST', `/repos/${pathOf(place)}/forks`, { organization: owner, name }),
      )
      const fork: Place = { owner, name, id: body.id, ...(body.private && { private: true }) }
      await share(rest, users.bob, fork)
      return fork
    },
    async close() {
      await server.stop()
      await upstream.stop()
    },
  }
}

type Actors = Readonly<Record<Username, Actor>>

async function inviteUsers(url: string, rest: SendRest, users: TestUsers): Promise<Actors> {
  const actors: Partial<Record<Username, Actor>> = { ...users }
  for (const username of Object.keys(USERS) as Username[]) {
    if (actors[username]) continue
    const user = { username, email: `${username}@example.org`, password: PASSWORD }
    await must(
      rest(users.ada, 'POST', '/admin/users', {
        ...user,
        restricted: userFacts(username).restricted === true,
      }),
    )
    actors[username] = await signIn(url, username)
  }
  return actors as Actors
}

async function makeTeams(rest: SendRest, bob: Actor, organization: OrganizationName) {
  const { body } = await must(rest(bob, 'GET', `/orgs/${organization}/teams`))
  const ownersTeam: number = body[0].id
  const teams = new Map<Username, number>()
  for (const [username, { team }] of users()) {
    if (!team) continue
    const id =
      team.permission === 'owner'
        ? ownersTeam
        : await makeTeam(rest, bob, organization, username, team)
    await must(rest(bob, 'PUT', `/teams/${id}/members/${username}`))
    teams.set(username, id)
  }
  return { team: teams.get('tess') ?? 0, ownersTeam }
}

async function makeTeam(
  rest: SendRest,
  bob: Actor,
  organization: OrganizationName,
  username: Username,
  { permission, units, has }: TeamFacts,
): Promise<number> {
  const levels = Object.entries(units ?? {}).map(([unit, level]) => [`repo.${unit}`, level])
  const { body } = await must(
    rest(bob, 'POST', `/orgs/${organization}/teams`, {
      name: `of-${username}`,
      includes_all_repositories: has === 'all',
      ...(permission ? { permission } : { units_map: Object.fromEntries(levels) }),
    }),
  )
  return body.id
}

/** Makes a repository, public and in use. */
async function makeRepository(
  rest: SendRest,
  bob: Actor,
  upstream: GitUpstream,
  facts: PlaceFacts,
): Promise<Place> {
  const { owner, name, mirror = false } = facts
  const copied = { clone_addr: upstream.url, repo_owner: owner, repo_name: name, mirror }
  const { body } = await must(
    mirror
      ? rest(bob, 'POST', '/repos/migrate', copied)
      : rest(bob, 'POST', owner === 'bob' ? '/user/repos' : `/orgs/${owner}/repos`, {
          name,
          auto_init: !facts.empty,
        }),
  )
  return { ...facts, id: body.id }
}

/** Gives a repository to the collaborators, and to the teams that have it by name. */
async function share(rest: SendRest, bob: Actor, place: Place): Promise<void> {
  const path = `/repos/${pathOf(place)}`
  for (const [username, { collaborates, team }] of users()) {
    if (collaborates)
      await must(
        rest(bob, 'PUT', `${path}/collaborators/${username}`, { permission: collaborates }),
      )
    if (team?.has === 'each' && place.owner !== 'bob')
      await must(rest(bob, 'PUT', `${path}/teams/of-${username}`))
  }
}

/** Opens a pull request, the first one of its repository. */
async function propose(rest: SendRest, bob: Actor, place: Place): Promise<void> {
  const path = `/repos/${pathOf(place)}`
  const content = Buffer.from('new\n').toString('base64')
  await must(
    rest(bob, 'POST', `${path}/contents/new`, { content, branch: 'main', new_branch: 'proposal' }),
  )
  await must(
    rest(bob, 'POST', `${path}/pulls`, {
      head: 'proposal',
      base: 'main',
      title: 'WIP: something new',
    }),
  )
}

async function settle(rest: SendRest, bob: Actor, place: Place): Promise<void> {
  const { private: isPrivate = false, archived = false, unplanned = false } = place
  const changes = {
    private: isPrivate,
    archived,
    has_issues: !unplanned,
    has_pull_requests: !unplanned,
  }
  await must(rest(bob, 'PATCH', `/repos/${pathOf(place)}`, changes))
}

async function authorize(
  url: string,
  actors: Actors,
  name: CallerName,
): Promise<string | undefined> {
  const { user, scopes } = callerFacts(name)
  if (user === undefined) return undefined
  const actor = actors[user]
  return scopes ? `token ${await createToken(url, actor, [...scopes])}` : actor.authorization
}

function users(): [Username, UserFacts][] {
  return (Object.keys(USERS) as Username[]).map((username) => [username, userFacts(username)])
}

async function must(answering: ReturnType<SendRest>): ReturnType<SendRest> {
  const answer = await answering
  if (answer.status >= 300)
    throw new Error(`the stage cannot be set: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}
