import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'

const MINUTE_MS = 60_000

let aheadMs = 0
let forge: Forge
/** carol and ada by tokens, which do not expire while the clock runs ahead. */
let carol: { authorization: string }
let ada: { authorization: string }
let carolId: number

beforeAll(async () => {
  // The limit holds without rates.
  const clock = { now: () => Date.now() + aheadMs }
  forge = await startForge({ clock, settings: { issueRate: 0 } })
  const { server, users } = forge
  const tokenOf = async (who: typeof users.bob) => ({
    authorization: `token ${await createToken(server.url, who, ['all'])}`,
  })
  carol = await tokenOf(users.carol)
  ada = await tokenOf(users.ada)
  carolId = (await forge.ask(carol, 'GET', '/user')).id
  await forge.ask(carol, 'POST', '/user/repos', { name: 'loud' })
})
afterAll(() => forge.stop())

/** Makes it so that carol has mentioned users just now. */
async function mentionBefore(count: number): Promise<void> {
  const create_time = Math.floor((Date.now() + aheadMs) / 1000)
  const mention = { user_id: carolId, kind: 'MENTION' as const, create_time }
  const rows = Array.from({ length: count }, () => mention)
  await forge.server.app.db.insertInto('contributions').values(rows).execute()
}

/** Opens an issue, and returns which users a list by mentions finds it for. */
async function told(body: string, who = carol): Promise<string[]> {
  const path = '/repos/carol/loud/issues'
  const { number } = await forge.ask(who, 'POST', path, { title: 'listen', body })
  const found: string[] = []
  for (const name of ['ada', 'bob', 'carol']) {
    const issues = await forge.ask(carol, 'GET', `${path}?mentioned_by=${name}`)
    if (issues.some((issue: { number: number }) => issue.number === number)) found.push(name)
  }
  return found
}

describe('mentions', () => {
  it('tell 200 users in ten minutes, also in a repository of the writer', async () => {
    expect(await told('@ada @bob @nobody')).toEqual(['ada', 'bob'])
    await mentionBefore(197)
    expect(await told('@carol @bob @ada')).toEqual(['bob', 'carol'])
    expect(await told('@ada @bob')).toEqual([])
    const last = await forge.ask(carol, 'GET', '/repos/carol/loud/issues/3')
    expect(last.body).toBe('@ada @bob')
    aheadMs += 11 * MINUTE_MS
    expect(await told('@ada @bob')).toEqual(['ada', 'bob'])
  })

  it('of administrators of the server are not limited', async () => {
    const id = (await forge.ask(ada, 'GET', '/user')).id
    const create_time = Math.floor((Date.now() + aheadMs) / 1000)
    const mention = { user_id: id, kind: 'MENTION' as const, create_time }
    const rows = Array.from({ length: 200 }, () => mention)
    await forge.server.app.db.insertInto('contributions').values(rows).execute()
    expect(await told('@bob', ada)).toEqual(['bob'])
  })
})
