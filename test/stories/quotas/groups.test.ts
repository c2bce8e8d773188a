import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type forgejoApi as Connect, forgejoApi } from 'forgejo-js'
import { beforeAll, describe, expect, it } from 'vitest'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { finishMeasuring } from '../../../src/forge/repositories/refs/repository-size.ts'
import { NO_QUOTAS } from '../../support/app.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { createToken, PASSWORD } from '../../support/server.ts'

const MIB = 2 ** 20

const { server, users, client, ask, rest, grpc } = await openForge({
  settings: { quotas: { ...NO_QUOTAS, organization: MIB, defaultGroups: ['everybody'] } },
})
const { ada, bob, carol } = users

type Api = ReturnType<typeof Connect>
let admin: Api['admin']
let own: Api['user']

/** Returns the status of a call of the client, which throws its refusals. */
async function statusOf(call: Promise<{ status: number }>): Promise<number> {
  const { status } = await call.catch((refused: { status: number }) => refused)
  return status
}

beforeAll(async () => {
  const connect = async (user: typeof ada) =>
    forgejoApi(server.url, { token: await createToken(server.url, user, ['all']) })
  admin = (await connect(ada)).admin
  own = (await connect(bob)).user
})

describe('groups and rules of quotas', () => {
  it('are made, changed and deleted by an unmodified client', async () => {
    const rule = { name: 'assets', limit: 1000, subjects: ['size:assets:all'] }
    expect((await admin.adminCreateQuotaRule(rule)).status).toBe(201)
    expect(await statusOf(admin.adminCreateQuotaRule(rule))).toBe(409)
    expect((await admin.adminGetQuotaRule('assets')).data).toEqual(rule)
    const edited = await admin.adminEditQuotaRule('assets', { limit: -1 })
    expect([edited.status, edited.data]).toEqual([200, { ...rule, limit: -1 }])
    await admin.adminEditQuotaRule('assets', { subjects: ['size:git:lfs', 'size:git:lfs'] })
    expect((await admin.adminListQuotaRules()).data).toEqual([
      { name: 'assets', limit: -1, subjects: ['size:git:lfs'] },
    ])
    const made = await admin.adminCreateQuotaGroup({
      name: 'some people',
      rules: [{ name: 'assets' }, { name: 'git', limit: 5, subjects: ['size:git:all'] }],
    })
    expect([made.status, made.data.rules?.map(({ name }) => name)]).toEqual([
      201,
      ['assets', 'git'],
    ])
    expect(await statusOf(admin.adminCreateQuotaGroup({ name: 'some people' }))).toBe(409)
    expect((await admin.adminGetQuotaGroup('some people')).data).toEqual(made.data)
    expect((await admin.adminListQuotaGroups()).data).toEqual([made.data])
    expect((await admin.adminRemoveRuleFromQuotaGroup('some people', 'git')).status).toBe(204)
    expect(await statusOf(admin.adminRemoveRuleFromQuotaGroup('some people', 'git'))).toBe(404)
    expect((await admin.adminAddRuleToQuotaGroup('some people', 'git')).status).toBe(204)
    expect(await statusOf(admin.adminAddRuleToQuotaGroup('some people', 'git'))).toBe(409)
    expect((await admin.adminAddUserToQuotaGroup('some people', 'BOB')).status).toBe(204)
    expect(await statusOf(admin.adminAddUserToQuotaGroup('some people', 'bob'))).toBe(409)
    const members = await admin.adminListUsersInQuotaGroup('some people')
    expect(members.data.map(({ login }) => login)).toEqual(['bob'])
    const { data: info } = await admin.adminGetUserQuota('bob')
    expect(info.groups).toEqual([made.data])
    const { data: mine } = await own.userGetQuota()
    const nameless = made.data.rules?.map(({ name, ...others }) => others)
    expect(mine.groups).toEqual([{ rules: nameless }])
    expect(mine.used?.size).toEqual({
      repos: { public: 0, private: 0 },
      git: { LFS: 0 },
      assets: { attachments: { issues: 0, releases: 0 }, artifacts: 0, packages: { all: 0 } },
    })
    expect((await admin.adminRemoveUserFromQuotaGroup('some people', 'bob')).status).toBe(204)
    expect(await statusOf(admin.adminRemoveUserFromQuotaGroup('some people', 'bob'))).toBe(404)
    expect((await admin.adminDEleteQuotaRule('git')).status).toBe(204)
    expect((await admin.adminGetQuotaGroup('some people')).data.rules).toHaveLength(1)
    expect((await admin.adminDeleteQuotaGroup('some people')).status).toBe(204)
    expect(await statusOf(admin.adminDeleteQuotaGroup('some people'))).toBe(404)
    expect(await statusOf(admin.adminGetQuotaRule('git'))).toBe(404)
    expect((await admin.adminDEleteQuotaRule('assets')).status).toBe(204)
  })

  it('are refused with a reason when a field is wrong', async () => {
    const rules = '/admin/quota/rules'
    const rule = { name: 'rule', limit: 1, subjects: ['size:all'] }
    for (const [field, value] of [
      ['name', ''],
      ['name', 'a/b'],
      ['name', '..'],
      ['name', 'x'.repeat(101)],
      ['limit', undefined],
      ['limit', -2],
      ['subjects', []],
      ['subjects', ['size:everything']],
    ] as const) {
      const refused = await rest(ada, 'POST', rules, { ...rule, [field]: value })
      expect([field, refused.status, refused.body.message]).toEqual([
        field,
        422,
        expect.stringContaining(field),
      ])
    }
    const group = { name: 'half', rules: [rule, { name: 'unknown' }] }
    expect((await rest(ada, 'POST', '/admin/quota/groups', group)).status).toBe(422)
    expect((await rest(ada, 'GET', `${rules}/rule`)).status).toBe(404)
    const missing = '/admin/quota/groups/missing'
    for (const [method, path] of [
      ['GET', missing],
      ['GET', `${missing}/users`],
      ['PUT', `${missing}/users/bob`],
      ['PUT', `${missing}/rules/rule`],
      ['DELETE', `${missing}/rules/rule`],
      ['GET', '/admin/users/nobody/quota'],
    ] as const)
      expect([path, (await rest(ada, method, path)).status]).toEqual([path, 404])
    const groups = { groups: ['missing'] }
    expect((await rest(ada, 'POST', '/admin/users/bob/quota/groups', groups)).status).toBe(404)
    expect((await rest(bob, 'GET', '/admin/quota/groups')).status).toBe(403)
    expect((await rest(undefined, 'GET', '/user/quota')).status).toBe(401)
  })

  it('limit pushes of their members, and of all others if they are the default', async () => {
    await ask(ada, 'POST', '/admin/quota/groups', {
      name: 'generous',
      rules: [{ name: 'much', limit: 3 * MIB, subjects: ['size:git:all'] }],
    })
    await ask(ada, 'POST', '/admin/quota/groups', {
      name: 'everybody',
      rules: [{ name: 'little', limit: MIB, subjects: ['size:all'] }],
    })
    const push = async (owner: typeof bob, bytes: number) => {
      const { login } = await ask(owner, 'GET', '/user')
      const name = `sized${bytes}`
      await ask(owner, 'POST', '/user/repos', { name })
      const remote = remoteOf(server.url, `${login}/${name}`, login, PASSWORD)
      const folder = `${login}${bytes}`
      await client.git('.', 'init', '-q', folder)
      await writeFile(join(client.home, folder, 'file'), randomBytes(bytes))
      await client.git(folder, 'add', '.')
      await client.git(folder, 'commit', '-q', '-m', 'bytes')
      return client.git(folder, 'push', '-q', remote, 'HEAD:main')
    }
    await expect(push(bob, 2 * MIB)).rejects.toThrow(/Quota exceeded|pack exceeds/)
    expect((await rest(bob, 'GET', '/user/quota/check?subject=size:all')).body).toBe(true)
    await admin.adminSetUserQuotaGroups('bob', { groups: ['generous'] })
    await push(bob, 2 * MIB + 1)
    await expect(push(bob, MIB)).rejects.toThrow(
      /Quota exceeded: account bob uses 2\.00 MiB of 3\.00 MiB for git; this push needs 1\.00 MiB more/,
    )
    await expect(push(carol, 2 * MIB)).rejects.toThrow(/Quota exceeded|pack exceeds/)
    await admin.adminSetUserQuotaGroups('bob', { groups: ['generous', 'everybody'] })
    await finishMeasuring(server.app)
    const { used, limits } = await grpc(QuotaService, bob).getMyQuota({})
    expect(Number(used?.size?.repos?.public)).toBeGreaterThan(2 * MIB)
    expect(limits.map(({ limit, subjects }) => [limit, subjects])).toEqual([
      [BigInt(MIB), ['size:all']],
      [BigInt(3 * MIB), ['size:git:all']],
    ])
    const check = (subject: string) => rest(bob, 'GET', `/user/quota/check?subject=${subject}`)
    // One group is enough for Git objects, and only the other one knows files.
    expect((await check('size:git:all')).body).toBe(true)
    expect((await check('size:assets:all')).body).toBe(false)
    expect((await check('size:unknown')).status).toBe(422)
    expect((await check('')).status).toBe(422)
    await admin.adminDeleteQuotaGroup('everybody')
  })

  it('show owners of an organisation its bytes, and nobody else', async () => {
    await ask(bob, 'POST', '/orgs', { username: 'guild' })
    await ask(bob, 'POST', '/orgs/guild/repos', { name: 'kept', auto_init: true })
    await ask(bob, 'POST', '/repos/guild/kept/tags', { tag_name: 'v1' })
    const { id } = await ask(bob, 'POST', '/repos/guild/kept/releases', { tag_name: 'v1' })
    const upload = async (path: string, name: string, bytes: number) => {
      const form = new FormData()
      form.set('attachment', new Blob([new Uint8Array(bytes)]), name)
      const { authorization } = bob
      const url = `${server.url}/api/v1/repos/guild/kept${path}`
      const sent = await fetch(url, { method: 'POST', headers: { authorization }, body: form })
      expect(sent.status).toBe(201)
    }
    await upload(`/releases/${id}/assets`, 'tool.zip', 300)
    const { number } = await ask(bob, 'POST', '/repos/guild/kept/issues', { title: 'one' })
    await upload(`/issues/${number}/assets`, 'shot.png', 200)
    await finishMeasuring(server.app)
    const info = await ask(bob, 'GET', '/orgs/guild/quota')
    expect(info.used.size.assets.attachments).toEqual({ issues: 200, releases: 300 })
    expect(info.limits).toEqual([
      { subjects: ['size:all'], limit: MIB, used: info.used.size.repos.public + 500 },
    ])
    const { body, headers } = await rest(bob, 'GET', '/orgs/guild/quota/attachments?limit=1')
    expect([headers.get('x-total-count'), body]).toEqual([
      '2',
      [
        {
          name: 'tool.zip',
          size: 300,
          api_url: expect.stringContaining(`/repos/guild/kept/releases/${id}/assets/`),
          contained_in: {
            api_url: expect.stringContaining(`/repos/guild/kept/releases/${id}`),
            html_url: `${server.url}/guild/kept/releases/tag/v1`,
          },
        },
      ],
    ])
    expect(await ask(bob, 'GET', '/orgs/guild/quota/attachments?page=2&limit=1')).toMatchObject([
      { name: 'shot.png', contained_in: { html_url: `${server.url}/guild/kept/issues/1` } },
    ])
    expect(await ask(bob, 'GET', '/orgs/guild/quota/packages')).toEqual([])
    expect(await ask(bob, 'GET', '/user/quota/artifacts')).toEqual([])
    expect(await ask(bob, 'GET', '/orgs/guild/quota/check?subject=size:git:lfs')).toBe(true)
    for (const path of ['', '/check?subject=size:all', '/attachments', '/artifacts', '/packages'])
      expect((await rest(carol, 'GET', `/orgs/guild/quota${path}`)).status).toBe(403)
    const usage = await ask(ada, 'GET', '/admin/usage?sort=assets&limit=1')
    expect(usage.owners).toMatchObject([{ name: 'guild', assets: 500 }])
    expect(usage.repositories).toMatchObject([{ name: 'guild/kept', assets: 500, lfs: 0 }])
    expect((await rest(ada, 'GET', '/admin/usage?sort=colour')).status).toBe(422)
  })
})
