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

/** As in `gitea-js.test.ts`, for the scripts of a repository. */
const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

let server: TestServer
let users: TestUsers
let api: Api<unknown>

beforeAll(async () => {
  server = await startTestServer({ settings: { gitHooks: true } })
  users = await createTestUsers(server.url)
  api = giteaApi(server.url, { token: await createToken(server.url, users.ada, ['all']) })
})
afterAll(() => server.stop())

const HOME = ['ada', 'engine'] as const

describe('gitea-js', () => {
  it('edits a hook, is refused by it, and clears it', async () => {
    await api.user.createCurrentUserRepo({ name: 'engine', auto_init: true })
    const { data: hooks } = await api.repos.repoListGitHooks(...HOME)
    expect(hooks.map(({ name, is_active }) => [name, is_active])).toEqual([
      ['pre-receive', false],
      ['update', false],
      ['post-receive', false],
    ])
    const content = '#!/bin/sh\necho "error: not on a Sunday"\nexit 1\n'
    const edited = await api.repos.repoEditGitHook(...HOME, 'pre-receive', { content })
    expect([edited.status, edited.data]).toEqual([
      200,
      { name: 'pre-receive', is_active: true, content },
    ])
    expect(misfits(types, 'GitHook', edited.data)).toEqual([])
    expect((await api.repos.repoGetGitHook(...HOME, 'pre-receive')).data).toEqual(edited.data)

    const file = { content: Buffer.from('x').toString('base64') }
    await expect(api.repos.repoCreateFile(...HOME, 'x.txt', file)).rejects.toMatchObject({
      status: 403,
      error: { message: 'not on a Sunday' },
    })
    expect((await api.repos.repoDeleteGitHook(...HOME, 'pre-receive')).status).toBe(204)
    expect((await api.repos.repoCreateFile(...HOME, 'x.txt', file)).status).toBe(201)
    expect((await api.repos.repoGetGitHook(...HOME, 'pre-receive')).data.is_active).toBe(false)
    await expect(api.repos.repoGetGitHook(...HOME, 'post-update')).rejects.toMatchObject({
      status: 404,
    })
  })
})
