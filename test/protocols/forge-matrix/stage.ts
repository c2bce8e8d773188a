import { parseAllowedHosts } from '../../../src/domain/outbound/allowed-hosts.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import {
  type Actor,
  type Cast,
  createToken,
  inviteCast,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
} from '../../support/server.ts'
import {
  CALLER_NAMES,
  type CallerName,
  callerFacts,
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
} from './cast.ts'

/** A repository that there is. */
export interface Place extends PlaceFacts {
  readonly id: number
}

/** A server with the whole cast, its organisations and their repositories. */
export interface MatrixStage {
  readonly server: TestServer
  readonly url: string
  /** Values of the Authorization header. */
  readonly authorization: Readonly<Record<CallerName, string | undefined>>
  readonly places: readonly Place[]
  /** Number of the team that reads, of each organisation. */
  readonly teams: Readonly<Record<OrganizationName, number>>
  /** Makes a repository that is as another one is, for a call that takes it away. */
  copyOf(place: Place): Promise<Place>
  close(): Promise<void>
}

/** Makes all of it, through the public API. */
export async function openMatrixStage(): Promise<MatrixStage> {
  const upstream = await startGitUpstream()
  upstream.commit('main')
  const server = await startTestServer({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
  const cast = await inviteCast(server.url)
  const rest = restAt(server.url)
  const actors = await inviteUsers(server.url, rest, cast)
  const teams = {} as Record<OrganizationName, number>
  for (const name of ORGANIZATION_NAMES) {
    await must(rest(cast.bob, 'POST', '/orgs', { username: name, visibility: ORGANIZATIONS[name] }))
    teams[name] = await makeTeams(rest, cast.bob, name)
  }
  const make = (facts: PlaceFacts) => makePlace(rest, cast.bob, upstream, facts)
  const places: Place[] = []
  for (const facts of PLACES) places.push(await make(facts))
  const authorization = {} as Record<CallerName, string | undefined>
  for (const name of CALLER_NAMES) authorization[name] = await authorize(server.url, actors, name)
  await must(rest(cast.ada, 'PATCH', '/admin/users/erin', { prohibit_login: true }))
  let copies = 0
  let lastCopy: Promise<unknown> = Promise.resolve()
  return {
    server,
    url: server.url,
    authorization,
    places,
    teams,
    copyOf(place) {
      copies += 1
      const facts = { ...place, name: `copy-${copies}` }
      // One after the other: nobody may copy many at a time.
      const copy = lastCopy.then(() => make(facts))
      lastCopy = copy
      return copy
    },
    async close() {
      await server.stop()
      await upstream.stop()
    },
  }
}

type Actors = Readonly<Record<Username, Actor>>

async function inviteUsers(url: string, rest: SendRest, cast: Cast): Promise<Actors> {
  const actors: Partial<Record<Username, Actor>> = { ...cast }
  for (const username of Object.keys(USERS) as Username[]) {
    if (actors[username]) continue
    const user = { username, email: `${username}@example.org`, password: PASSWORD }
    await must(rest(cast.ada, 'POST', '/admin/users', { ...user, restricted: userFacts(username).restricted === true }))
    actors[username] = await signIn(url, username)
  }
  return actors as Actors
}

/** Makes the teams of an organisation, and returns the number of the one that reads. */
async function makeTeams(rest: SendRest, bob: Actor, organization: string): Promise<number> {
  const { body: existing } = await must(rest(bob, 'GET', `/orgs/${organization}/teams`))
  const [owners] = existing
  let reading = 0
  for (const [username, { team }] of users()) {
    if (!team || username === 'bob') continue
    const id = team.permission === 'owner' ? owners.id : await makeTeam(rest, bob, organization, username, team)
    await must(rest(bob, 'PUT', `/teams/${id}/members/${username}`))
    if (username === 'tess') reading = id
  }
  return reading
}

async function makeTeam(
  rest: SendRest,
  bob: Actor,
  organization: string,
  username: string,
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

async function makePlace(rest: SendRest, bob: Actor, upstream: GitUpstream, facts: PlaceFacts): Promise<Place> {
  const { owner, name } = facts
  const path = `/repos/${pathOf(facts)}`
  const { body } = await must(
    facts.mirror
      ? rest(bob, 'POST', '/repos/migrate', {
          clone_addr: upstream.url,
          repo_owner: owner,
          repo_name: name,
          mirror: true,
        })
      : rest(bob, 'POST', owner === 'bob' ? '/user/repos' : `/orgs/${owner}/repos`, { name, auto_init: !facts.empty }),
  )
  for (const [username, { collaborates, team }] of users()) {
    if (collaborates) await must(rest(bob, 'PUT', `${path}/collaborators/${username}`, { permission: collaborates }))
    if (team?.has === 'each' && owner !== 'bob') await must(rest(bob, 'PUT', `${path}/teams/of-${username}`))
  }
  const { private: isPrivate = false, archived = false, unplanned = false } = facts
  const changes = { private: isPrivate, has_issues: !unplanned, has_pull_requests: !unplanned }
  await must(rest(bob, 'PATCH', path, { ...changes, archived }))
  return { ...facts, id: body.id }
}

async function authorize(url: string, actors: Actors, name: CallerName): Promise<string | undefined> {
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
  if (answer.status >= 300) throw new Error(`the stage cannot be set: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}
