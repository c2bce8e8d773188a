import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
/** A public repository of bob's. */
let path: string

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  path = (await forge.repository(users.bob, 'open')).path
  await forge.repository(users.bob, 'opaque', { private: true })
  await forge.change(users.bob, path, 'feature')
  await forge.ask(users.bob, 'POST', '/orgs', { username: 'crew' })
  await forge.ask(users.bob, 'POST', '/orgs', { username: 'cryptic', visibility: 'private' })
  await forge.ask(users.bob, 'POST', '/orgs/cryptic/repos', { name: 'vault' })
  const rights = { permission: 'read', units_map: { 'repo.issues': 'read' } }
  for (const [organization, name, visibility] of [
    ['crew', 'Riggers', 'public'],
    ['crew', 'Rowers', 'private'],
    ['cryptic', 'Readers', 'public'],
  ])
    await forge.ask(users.bob, 'POST', `/orgs/${organization}/teams`, {
      name,
      visibility,
      ...rights,
    })
})
afterAll(() => server.stop())

async function completions(who: Actor | undefined, query: string): Promise<string[]> {
  const place = `${path}/issue_query?query=${encodeURIComponent(query)}&position=${query.length}`
  const { status, body } = await forge.rest(who, 'GET', place)
  expect(status, query).toBe(200)
  return body.completions.map(({ text }: { text: string }) => text)
}

describe('the completions of names', () => {
  it('have the owners that the caller may see', async () => {
    expect(await completions(users.bob, 'owner:CR')).toEqual(['crew', 'cryptic'])
    for (const who of [users.eve, undefined])
      expect(await completions(who, 'owner:cr')).toEqual(['crew'])
  })

  it('have the repositories that the caller may read', async () => {
    expect(await completions(users.bob, 'repo:bob/OP')).toEqual(['bob/opaque', 'bob/open'])
    expect(await completions(users.bob, 'repo:cry')).toEqual(['cryptic/vault'])
    for (const who of [users.eve, undefined]) {
      expect(await completions(who, 'repo:bob/op')).toEqual(['bob/open'])
      expect(await completions(who, 'repo:b')).toEqual(['bob/open'])
      expect(await completions(who, 'repo:cryptic/')).toEqual([])
      expect(await completions(who, 'repo:nobody/')).toEqual([])
    }
  })

  it('have the teams that the caller may see', async () => {
    expect(await completions(users.bob, 'team:crew/r')).toEqual(['crew/Riggers', 'crew/Rowers'])
    expect(await completions(users.bob, 'team:cryptic/r')).toEqual(['cryptic/Readers'])
    for (const who of [users.eve, undefined]) {
      expect(await completions(who, 'team:c')).toEqual(['crew/Riggers'])
      expect(await completions(who, 'team:cryptic/r')).toEqual([])
      expect(await completions(who, 'team:bob/')).toEqual([])
    }
  })

  it('have the branches of the repository', async () => {
    for (const qualifier of ['head', 'base']) {
      expect(await completions(undefined, `${qualifier}:`)).toEqual(['feature', 'main'])
      expect(await completions(undefined, `${qualifier}:fe`)).toEqual(['feature'])
    }
  })

  it('have nothing for a text that no name has', async () => {
    for (const qualifier of ['owner', 'repo', 'team', 'head'])
      expect(await completions(users.bob, `${qualifier}:\0`)).toEqual([])
  })
})
