import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, carol may write to the private one, eve has no role, ada administers. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Returns the titles and the total of a search. */
async function search(who: Actor | undefined, query: string) {
  const answer = await fetch(`${server.url}/api/v1/repos/issues/search?${query}`, {
    headers: who ? { authorization: who.authorization } : {},
  })
  expect(answer.status).toBe(200)
  const found = (await answer.json()) as { title: string }[]
  const total = Number(answer.headers.get('x-total-count'))
  return { titles: found.map(({ title }) => title), total }
}

describe('the search of all repositories', () => {
  it('merges what is public and what the caller may read of private repositories', async () => {
    const open = (await forge.repository(users.bob, 'open')).path
    const hidden = (await forge.repository(users.bob, 'hidden', { private: true })).path
    await forge.ask(users.bob, 'PUT', `${hidden}/collaborators/carol`, { permission: 'write' })
    for (const [path, title] of [
      [open, 'first'],
      [hidden, 'second'],
      [open, 'third'],
      [hidden, 'fourth'],
    ] as const)
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    await forge.ask(users.bob, 'PATCH', `${open}/issues/1`, { state: 'closed' })
    const all = { titles: ['fourth', 'third', 'second', 'first'], total: 4 }
    const onlyOpen = { titles: ['third', 'first'], total: 2 }
    for (const who of [users.bob, users.carol, users.ada])
      expect(await search(who, 'state=all')).toEqual(all)
    for (const who of [users.eve, undefined])
      expect(await search(who, 'state=all')).toEqual(onlyOpen)
    expect(await search(users.carol, '')).toEqual({
      titles: ['fourth', 'third', 'second'],
      total: 3,
    })
    expect(await search(users.carol, 'state=all&limit=2&page=2')).toEqual({
      titles: ['second', 'first'],
      total: 4,
    })
    expect(await search(users.carol, 'state=all&sort=oldest')).toEqual({
      ...all,
      titles: all.titles.toReversed(),
    })
    expect(await search(users.eve, 'query=sort:created-asc')).toEqual({
      ...onlyOpen,
      titles: onlyOpen.titles.toReversed(),
    })

    for (const query of [
      'repo:bob/open',
      'owner:bob',
      'number:1',
      'updated:<7d',
      'is:open',
      'label:x',
    ])
      expect(await search(users.eve, `query=${encodeURIComponent(`-label:y ${query}`)}`)).toEqual(
        query === 'label:x'
          ? { titles: [], total: 0 }
          : query === 'is:open'
            ? { titles: ['third'], total: 1 }
            : query === 'number:1'
              ? { titles: ['first'], total: 1 }
              : onlyOpen,
      )

    await forge.ask(users.bob, 'PATCH', hidden, { private: false })
    expect(await search(undefined, 'state=all')).toEqual(all)
    await forge.ask(users.bob, 'PATCH', open, { private: true })
    expect(await search(users.eve, 'state=all')).toEqual({ titles: ['fourth', 'second'], total: 2 })
    expect(await search(users.bob, 'state=all')).toEqual(all)
  })
})
