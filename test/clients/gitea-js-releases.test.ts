import { fileURLToPath } from 'node:url'
import { type Api, giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  startTestServer,
  type TestServer,
} from '../support/server.ts'
import { misfits, readDeclaredTypes } from './declared-types.ts'

/** The same client as in `gitea-js.test.ts`, about releases. */
const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

let server: TestServer
let api: Api<unknown>

const HOME = ['bob', 'engine'] as const

beforeAll(async () => {
  server = await startTestServer()
  const users = await createTestUsers(server.url)
  api = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
  await api.user.createCurrentUserRepo({ name: 'engine', auto_init: true })
})
afterAll(() => server.stop())

describe('gitea-js', () => {
  it('creates a release and reads it back in every way', async () => {
    const made = await api.repos.repoCreateRelease(...HOME, {
      tag_name: 'v1.0/a',
      name: 'One',
      body: '* all new',
      target_commitish: 'main',
    })
    expect([made.status, made.data.tag_name, made.data.author?.login]).toEqual([
      201,
      'v1.0/a',
      'bob',
    ])
    expect(misfits(types, 'Release', made.data)).toEqual([])
    const { id } = made.data
    if (id === undefined) throw new Error('a release without a number')
    expect((await api.repos.repoGetRelease(...HOME, id)).data).toEqual(made.data)
    expect((await api.repos.repoGetLatestRelease(...HOME)).data).toEqual(made.data)
    expect((await api.repos.repoGetReleaseByTag(...HOME, 'v1.0/a')).data).toEqual(made.data)
    expect((await api.repos.repoListReleases(...HOME)).data).toEqual([made.data])
    expect((await api.repos.repoGetTag(...HOME, 'v1.0/a')).data.name).toBe('v1.0/a')
    const { data: repository } = await api.repos.repoGet(...HOME)
    expect(repository.release_counter).toBe(1)
  })

  it('keeps a draft, edits it, publishes it, and deletes it', async () => {
    const draft = { tag_name: 'v2', draft: true, prerelease: true }
    const { data: made } = await api.repos.repoCreateRelease(...HOME, draft)
    const id = made.id ?? 0
    const listed = async (query: object) =>
      (await api.repos.repoListReleases(...HOME, query)).data.map((one) => one.id)
    expect(await listed({ draft: true })).toEqual([id])
    expect(await listed({ draft: false, 'pre-release': true })).toEqual([])
    const edited = await api.repos.repoEditRelease(...HOME, id, {
      name: 'Two',
      draft: false,
      prerelease: false,
    })
    expect([edited.status, edited.data.name, edited.data.draft]).toEqual([200, 'Two', false])
    expect(misfits(types, 'Release', edited.data)).toEqual([])
    expect((await api.repos.repoGetLatestRelease(...HOME)).data.id).toBe(id)
    expect((await api.repos.repoDeleteRelease(...HOME, id)).status).toBe(204)
    await expect(api.repos.repoGetRelease(...HOME, id)).rejects.toMatchObject({
      status: 404,
      error: { message: 'not found' },
    })
    expect((await api.repos.repoGetTag(...HOME, 'v2')).status).toBe(200)
  })

  it('uploads a file, finds it, renames it, downloads it, and deletes it', async () => {
    const { data: release } = await api.repos.repoCreateRelease(...HOME, { tag_name: 'v3' })
    const place = [...HOME, release.id ?? 0] as const
    const attachment = new File(['to be turned'], 'engine ü.txt')
    const made = await api.repos.repoCreateReleaseAttachment(...place, { attachment })
    expect([made.status, made.data.name, made.data.size]).toEqual([201, 'engine ü.txt', 12])
    expect(misfits(types, 'Attachment', made.data)).toEqual([])
    const named = await api.repos.repoCreateReleaseAttachment(
      ...place,
      { attachment },
      { name: 'other.txt' },
    )
    expect(named.data.name).toBe('other.txt')
    const id = made.data.id ?? 0
    expect((await api.repos.repoListReleaseAttachments(...place)).data).toEqual([
      made.data,
      named.data,
    ])
    expect((await api.repos.repoGetReleaseAttachment(...place, id)).data).toEqual(made.data)
    expect(await (await fetch(made.data.browser_download_url ?? '')).text()).toBe('to be turned')
    const renamed = await api.repos.repoEditReleaseAttachment(...place, id, { name: 'engine.txt' })
    expect([renamed.data.name, renamed.data.download_count]).toEqual(['engine.txt', 1])
    expect((await api.repos.repoDeleteReleaseAttachment(...place, id)).status).toBe(204)
    expect((await api.repos.repoGetRelease(...place)).data.assets).toEqual([named.data])
    expect((await api.repos.repoDeleteReleaseByTag(...HOME, 'v3')).status).toBe(204)
  })
})
