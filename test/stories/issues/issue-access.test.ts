import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's with an issue. carol may write to it. */
async function fresh(name: string, issue_access: string): Promise<string> {
  const { path } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'first' })
  expect(await forge.ask(users.bob, 'GET', path)).toMatchObject({ issue_access: 'everyone' })
  const edited = await forge.ask(users.bob, 'PATCH', path, { issue_access })
  expect(edited).toMatchObject({ issue_access })
  return path
}

async function open(who: Actor, path: string) {
  const { status, body } = await forge.rest(who, 'POST', `${path}/issues`, { title: 'new' })
  return status === 201 ? status : [status, body.message]
}

async function comment(who: Actor, path: string, number = 1) {
  const text = { body: 'words' }
  const sent = await forge.rest(who, 'POST', `${path}/issues/${number}/comments`, text)
  return sent.status === 201 ? sent.status : [sent.status, sent.body.message]
}

const limitedTo = (access: string) => [403, `opening issues is limited to ${access}`]

describe('a repository whose issues are left', () => {
  it('to collaborators, refuses issues and comments of others', async () => {
    const path = await fresh('closed-club', 'collaborators')
    for (const who of [users.bob, users.carol, users.ada]) {
      expect(await open(who, path)).toBe(201)
      expect(await comment(who, path)).toBe(201)
    }
    expect(await open(users.eve, path)).toEqual(limitedTo('collaborators'))
    expect(await comment(users.eve, path)).toEqual(limitedTo('collaborators'))
    expect((await forge.rest(users.eve, 'GET', `${path}/issues/1`)).status).toBe(200)
    const wrong = await forge.rest(users.bob, 'PATCH', path, { issue_access: 'friends' })
    expect(wrong.status).toBe(422)
    await forge.ask(users.bob, 'PATCH', path, { issue_access: '' })
    expect(await open(users.eve, path)).toEqual(limitedTo('collaborators'))
    await forge.ask(users.bob, 'PATCH', path, { issue_access: 'everyone' })
    expect(await open(users.eve, path)).toBe(201)
    // An earlier issue is not enough.
    await forge.ask(users.bob, 'PATCH', path, { issue_access: 'collaborators' })
    expect(await comment(users.eve, path)).toEqual(limitedTo('collaborators'))
  })

  it('to contributors, welcomes who has opened an issue before', async () => {
    const path = await fresh('posters', 'contributors')
    expect(await open(users.eve, path)).toEqual(limitedTo('contributors'))
    await forge.ask(users.bob, 'PATCH', path, { issue_access: 'everyone' })
    expect(await open(users.eve, path)).toBe(201)
    await forge.ask(users.bob, 'PATCH', path, { issue_access: 'contributors' })
    expect(await open(users.eve, path)).toBe(201)
    expect(await comment(users.eve, path)).toBe(201)
  })

  it('to contributors, welcomes who has a commit on the default branch', async () => {
    const path = await fresh('committers', 'contributors')
    const commit = (branch: string, file: string) =>
      forge.ask(users.bob, 'POST', `${path}/contents/${file}`, {
        content: '',
        author: { name: 'Eve', email: 'EVE@example.org' },
        ...(branch === 'main' ? { branch } : { branch: 'main', new_branch: branch }),
      })
    await commit('side', 'a.txt')
    expect(await open(users.eve, path)).toEqual(limitedTo('contributors'))
    await commit('main', 'b.txt')
    expect(await comment(users.eve, path)).toBe(201)
    expect(await open(users.eve, path)).toBe(201)
  })

  it('to contributors, welcomes whose pull request was merged, and lets others comment on theirs', async () => {
    const path = await fresh('mergers', 'contributors')
    const fork = await forge.fork(users.eve, path)
    await forge.change(users.eve, fork.path, 'topic')
    const draft = { title: 'A change', head: 'eve:topic', base: 'main' }
    const { number } = await forge.ask(users.eve, 'POST', `${path}/pulls`, draft)
    expect(await comment(users.eve, path, number)).toBe(201)
    expect(await open(users.eve, path)).toEqual(limitedTo('contributors'))
    const merge = { Do: 'squash', MergeTitleField: 'x' }
    await forge.ask(users.bob, 'POST', `${path}/pulls/${number}/merge`, merge)
    expect(await open(users.eve, path)).toBe(201)
  })
})
