import { describe, expect, it } from 'vitest'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge, refusalOf } from '../../support/forge.ts'

const forge = await openForge()
const { server, users, rest, ask, client } = forge
const { ada, bob, carol } = users

const base64 = (text: string) => Buffer.from(text).toString('base64')
const generate = (who: typeof bob, body: Record<string, unknown>, template = 'bob/starter') =>
  rest(who, 'POST', `/repos/${template}/generate`, body as never)

await ask(bob, 'POST', '/user/repos', { name: 'starter', auto_init: true, issue_labels: 'Default' })
await ask(bob, 'POST', '/repos/bob/starter/contents/old.txt', { content: base64('forgotten') })
const old = await ask(bob, 'GET', '/repos/bob/starter/contents/old.txt')
await ask(bob, 'DELETE', '/repos/bob/starter/contents/old.txt', { sha: old.sha })
await ask(bob, 'POST', '/repos/bob/starter/contents/src/main.c', { content: base64('int x;\n') })
await ask(bob, 'PUT', '/repos/bob/starter/topics', { topics: ['plants'] })

describe('a repository from a template', () => {
  it('needs a template, which an administrator of the repository declares', async () => {
    const refused = await generate(carol, { name: 'plot', git_content: true })
    expect(refused).toMatchObject({ status: 422, body: { message: 'this is not a template repo' } })
    const declared = await ask(bob, 'PATCH', '/repos/bob/starter', { template: true })
    expect(declared.template).toBe(true)
  })

  it('has the files as one commit, and nothing of the history', async () => {
    const made = await generate(carol, { owner: 'carol', name: 'plot', git_content: true })
    expect(made).toMatchObject({
      status: 201,
      body: { full_name: 'carol/plot', template: false, fork: false },
    })
    expect(await ask(carol, 'GET', '/repos/carol/plot/commits')).toHaveLength(1)
    const file = await ask(carol, 'GET', '/repos/carol/plot/contents/src/main.c')
    expect(Buffer.from(String(file.content), 'base64').toString()).toBe('int x;\n')
    const folder = repositoryPath(server.app.git, Number(made.body.id))
    await expect(client.git('.', '-C', folder, 'cat-file', '-e', String(old.sha))).rejects.toThrow()
    await forge.checkObjects()
    expect(await ask(carol, 'GET', '/repos/carol/plot/labels')).toEqual([])
    expect((await ask(carol, 'GET', '/repos/carol/plot/topics')).topics).toEqual([])
  })

  it('has labels and topics without files, if that is what the request says', async () => {
    await generate(carol, { name: 'bed', labels: true, topics: true, default_branch: 'trunk' })
    expect(await ask(carol, 'GET', '/repos/carol/bed/labels')).toHaveLength(7)
    expect((await ask(carol, 'GET', '/repos/carol/bed/topics')).topics).toEqual(['plants'])
    expect(await ask(carol, 'GET', '/repos/carol/bed')).toMatchObject({
      empty: true,
      default_branch: 'trunk',
    })
  })

  it('may belong to an organisation, and to another user only for administrators', async () => {
    await ask(carol, 'POST', '/orgs', { username: 'acme' })
    const draft = { name: 'anvil', git_content: true }
    expect((await generate(carol, { ...draft, owner: 'acme' })).status).toBe(201)
    expect((await generate(bob, { ...draft, owner: 'acme' })).status).toBe(403)
    expect((await generate(bob, { ...draft, owner: 'carol' })).status).toBe(403)
    expect((await generate(ada, { ...draft, owner: 'carol' })).status).toBe(201)
  })

  it('that already exists, or copies nothing, is refused', async () => {
    expect((await generate(carol, { name: 'plot', git_content: true })).status).toBe(409)
    expect((await generate(carol, { name: 'nothing' })).status).toBe(422)
    expect((await generate(carol, { name: 'x/y', git_content: true })).status).toBe(422)
  })

  it.each(['webhooks', 'git_hooks', 'protected_branch'])(
    'that asks for %s is refused, since this server would not copy them',
    async (part) => {
      const refused = await generate(carol, { name: 'more', git_content: true, [part]: true })
      expect(refused.status).toBe(422)
      expect((await rest(carol, 'GET', '/repos/carol/more')).status).toBe(404)
    },
  )

  it('of a private template is not found by strangers, on any protocol', async () => {
    await ask(bob, 'PATCH', '/repos/bob/starter', { private: true })
    const made = forge.grpc(RepositoryService, carol).generateRepository({
      templateOwner: 'bob',
      templateRepo: 'starter',
      name: 'leak',
      gitContent: true,
    })
    expect(await refusalOf(made)).toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  })
})

it('files are served under /media as under /raw', async () => {
  const path = `${server.url}/api/v1/repos/carol/plot/media/src/main.c?ref=main`
  const answer = await fetch(path, { headers: { authorization: carol.authorization } })
  expect(await answer.text()).toBe('int x;\n')
  expect((await rest(carol, 'GET', '/repos/carol/plot/media/none.c')).status).toBe(404)
})
