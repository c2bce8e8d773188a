import { fileURLToPath } from 'node:url'
import { type Api, ContentType, giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  startTestServer,
  type TestServer,
} from '../support/server.ts'
import { misfits, readDeclaredTypes } from './declared-types.ts'

const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

let server: TestServer
/** Bob has the repository, with a pull request; carol reads it. */
let bob: Api<unknown>
let carol: Api<unknown>

const HOME = ['bob', 'garden'] as const

/** The client says so itself of most calls, and forgets it of these. */
const JSON_BODY = { type: ContentType.Json }

beforeAll(async () => {
  server = await startTestServer()
  const users = await createTestUsers(server.url)
  bob = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
  carol = giteaApi(server.url, { token: await createToken(server.url, users.carol, ['all']) })
  await bob.user.createCurrentUserRepo({ name: 'garden', auto_init: true })
  await bob.repos.repoCreateFile(...HOME, 'beds.txt', {
    content: btoa('beds\n'),
    branch: 'main',
    new_branch: 'beds',
  })
  await bob.repos.repoCreatePullRequest(...HOME, { title: 'Beds', head: 'beds', base: 'main' })
})
afterAll(() => server.stop())

/** Returns what does not fit a type, besides properties that the server does not have. */
const wrong = (type: string, value: unknown) =>
  misfits(types, type, value).filter((misfit) => !misfit.endsWith(' is missing'))

describe('gitea-js', () => {
  it('stars a repository', async () => {
    expect((await carol.user.userCurrentPutStar(...HOME)).status).toBe(204)
    expect((await carol.user.userCurrentCheckStarring(...HOME)).status).toBe(204)
    const { data: starred } = await carol.user.userCurrentListStarred()
    expect(wrong('Repository[]', starred)).toEqual([])
    expect(starred).toMatchObject([{ full_name: 'bob/garden', stars_count: 1 }])
    const { data: fans } = await bob.repos.repoListStargazers(...HOME)
    expect([fans.map(({ login }) => login), misfits(types, 'User[]', fans)]).toEqual([
      ['carol'],
      [],
    ])
  })

  it('follows a user', async () => {
    expect((await carol.user.userCurrentPutFollow('bob')).status).toBe(204)
    const { data } = await bob.users.userListFollowers('bob')
    expect([data.map(({ login }) => login), misfits(types, 'User[]', data)]).toEqual([
      ['carol'],
      [],
    ])
  })

  it('lists and searches pull requests as issues', async () => {
    const { data: listed } = await carol.repos.issueListIssues(...HOME, { type: 'pulls' })
    const { data: found } = await carol.repos.issueSearchIssues({ type: 'pulls', q: 'bed' })
    for (const issues of [listed, found])
      expect([issues.map(({ title }) => title), misfits(types, 'Issue[]', issues)]).toEqual([
        ['Beds'],
        [],
      ])
  })

  it('reacts, and reads the timeline', async () => {
    const content = { content: 'heart' }
    const made = await carol.repos.issuePostIssueReaction(...HOME, 1, content, JSON_BODY)
    expect([made.status, misfits(types, 'Reaction', made.data)]).toEqual([201, []])
    const { data: reactions } = await bob.repos.issueGetIssueReactions(...HOME, 1)
    expect(reactions).toMatchObject([{ content: 'heart', user: { login: 'carol' } }])
    const gone = await carol.repos.issueDeleteIssueReaction(...HOME, 1, content, JSON_BODY)
    expect(gone.status).toBe(200)

    await carol.repos.issueCreateComment(...HOME, 1, { body: 'Roses?' })
    const { data: timeline } = await bob.repos.issueGetCommentsAndTimeline(...HOME, 1)
    expect(timeline).toMatchObject([{ type: 'comment', body: 'Roses?', user: { login: 'carol' } }])
    expect(wrong('TimelineComment[]', timeline)).toEqual([])
  })

  it('has settings and addresses', async () => {
    const { data: emails } = await bob.user.userListEmails()
    expect(misfits(types, 'Email[]', emails)).toEqual([])
    expect(emails).toMatchObject([{ email: 'bob@example.org', primary: true }])
    const changed = await bob.user.updateUserSettings({ location: 'Bern' }, JSON_BODY)
    expect([changed.status, misfits(types, 'UserSettings', changed.data)]).toEqual([200, []])
    expect((await bob.user.getUserSettings()).data).toMatchObject({ location: 'Bern' })
  })
})
