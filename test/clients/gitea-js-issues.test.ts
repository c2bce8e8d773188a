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
/** Bob has the repository, with two pull requests; carol reads it. */
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
  for (const name of ['beds', 'paths']) {
    const content = Buffer.from(`${name}\n`).toString('base64')
    await bob.repos.repoCreateFile(...HOME, `${name}.txt`, {
      content,
      branch: 'main',
      new_branch: name,
    })
    await bob.repos.repoCreatePullRequest(...HOME, { title: name, head: name, base: 'main' })
  }
})
afterAll(() => server.stop())

describe('gitea-js, of a pull request as an issue', () => {
  it('talks about it', async () => {
    const made = await carol.repos.issueCreateComment(...HOME, 1, { body: 'Roses?' })
    expect([made.status, made.data.body, misfits(types, 'Comment', made.data)]).toEqual([
      201,
      'Roses?',
      [],
    ])
    const id = made.data.id ?? 0
    const edited = await carol.repos.issueEditComment(...HOME, id, { body: 'Tulips?' }, JSON_BODY)
    expect([edited.status, edited.data.body]).toEqual([200, 'Tulips?'])
    expect((await bob.repos.issueGetComment(...HOME, id)).data).toMatchObject({
      id,
      body: 'Tulips?',
    })
    const { data: listed } = await bob.repos.issueGetComments(...HOME, 1, {
      since: '2020-01-01T00:00:00Z',
    })
    expect(listed.map(({ user }) => user?.login)).toEqual(['carol'])
    expect((await bob.repos.issueDeleteComment(...HOME, id)).status).toBe(204)
    expect((await bob.repos.issueGetComments(...HOME, 1)).data).toEqual([])
  })

  it('reads and edits it', async () => {
    const { data } = await carol.repos.issueGetIssue(...HOME, 1)
    expect(misfits(types, 'Issue', data)).toEqual([])
    expect(data.pull_request).toMatchObject({ merged: false, merged_at: null })
    const edited = await bob.repos.issueEditIssue(
      ...HOME,
      1,
      { title: 'WIP: beds', assignees: ['bob'] },
      JSON_BODY,
    )
    expect([edited.status, edited.data.title, edited.data.pull_request?.draft]).toEqual([
      201,
      'WIP: beds',
      true,
    ])
  })

  it('labels it', async () => {
    for (const name of ['spring', 'summer'])
      await bob.repos.issueCreateLabel(...HOME, { name, color: '#00ff00' })
    const { data: added } = await bob.repos.issueAddLabel(
      ...HOME,
      1,
      { labels: ['spring'] },
      JSON_BODY,
    )
    expect([added.map(({ name }) => name), misfits(types, 'Label[]', added)]).toEqual([
      ['spring'],
      [],
    ])
    const { data: replaced } = await bob.repos.issueReplaceLabels(
      ...HOME,
      1,
      { labels: ['summer'] },
      JSON_BODY,
    )
    const id = replaced[0]?.id ?? 0
    expect((await bob.repos.issueRemoveLabel(...HOME, 1, id)).status).toBe(204)
    expect((await bob.repos.issueClearLabels(...HOME, 1)).status).toBe(204)
    expect((await carol.repos.issueGetLabels(...HOME, 1)).data).toEqual([])
  })

  it('lets it wait for another one', async () => {
    const other = { owner: 'bob', repo: 'garden', index: 2 }
    const { status, data } = await bob.repos.issueCreateIssueDependencies(
      ...HOME,
      '1',
      other,
      JSON_BODY,
    )
    expect([status, data.number]).toEqual([201, 1])
    const { data: dependencies } = await carol.repos.issueListIssueDependencies(...HOME, '1')
    expect(dependencies.map(({ number }) => number)).toEqual([2])
    expect(
      (await bob.repos.issueRemoveIssueDependencies(...HOME, '1', other, JSON_BODY)).status,
    ).toBe(200)
  })
})
