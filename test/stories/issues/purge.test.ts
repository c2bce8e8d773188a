import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** ada administers the instance, bob owns the repositories, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

it('removes the issues and comments of an account, and nothing else', async () => {
  const { path } = await forge.repository(users.bob, 'purged')
  for (const who of [users.bob, users.eve, users.eve])
    await forge.ask(who, 'POST', `${path}/issues`, { title: `by ${who.username}` })
  for (const who of [users.bob, users.eve])
    await forge.ask(who, 'POST', `${path}/issues/1/comments`, { body: `by ${who.username}` })
  await forge.ask(users.bob, 'POST', `${path}/issues/2/pin`)
  const contributions = '/admin/users/eve/contributions'
  const purge = async (who: typeof users.bob, query = '') =>
    (await forge.rest(who, 'DELETE', `${contributions}${query}`)).status
  const count = async () => (await forge.ask(users.bob, 'GET', path)).open_issues_count
  expect(await purge(users.bob)).toBe(403)
  expect(await purge(users.ada, '?since=2100-01-01T00:00:00Z')).toBe(204)
  expect(await count()).toBe(3)
  expect((await forge.rest(users.ada, 'DELETE', '/admin/users/nobody/contributions')).status).toBe(
    404,
  )
  expect(await purge(users.ada)).toBe(204)
  expect(await count()).toBe(1)
  const [comment, ...more] = await forge.ask(users.bob, 'GET', `${path}/issues/1/comments`)
  expect([comment.body, more]).toEqual(['by bob', []])
  expect(await forge.ask(users.bob, 'GET', `${path}/issues/pinned`)).toEqual([])
  // The account stays, and its numbers stay used.
  const { number } = await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'again' })
  expect(number).toBe(4)
  await forge.ask(users.ada, 'DELETE', '/admin/users/eve?purge=true')
  expect((await forge.rest(users.bob, 'GET', `${path}/issues/4`)).status).toBe(404)
})
