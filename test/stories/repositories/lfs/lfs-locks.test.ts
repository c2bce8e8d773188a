import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { hasGitLfs, type LfsClient, lfsAt } from '../../../support/lfs.ts'
import { PASSWORD } from '../../../support/server.ts'

const { server, users, client, ask, rest } = await openForge()
const { bob, carol } = users
const { git, home } = client
const ENGINE = '/repos/bob/engine'
let lfs: LfsClient

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
  await ask(bob, 'PUT', `${ENGINE}/collaborators/carol`, { permission: 'write' })
  lfs = lfsAt(`${server.url}/bob/engine`)
  await git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'carol', PASSWORD), 'carols')
})

const lock = (who: typeof bob, path: string) => lfs.send(who, 'POST', 'locks', { path })
const unlock = (who: typeof bob, id: string, force = false) =>
  lfs.send(who, 'POST', `locks/${id}/unlock`, { force })
const paths = (locks: readonly { readonly path: string }[]) => locks.map(({ path }) => path)

async function unlockAll(): Promise<void> {
  const { body } = await lfs.send(bob, 'GET', 'locks')
  for (const { id } of body.locks) await unlock(bob, id, true)
}

describe('a lock', () => {
  it('is created, listed, verified and ended', async () => {
    const made = await lfs.send(bob, 'POST', 'locks', {
      path: '/a b/Ü.film',
      ref: { name: 'refs/heads/main' },
    })
    expect([made.status, made.body]).toEqual([
      201,
      {
        lock: {
          id: expect.stringMatching(/^\d+$/),
          path: 'a b/Ü.film',
          locked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          owner: { name: 'bob' },
        },
      },
    ])
    const { lock: present } = made.body
    for (const who of [bob, carol]) {
      const again = await lock(who, 'a b/Ü.film')
      expect([again.status, again.body]).toEqual([
        409,
        { lock: present, message: 'already created lock' },
      ])
    }
    const other = (await lock(carol, 'b.film')).body.lock
    const list = async (query: string) => (await lfs.send(undefined, 'GET', `locks${query}`)).body
    expect(await list('')).toEqual({ locks: [present, other] })
    expect(await list('?path=b.film&refspec=refs/heads/x')).toEqual({ locks: [other] })
    expect(await list(`?id=${present.id}`)).toEqual({ locks: [present] })
    for (const id of ['999999', 'x', '-1']) expect(await list(`?id=${id}`)).toEqual({ locks: [] })
    const verified = await lfs.send(bob, 'POST', 'locks/verify', {})
    expect(verified.body).toEqual({ ours: [present], theirs: [other] })
    const foreign = await unlock(bob, other.id)
    expect([foreign.status, foreign.body.message]).toEqual([403, 'the lock belongs to carol'])
    expect((await unlock(carol, present.id, true)).status).toBe(403)
    expect((await unlock(bob, other.id, true)).body).toEqual({ lock: other })
    expect((await unlock(bob, present.id)).status).toBe(200)
    for (const id of [present.id, '999999', 'x']) expect((await unlock(bob, id)).status).toBe(404)
  })

  it('needs the path of a file, and the right to write', async () => {
    const wrong = ['', '/', '../a', 'a/../b', './a', 'a//b', 'a/', 'a\0b', 'x'.repeat(4097)]
    for (const path of wrong) expect((await lock(bob, path)).status, path).toBe(422)
    expect((await lfs.send(bob, 'POST', 'locks', { path: 5 })).status).toBe(422)
    expect((await lfs.send(undefined, 'POST', 'locks', { path: 'a' })).status).toBe(401)
    await ask(carol, 'POST', '/user/repos', { name: 'books' })
    const books = lfsAt(`${server.url}/carol/books`)
    expect((await books.send(bob, 'POST', 'locks', { path: 'a' })).status).toBe(403)
    const { status, body } = await books.send(bob, 'POST', 'locks/verify', {})
    expect([status, body.message]).toEqual([403, 'You must have push access to verify locks'])
    expect((await books.send(bob, 'GET', 'locks')).status).toBe(200)
  })

  it('is on one of several pages', async () => {
    for (let i = 0; i < 7; i += 1) await lock(i % 2 === 0 ? bob : carol, `page/${i}`)
    const seen: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body } = await lfs.send(bob, 'GET', `locks?limit=3&cursor=${cursor}`)
      seen.push(...paths(body.locks))
      cursor = body.next_cursor
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6].map((i) => `page/${i}`))
    const { body } = await lfs.send(bob, 'POST', 'locks/verify', { limit: 3 })
    expect([paths(body.ours), paths(body.theirs)]).toEqual([['page/0', 'page/2'], ['page/1']])
    const rest = await lfs.send(bob, 'POST', 'locks/verify', { cursor: body.next_cursor })
    expect(rest.body.ours.length + rest.body.theirs.length).toBe(4)
    expect((await lfs.send(bob, 'GET', 'locks?cursor=AAAA')).status).toBe(422)
    await unlockAll()
  })

  it('of one path is given once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => lock(i % 2 === 0 ? bob : carol, 'contested.film')),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19)
    await unlockAll()
  })
})

