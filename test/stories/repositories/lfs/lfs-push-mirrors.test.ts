import { afterAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../../src/platform/outbound/allowed-hosts.ts'
import { openForge, startForge } from '../../../support/forge.ts'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { createToken } from '../../../support/server.ts'

const { server, users, ask } = await openForge({
  webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
})
const { bob } = users
/** Another server, which refuses pointers without their objects. */
const other = await startForge({ settings: { maxLfsBytes: 1_000 } })
afterAll(other.stop)
const { carol } = other.users
const films = lfsAt(`${server.url}/bob/films`)
const mirrors = '/repos/bob/films/push_mirrors'

async function commitPointer(path: string, content: string): Promise<void> {
  await films.upload(bob, content)
  await ask(bob, 'POST', `/repos/bob/films/contents/${path}`, {
    content: Buffer.from(pointerOf(lfsObject(content))).toString('base64'),
  })
}

/** Waits until the latest push has ended, and returns its error. */
async function pushed(): Promise<string> {
  const { app } = server
  for (;;) {
    const seen = app.signals.pushMirrors.count
    const row = await app.db.selectFrom('push_mirrors').selectAll().executeTakeFirstOrThrow()
    if (row.next_sync_time === null || row.next_sync_time > app.clock.now()) return row.error
    await app.signals.pushMirrors.after(seen, new AbortController().signal)
  }
}

async function storedThere(): Promise<string[]> {
  const objects = await other.ask(carol, 'GET', '/repos/carol/copy/lfs/objects')
  return objects.map(({ oid }: { oid: string }) => oid).sort()
}

const oidsOf = (...contents: string[]) => contents.map((text) => lfsObject(text).oid).sort()

describe('a push mirror of a repository with Git LFS', () => {
  it('gets the objects before its refs move', async () => {
    await other.ask(carol, 'POST', '/user/repos', { name: 'copy' })
    await ask(bob, 'POST', '/user/repos', { name: 'films', auto_init: true })
    await commitPointer('first', 'first')
    await ask(bob, 'POST', mirrors, {
      remote_address: `${other.server.url}/carol/copy`,
      remote_username: 'carol',
      remote_password: await createToken(other.server.url, carol, ['write:repository']),
      interval: '0',
      sync_on_commit: true,
    })
    expect(await pushed()).toBe('')
    expect(await storedThere()).toEqual(oidsOf('first'))
    await commitPointer('second', 'second')
    expect(await pushed()).toBe('')
    expect(await storedThere()).toEqual(oidsOf('first', 'second'))
  })

  it('stays as it is where an object is refused', async () => {
    await commitPointer('large', 'x'.repeat(2_000))
    expect(await pushed()).toBe('the Git LFS of the other server refuses an object')
    const { status } = await other.rest(carol, 'GET', '/repos/carol/copy/contents/large')
    expect(status).toBe(404)
  })
})
