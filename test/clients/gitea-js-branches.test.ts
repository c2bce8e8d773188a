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

const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

/** Declared as lists, and null in compatible systems wherever no push is told of. */
const OF_PUSHES = /\.commit\.(added|removed|modified) is no list$/

let server: TestServer
let users: TestUsers
let api: Api<unknown>

beforeAll(async () => {
  server = await startTestServer()
  users = await createTestUsers(server.url)
  api = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
  await api.user.createCurrentUserRepo({ name: 'lib', auto_init: true })
})
afterAll(() => server.stop())

const HOME = ['bob', 'lib'] as const

describe('gitea-js, of branches and the rules about them', () => {
  it('makes, reads, renames and deletes a branch with slashes', async () => {
    const made = await api.repos.repoCreateBranch(...HOME, {
      new_branch_name: 'feature/x',
      old_ref_name: 'main',
    })
    expect([made.status, made.data.name]).toEqual([201, 'feature/x'])
    expect(misfits(types, 'Branch', made.data).filter((text) => !OF_PUSHES.test(text))).toEqual([])
    expect((await api.repos.repoGetBranch(...HOME, 'feature/x')).data).toEqual(made.data)
    expect(
      (await api.repos.repoUpdateBranch(...HOME, 'feature/x', { name: 'feature/y' })).status,
    ).toBe(204)
    const { data: listed } = await api.repos.repoListBranches(...HOME)
    expect(listed.map(({ name }) => name).sort()).toEqual(['feature/y', 'main'])
    expect((await api.repos.repoDeleteBranch(...HOME, 'feature/y')).status).toBe(204)
    const refused = await api.repos
      .repoDeleteBranch(...HOME, 'main')
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({
      status: 403,
      error: { message: 'can not delete default or pull request target branch' },
    })
  })

  it('makes, edits, orders and deletes rules', async () => {
    const made = await api.repos.repoCreateBranchProtection(...HOME, {
      rule_name: 'release/*',
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['bob'],
      approvals_whitelist_username: ['carol'],
      required_approvals: 2,
    })
    expect([made.status, made.data.rule_name, made.data.branch_name]).toEqual([
      201,
      'release/*',
      '',
    ])
    expect(misfits(types, 'BranchProtection', made.data)).toEqual([])
    const second = await api.repos.repoCreateBranchProtection(...HOME, { branch_name: 'main' })
    const edited = await api.repos.repoEditBranchProtection(...HOME, 'release/*', {
      push_whitelist_usernames: [],
    })
    expect(edited.data).toMatchObject({
      push_whitelist_usernames: [],
      approvals_whitelist_username: ['carol'],
    })
    expect((await api.repos.repoGetBranchProtection(...HOME, 'release/*')).data).toEqual(
      edited.data,
    )
    const ids = [second.data, made.data].flatMap((rule) => ('id' in rule ? [Number(rule.id)] : []))
    expect((await api.repos.repoUpdateBranchProtectionPriories(...HOME, { ids })).status).toBe(204)
    const { data: listed } = await api.repos.repoListBranchProtection(...HOME)
    expect(listed.map(({ rule_name, priority }) => [rule_name, priority])).toEqual([
      ['main', 1],
      ['release/*', 2],
    ])
    expect((await api.repos.repoDeleteBranchProtection(...HOME, 'release/*')).status).toBe(204)
    const missing = await api.repos
      .repoGetBranchProtection(...HOME, 'release/*')
      .catch((error: unknown) => error)
    expect(missing).toMatchObject({ status: 404 })
  })
})