/** Commits a change in the clone of carol, on top of what the server has, and pushes it. */
async function pushByCarol(change: () => Promise<unknown>, ref = 'main'): Promise<string> {
  await git('carols', 'fetch', '-q')
  await git('carols', 'checkout', '-q', '-B', 'work', 'origin/main')
  await change()
  await git('carols', 'add', '-A')
  await client.commit('carols', 'Change')
  return git('carols', 'push', '-q', 'origin', `HEAD:refs/heads/${ref}`).catch(
    (error: { readonly stderr: string }) => error.stderr,
  )
}

const write = (name: string, text: string) => writeFile(join(home, 'carols', name), text)

describe('a locked file', () => {
  beforeAll(async () => {
    await pushByCarol(async () => {
      await write('a.film', 'one')
      await write('b.film', 'two')
      await write('free.film', 'three')
    })
    await lock(bob, 'a.film')
    await lock(carol, 'b.film')
  })

  it('is not changed by a push of another user', async () => {
    const refused = 'a.film is locked by bob'
    const changes: readonly (() => Promise<unknown>)[] = [
      () => write('a.film', 'other'),
      () => git('carols', 'rm', '-q', 'a.film'),
      () => git('carols', 'mv', 'a.film', 'c.film'),
      () => git('carols', 'mv', '-f', 'free.film', 'a.film'),
    ]
    for (const change of changes) {
      expect(await pushByCarol(change)).toContain(refused)
      expect(await pushByCarol(change, 'new-branch')).toContain(refused)
    }
    // A change that a later commit undoes counts too.
    const undone = await pushByCarol(async () => {
      await write('a.film', 'other')
      await git('carols', 'add', '-A')
      await client.commit('carols', 'There')
      await write('a.film', 'one')
    })
    expect(undone).toContain(refused)
    expect(await pushByCarol(() => write('b.film', 'two and more'))).toBe('')
    expect(await pushByCarol(() => write('free.film', 'more'))).toBe('')
  })

  it('is not changed over the API, nor by a merge', async () => {
    const file = await ask(carol, 'GET', `${ENGINE}/contents/a.film`)
    const change = { sha: file.sha, content: Buffer.from('new').toString('base64') }
    const { status, body } = await rest(carol, 'PUT', `${ENGINE}/contents/a.film`, change)
    expect([status, body.message]).toEqual([423, 'a.film is locked by bob'])
    await ask(bob, 'PUT', `${ENGINE}/contents/a.film`, { ...change, new_branch: 'change' })
    const { number } = await ask(bob, 'POST', `${ENGINE}/pulls`, {
      title: 'Change',
      head: 'change',
      base: 'main',
    })
    const merge = (who: typeof bob) =>
      rest(who, 'POST', `${ENGINE}/pulls/${number}/merge`, { Do: 'merge' })
    const refused = await merge(carol)
    expect([refused.status, refused.body.message]).toEqual([409, 'a.film is locked by bob'])
    expect((await merge(bob)).status).toBe(200)
  })

  it('is free where the repository does not enforce locks, and once its owner cannot write', async () => {
    expect((await ask(bob, 'GET', ENGINE)).lfs_locks_enforced).toBe(true)
    await ask(bob, 'PATCH', ENGINE, { lfs_locks_enforced: false })
    expect(await pushByCarol(() => write('a.film', 'free'))).toBe('')
    await ask(bob, 'PATCH', ENGINE, { lfs_locks_enforced: true })
    await ask(bob, 'PUT', `${ENGINE}/collaborators/carol`, { permission: 'read' })
    const { body } = await lfs.send(bob, 'GET', 'locks')
    expect(paths(body.locks)).toEqual(['a.film'])
    const types = await server.app.db
      .selectFrom('repository_events')
      .select(['type', 'actor_id', 'subject'])
      .where('subject', '=', 'b.film')
      .orderBy('id')
      .execute()
    expect(types.slice(-2)).toEqual([
      { type: 'LFS_LOCKED', actor_id: expect.any(Number), subject: 'b.film' },
      { type: 'LFS_UNLOCKED', actor_id: null, subject: 'b.film' },
    ])
    await ask(bob, 'PUT', `${ENGINE}/collaborators/carol`, { permission: 'write' })
    await unlockAll()
  })
})

describe.skipIf(!hasGitLfs)(
  'the client of Git LFS (skipped where git-lfs is not installed)',
  () => {
    it('locks, lists, verifies and unlocks', async () => {
      await git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD), 'bobs')
      await git('bobs', 'lfs', 'install', '--local')
      expect(await git('bobs', 'lfs', 'lock', 'a.film')).toContain('Locked a.film')
      await lock(carol, 'b.film')
      expect(await git('bobs', 'lfs', 'locks', '--verify')).toMatch(
        /O a\.film\tbob[\s\S]*b\.film\tcarol/,
      )
      await git('carols', 'lfs', 'install', '--local')
      await expect(git('carols', 'lfs', 'lock', 'a.film')).rejects.toThrow()
      await expect(git('bobs', 'lfs', 'unlock', 'b.film')).rejects.toThrow('carol')
      expect(await git('bobs', 'lfs', 'unlock', '--force', 'b.film')).toContain('Unlocked b.film')
      expect(await git('bobs', 'lfs', 'unlock', 'a.film')).toContain('Unlocked a.film')
    })
  },
)
