import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { LfsService } from '#gen/branchline/v1/lfs_service_pb.ts'
import { openForge, refusalOf } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { PASSWORD } from '../../../support/server.ts'

const { users, client, ask, rest, grpc, server } = await openForge()
const { bob, carol } = users
const { git, home } = client
const films = lfsAt(`${server.url}/bob/films`)
const OBJECTS = '/repos/bob/films/lfs/objects'

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'films', auto_init: true })
  await git('.', 'clone', '-q', remoteOf(server.url, 'bob/films', 'bob', PASSWORD))
})

async function commitPointer(name: string, content: string): Promise<string> {
  await films.upload(bob, content)
  await writeFile(join(home, 'films', name), pointerOf(lfsObject(content)))
  await git('films', 'add', '-A')
  await client.commit('films', name)
  return (await git('films', 'rev-parse', 'HEAD')).trim()
}

describe('the objects of a repository', () => {
  it('are listed for its administrators, the newest or the largest first', async () => {
    const long = await films.upload(bob, 'a long film with an end')
    const short = await films.upload(bob, 'a film')
    const bySize = await ask(bob, 'GET', `${OBJECTS}?sort=size&limit=1`)
    expect(bySize).toEqual([
      { oid: long.oid, size: long.size, created_at: expect.any(String), is_locked: false },
    ])
    const { objects, total } = await grpc(LfsService, bob).listLfsObjects({
      owner: 'bob',
      repo: 'films',
    })
    expect(objects.map(({ oid }) => oid).sort()).toEqual([long.oid, short.oid].sort())
    expect(total).toBe(2n)
    expect((await rest(bob, 'GET', `${OBJECTS}?sort=name`)).status).toBe(422)
    expect((await rest(carol, 'GET', OBJECTS)).status).toBe(403)
  })

  it('are removed when no ref needs them', async () => {
    const film = lfsObject('a film that goes')
    const commit = await commitPointer('goes.film', film.content)
    await git('films', 'push', '-q', 'origin', 'HEAD:refs/heads/short')
    await git('films', 'reset', '-q', '--hard', 'origin/main')
    const { status, body } = await rest(bob, 'DELETE', `${OBJECTS}/${film.oid}`)
    expect([status, body.message]).toEqual([409, `the object is needed by commit ${commit}`])
    await ask(bob, 'DELETE', '/repos/bob/films/branches/short')
    expect((await rest(carol, 'DELETE', `${OBJECTS}/${film.oid}`)).status).toBe(403)
    expect((await rest(bob, 'DELETE', `${OBJECTS}/${film.oid}`)).status).toBe(204)
    expect((await rest(bob, 'DELETE', `${OBJECTS}/${film.oid}`)).status).toBe(404)
    const { body: batch } = await films.batch(bob, 'download', [film])
    expect(batch.objects[0].error.code).toBe(404)
    const asked = grpc(LfsService, bob).deleteLfsObject({ owner: 'bob', repo: 'films', oid: 'x' })
    expect(await refusalOf(asked)).toMatchObject({ reason: 'LFS_OBJECT_NOT_FOUND' })
  })

  it('show whether their file is locked', async () => {
    const content = 'a film that bob has locked'
    await commitPointer('locked film', content)
    await git('films', 'push', '-q', 'origin', 'HEAD:main')
    for (const path of ['locked film', 'none'])
      expect((await films.send(bob, 'POST', 'locks', { path })).status).toBe(201)
    const objects: { oid: string; is_locked: boolean }[] = await ask(bob, 'GET', OBJECTS)
    const locked = objects.filter(({ is_locked }) => is_locked).map(({ oid }) => oid)
    expect(locked).toEqual([lfsObject(content).oid])
  })
})

describe('the locks of a repository', () => {
  it('are listed for its administrators', async () => {
    const path = '/repos/bob/films/lfs/locks'
    const [first, ...others] = await ask(bob, 'GET', path)
    expect(first).toEqual({
      id: '1',
      path: 'locked film',
      locked_at: expect.any(String),
      owner: { name: 'bob' },
      ref: '',
    })
    expect(others).toHaveLength(1)
    expect(await ask(bob, 'GET', `${path}?page=2&limit=1`)).toEqual(others)
    expect((await rest(carol, 'GET', path)).status).toBe(403)
  })
})
