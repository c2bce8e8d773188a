import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { testClock } from '../../../support/app.ts'
import { openForge } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { createToken, PASSWORD } from '../../../support/server.ts'

const DAY_SECONDS = 24 * 60 * 60
const clock = testClock()
const { server, users, client, ask, rest } = await openForge({
  clock,
  settings: { lfsUnreferencedAfterMs: 10 * DAY_SECONDS * 1000 },
})
// Access tokens outlive the days of this story.
const [ada, bob] = await Promise.all(
  (['ada', 'bob'] as const).map(async (name) => {
    const token = await createToken(server.url, users[name], ['all'])
    return { ...users[name], authorization: `token ${token}` }
  }),
)
if (!ada || !bob) throw new Error('the users have no tokens')
const { git, home } = client
const films = lfsAt(`${server.url}/bob/films`)
const [KEPT, LOOSE, LATE] = ['kept', 'loose', 'late'].map((text) => lfsObject(`a ${text} film`))

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'films', auto_init: true })
  await git('.', 'clone', '-q', remoteOf(server.url, 'bob/films', 'bob', PASSWORD))
})

async function sweep(): Promise<void> {
  expect((await rest(ada, 'POST', '/admin/maintenance/lfs')).status).toBe(202)
  await server.app.background.settled()
}

/** Returns the objects of the repository, and whether a ref needs them. */
async function objects(): Promise<Record<string, boolean>> {
  const listed: { oid: string; unreferenced_since?: string }[] = await ask(
    bob,
    'GET',
    '/repos/bob/films/lfs/objects',
  )
  return Object.fromEntries(
    listed.map(({ oid, unreferenced_since }) => [oid, unreferenced_since === undefined]),
  )
}

async function push(name: string, content: string): Promise<void> {
  await writeFile(join(home, 'films', name), pointerOf(lfsObject(content)))
  await git('films', 'add', '-A')
  await client.commit('films', name)
  await git('films', 'push', '-q', 'origin', 'HEAD:main')
}

const oidOf = (object: { oid: string } | undefined) => object?.oid ?? ''

describe('objects that no ref needs', () => {
  it('are young for a week', async () => {
    for (const object of [KEPT, LOOSE, LATE]) await films.upload(bob, object?.content ?? '')
    await push('kept', KEPT?.content ?? '')
    await sweep()
    expect(Object.values(await objects())).toEqual([true, true, true])
  })

  it('are marked, until a push needs them', async () => {
    clock.advance(8 * DAY_SECONDS)
    await sweep()
    expect(await objects()).toEqual({
      [oidOf(KEPT)]: true,
      [oidOf(LOOSE)]: false,
      [oidOf(LATE)]: false,
    })
    await push('late', LATE?.content ?? '')
    expect((await objects())[oidOf(LATE)]).toBe(true)
  })

  it('are removed after the time that the operator has set', async () => {
    clock.advance(9 * DAY_SECONDS)
    await sweep()
    expect(Object.keys(await objects())).toHaveLength(3)
    clock.advance(2 * DAY_SECONDS)
    await sweep()
    expect(await objects()).toEqual({ [oidOf(KEPT)]: true, [oidOf(LATE)]: true })
    const { body } = await films.batch(bob, 'download', LOOSE ? [LOOSE] : [])
    expect(body.objects[0].error.code).toBe(404)
  })

  it('are swept for administrators of the instance only', async () => {
    expect((await rest(bob, 'POST', '/admin/maintenance/lfs')).status).toBe(403)
  })
})
