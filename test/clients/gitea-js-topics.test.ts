import { fileURLToPath } from 'node:url'
import { type Api, giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { misfits, readDeclaredTypes } from './declared-types.ts'

/** The same client as in `gitea-js.test.ts`, about topics and forks that follow. */
const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

let server: TestServer
let users: TestUsers
let api: Api<unknown>

const HOME = ['bob', 'engine'] as const

beforeAll(async () => {
  server = await startTestServer()
  users = await createTestUsers(server.url)
  api = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
  await api.user.createCurrentUserRepo({ name: 'engine', auto_init: true })
})
afterAll(() => server.stop())

describe('gitea-js', () => {
  it('changes topics and reads them back', async () => {
    expect((await api.repos.repoUpdateTopics(...HOME, { topics: ['Steam', 'brass'] })).status).toBe(
      204,
    )
    expect((await api.repos.repoAddTopic(...HOME, 'coal')).status).toBe(204)
    expect((await api.repos.repoDeleteTopic(...HOME, 'brass')).status).toBe(204)
    const { data } = await api.repos.repoListTopics(...HOME)
    expect(data).toEqual({ topics: ['coal', 'steam'] })
    expect(misfits(types, 'TopicName', data)).toEqual([])
    const { data: repository } = await api.repos.repoGet(...HOME)
    expect(repository.topics).toEqual(['coal', 'steam'])
    const { data: found } = await api.repos.repoSearch({ q: 'steam', topic: true })
    expect(found.data?.map(({ full_name }) => full_name)).toEqual(['bob/engine'])
    await expect(api.repos.repoAddTopic(...HOME, 'c++')).rejects.toMatchObject({
      status: 422,
      error: { invalidTopics: 'c++', message: 'Topic name is invalid' },
    })
  })

  it('searches for topics, in the object that servers send although its declaration says list', async () => {
    const { data } = await api.topics.topicSearch({ q: 'ste' })
    expect(data).toEqual({
      topics: [expect.objectContaining({ topic_name: 'steam', repo_count: 1 })],
    })
    expect(misfits(types, 'TopicResponse', Object.values(data).flat()[0])).toEqual([])
  })

  it('brings a fork up to date', async () => {
    const carol = giteaApi(server.url, {
      token: await createToken(server.url, users.carol, ['all']),
    })
    await carol.repos.createFork(...HOME, {})
    await api.repos.repoCreateFile(...HOME, 'valve', { content: 'dg==', message: 'valve' })
    const merged = await carol.repos.repoMergeUpstream('carol', 'engine', { branch: 'main' })
    expect([merged.status, merged.data]).toEqual([200, { merge_type: 'fast-forward' }])
    expect(misfits(types, 'MergeUpstreamResponse', merged.data)).toEqual([])
    const { data: file } = await carol.repos.repoGetContents('carol', 'engine', 'valve')
    expect(file.name).toBe('valve')
  })
})
