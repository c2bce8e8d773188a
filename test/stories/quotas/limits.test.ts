import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { QuotaSettings } from '../../../src/forge/core/core.ts'
import { NO_QUOTAS } from '../../support/app.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

const MIB = 2 ** 20

async function limited(quotas: Partial<QuotaSettings>): Promise<Forge> {
  const forge = await startForge({ settings: { quotas: { ...NO_QUOTAS, ...quotas } } })
  onTestFinished(forge.stop)
  return forge
}

/** Returns a function that commits bytes to a clone of a repository and pushes them. */
async function pusherOf({ server, client, ask, users }: Forge, name: string) {
  await ask(users.bob, 'POST', '/user/repos', { name })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  let count = 0
  return async (bytes: number, branch = 'main') => {
    count += 1
    await writeFile(join(client.home, name, `file${count}`), randomBytes(bytes))
    await client.git(name, 'add', '.')
    await client.git(name, 'commit', '-q', '-m', `${count}`)
    return client.git(name, 'push', '-q', 'origin', `HEAD:${branch}`)
  }
}

describe('limits of the operator', () => {
  it('refuse a push with the text of the limit, and let deletions and reads pass', async () => {
    const forge = await limited({ account: 5 * MIB })
    const push = await pusherOf(forge, 'full')
    await push(3 * MIB)
    const refused = await push(3 * MIB).catch((error: Error) => error.message)
    expect(refused).toContain('pre-receive hook declined')
    expect(refused).toMatch(
      /Quota exceeded: account bob uses 3\.00 MiB of 5\.00 MiB for git; this push needs 3\.00 MiB more\./,
    )
    // What is there may get further names, and may go.
    await forge.client.git('full', 'push', '-q', 'origin', 'HEAD~1:refs/heads/other')
    await forge.client.git('full', 'push', '-q', 'origin', ':refs/heads/other')
    await forge.client.git('full', 'fetch', '-q')
  })

  it('refuse changes over the API with the numbers for those who may see them', async () => {
    const forge = await limited({ repository: MIB })
    const { bob, carol } = forge.users
    const push = await pusherOf(forge, 'small')
    await push(MIB - 100 * 1024)
    await forge.ask(bob, 'PUT', '/repos/bob/small/collaborators/carol', { permission: 'write' })
    const content = randomBytes(200 * 1024).toString('base64')
    const mine = await forge.rest(bob, 'POST', '/repos/bob/small/contents/more', { content })
    expect([mine.status, mine.body]).toEqual([
      413,
      {
        message: 'quota exceeded',
        url: '/openapi.json',
        reason: 'QUOTA_EXCEEDED',
        subject: 'size:git:all',
        limit: MIB,
        used: expect.any(Number),
      },
    ])
    const others = await forge.rest(carol, 'POST', '/repos/bob/small/contents/more', { content })
    expect([others.status, Object.keys(others.body)]).toEqual([
      413,
      ['message', 'url', 'reason', 'subject'],
    ])
  })

  it('end a push while it is received', async () => {
    const forge = await limited({ instance: MIB })
    const push = await pusherOf(forge, 'huge')
    const refused = await push(6 * MIB).catch((error: Error) => error.message)
    expect(refused).toContain('pack exceeds maximum allowed size')
  })

  it('refuse files of releases, forks and transfers', async () => {
    const forge = await limited({ account: 3 * MIB, organization: MIB })
    const { bob, carol } = forge.users
    const push = await pusherOf(forge, 'whole')
    await push(2 * MIB)
    await forge.ask(bob, 'POST', '/repos/bob/whole/tags', { tag_name: 'v1' })
    const { id } = await forge.ask(bob, 'POST', '/repos/bob/whole/releases', { tag_name: 'v1' })
    const upload = async (bytes: number) => {
      const form = new FormData()
      form.set('attachment', new Blob([new Uint8Array(bytes)]), 'file')
      return fetch(`${forge.server.url}/api/v1/repos/bob/whole/releases/${id}/assets`, {
        method: 'POST',
        headers: { authorization: bob.authorization },
        body: form,
      })
    }
    expect((await upload(900 * 1024)).status).toBe(201)
    const refused = await upload(900 * 1024)
    expect([refused.status, await refused.json()]).toMatchObject([
      413,
      { reason: 'QUOTA_EXCEEDED', subject: 'size:assets:attachments:releases', limit: 3 * MIB },
    ])
    await forge.ask(bob, 'POST', '/orgs', { username: 'tight' })
    const forked = await forge.rest(bob, 'POST', '/repos/bob/whole/forks', {
      organization: 'tight',
    })
    expect([forked.status, forked.body.reason]).toEqual([413, 'QUOTA_EXCEEDED'])
    const moved = await forge.rest(bob, 'POST', '/repos/bob/whole/transfer', { new_owner: 'tight' })
    expect([moved.status, moved.body.used]).toEqual([413, 0])
    expect((await forge.rest(carol, 'POST', '/repos/bob/whole/forks', {})).status).toBe(202)
  })

  it('of the number of repositories hold for all ways to get one, and for two at once', async () => {
    const forge = await startForge({ settings: { maxRepositories: 2 } })
    onTestFinished(forge.stop)
    const { ada, bob, carol } = forge.users
    await forge.ask(bob, 'POST', '/orgs', { username: 'pair' })
    const create = (path: string, name: string, who = bob) =>
      forge.rest(who, 'POST', path, { name })
    const raced = ['one', 'two', 'three', 'four'].map((name) => create('/user/repos', name))
    const answers = await Promise.all(raced)
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422])
    const refused = answers.find(({ status }) => status === 422)
    expect(refused?.body.message).toBe('the owner has reached the limit of 2 repositories')
    for (const name of ['a', 'b']) expect((await create('/orgs/pair/repos', name)).status).toBe(201)
    expect((await create('/orgs/pair/repos', 'c')).status).toBe(422)
    expect((await create('/admin/users/bob/repos', 'given', ada)).status).toBe(422)
    await forge.ask(carol, 'POST', '/user/repos', { name: 'mine', auto_init: true })
    expect((await forge.rest(bob, 'POST', '/repos/carol/mine/forks', {})).status).toBe(422)
    const transfer = { new_owner: 'bob' }
    await forge.ask(carol, 'POST', '/repos/carol/mine/transfer', transfer)
    const accepted = await forge.rest(bob, 'POST', '/repos/carol/mine/transfer/accept')
    expect(accepted.status).toBe(422)
    const [{ name }] = await forge.ask(bob, 'GET', '/users/bob/repos')
    await forge.ask(bob, 'DELETE', `/repos/bob/${name}`)
    expect((await forge.rest(bob, 'POST', '/repos/carol/mine/transfer/accept')).status).toBe(202)
    const metrics = await (await fetch(`${forge.server.url}/metrics`)).text()
    expect(metrics).toMatch(
      /branchline_quota_refusals_total\{subject="repositories",scope="account"\} 5/,
    )
    expect(metrics).toMatch(/subject="repositories",scope="organisation"\} 1/)
  })

  it('show what a repository stores', async () => {
    const forge = await limited({ account: 5 * MIB })
    const push = await pusherOf(forge, 'sized')
    await push(100 * 1024)
    const { owned_size, lfs_size, asset_size } = await forge.ask(
      forge.users.bob,
      'GET',
      '/repos/bob/sized',
    )
    expect([lfs_size, asset_size]).toEqual([0, 0])
    expect(owned_size).toBeGreaterThanOrEqual(100)
    expect(owned_size).toBeLessThan(120)
    const form = new FormData()
    form.set('attachment', new Blob([new Uint8Array(1025)]), 'file.txt')
    await forge.ask(forge.users.bob, 'POST', '/repos/bob/sized/issues', { title: 'Files' })
    const attached = await fetch(`${forge.server.url}/api/v1/repos/bob/sized/issues/1/assets`, {
      method: 'POST',
      headers: { authorization: forge.users.bob.authorization },
      body: form,
    })
    expect(attached.status).toBe(201)
    expect((await forge.ask(forge.users.bob, 'GET', '/repos/bob/sized')).asset_size).toBe(2)
    expect(await push(6 * MIB).catch(() => 'refused')).toBe('refused')
    const metrics = await (await fetch(`${forge.server.url}/metrics`)).text()
    expect(metrics).toMatch(/subject="size:git:all",scope="account"\} [1-9]/)
  })

  it('of 0 allow empty repositories only', async () => {
    const forge = await limited({ account: 0 })
    const { bob } = forge.users
    expect((await forge.rest(bob, 'POST', '/user/repos', { name: 'empty' })).status).toBe(201)
    const filled = await forge.rest(bob, 'POST', '/user/repos', { name: 'filled', auto_init: true })
    expect(filled.status).toBe(413)
  })

  it('never let pushes at the same time take the same bytes', async () => {
    const forge = await limited({ account: 5 * MIB + 512 * 1024 })
    const { server, client } = forge
    const push = await pusherOf(forge, 'busy')
    await push(1024)
    const remote = remoteOf(server.url, 'bob/busy', 'bob', PASSWORD)
    const clones = Array.from({ length: 12 }, (_, i) => `clone${i}`)
    for (const clone of clones) {
      await client.git('.', 'clone', '-q', remote, clone)
      await writeFile(join(client.home, clone, clone), randomBytes(MIB))
      await client.git(clone, 'add', '.')
      await client.git(clone, 'commit', '-q', '-m', clone)
    }
    const results = await Promise.allSettled(
      clones.map((clone) => client.git(clone, 'push', '-q', 'origin', `HEAD:${clone}`)),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  })
})
