import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'

const MINUTE_MS = 60_000

let aheadMs = 0
let forge: Forge
/** carol and bob by tokens, which do not expire while the clock runs ahead. */
let carol: { authorization: string }
let bob: { authorization: string }

/** bob owns the repositories, and carol has no role in them. */
beforeAll(async () => {
  forge = await startForge({
    clock: { now: () => Date.now() + aheadMs },
    settings: { issueRate: 3 },
  })
  for (const name of ['one', 'two'])
    await forge.ask(forge.users.bob, 'POST', '/user/repos', { name })
  for (const name of ['one', 'two'])
    await forge.ask(forge.users.bob, 'POST', `/repos/bob/${name}/issues`, { title: 'a first one' })
  const { server, users } = forge
  const tokenOf = async (who: typeof users.bob) => ({
    authorization: `token ${await createToken(server.url, who, ['all'])}`,
  })
  bob = await tokenOf(users.bob)
  carol = await tokenOf(users.carol)
})
afterAll(() => forge.stop())

const open = (repo: string, who = carol) =>
  forge.rest(who, 'POST', `/repos/bob/${repo}/issues`, { title: 'spam' })
const comment = (repo: string) =>
  forge.rest(carol, 'POST', `/repos/bob/${repo}/issues/1/comments`, { body: 'spam' })

describe('an account without write access', () => {
  it('opens a third of the issues in its first hour, over all repositories', async () => {
    expect((await open('one')).status).toBe(201)
    const { status, body, headers } = await open('two')
    expect([status, body.message]).toEqual([429, expect.stringContaining('try again later')])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(59 * 60 - 10)
    aheadMs = 61 * MINUTE_MS
    expect((await open('two')).status).toBe(201)
  })

  it('opens so many issues in ten minutes, also at once, and again after them', async () => {
    aheadMs += 11 * MINUTE_MS
    const made = await Promise.all(['one', 'two', 'one', 'two', 'one'].map((repo) => open(repo)))
    expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 201, 429, 429])
    aheadMs += 11 * MINUTE_MS
    expect((await open('one')).status).toBe(201)
  })

  it('writes six comments for each of these issues, reactions included', async () => {
    for (let i = 0; i < 9; i++) {
      expect((await comment('one')).status).toBe(201)
      expect((await comment('two')).status).toBe(201)
    }
    expect((await comment('one')).status).toBe(429)
    const heart = { content: 'heart' }
    const react = await forge.rest(carol, 'POST', '/repos/bob/one/issues/1/reactions', heart)
    expect(react.status).toBe(429)
  })
})

describe('a user who may write', () => {
  it('is not limited', async () => {
    for (let i = 0; i < 5; i++) expect((await open('one', bob)).status).toBe(201)
  })
})
