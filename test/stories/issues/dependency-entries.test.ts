import { afterAll, beforeAll, expect, it } from 'vitest'
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

/** Returns the entries about dependencies, with the conversation that each names. */
async function entriesOf(who: Actor | undefined, issue: string): Promise<[string, string][]> {
  const entries: { type: string; dependent_issue: { title: string } | null; ref_issue: null }[] =
    await forge.ask(who, 'GET', `${issue}/timeline`)
  return entries
    .filter(({ type }) => type.endsWith('_dependency'))
    .map(({ type, dependent_issue, ref_issue }) => {
      expect(ref_issue).toBeNull()
      return [type, dependent_issue?.title ?? '']
    })
}

it('stand in both timelines, for those who may read the other issue', async () => {
  const open = (await forge.repository(users.bob, 'open')).path
  const hidden = (await forge.repository(users.bob, 'hidden', { private: true })).path
  for (const title of ['roof', 'walls'])
    await forge.ask(users.bob, 'POST', `${open}/issues`, { title })
  await forge.ask(users.bob, 'POST', `${hidden}/issues`, { title: 'money' })
  const dependencies = `${open}/issues/1/dependencies`
  const money = { owner: 'bob', repo: 'hidden', index: 1 }
  await forge.ask(users.bob, 'POST', dependencies, { index: 2 })
  // Again: no second entry.
  await forge.ask(users.bob, 'POST', dependencies, { index: 2 })
  await forge.ask(users.bob, 'POST', dependencies, money)
  await forge.ask(users.bob, 'DELETE', dependencies, { index: 2 })

  expect(await entriesOf(users.bob, `${open}/issues/1`)).toEqual([
    ['add_dependency', 'walls'],
    ['add_dependency', 'money'],
    ['remove_dependency', 'walls'],
  ])
  expect(await entriesOf(users.eve, `${open}/issues/1`)).toEqual([
    ['add_dependency', 'walls'],
    ['remove_dependency', 'walls'],
  ])
  expect(await entriesOf(undefined, `${open}/issues/2`)).toEqual([
    ['add_dependency', 'roof'],
    ['remove_dependency', 'roof'],
  ])
  expect(await entriesOf(users.bob, `${hidden}/issues/1`)).toEqual([['add_dependency', 'roof']])
  const [entry] = await forge.ask(users.eve, 'GET', `${open}/issues/1/timeline`)
  expect(entry).toMatchObject({
    old_project_id: 0,
    project_id: 0,
    tracked_time: null,
    resolve_doer: null,
  })
})
