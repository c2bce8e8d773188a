import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withDrafts } from '../../../src/forge/repositories/attachments/draft-contents.ts'
import { finishStorageDeletions } from '../../../src/forge/repositories/attachments/storage-deletions.ts'
import { testClock } from '../../support/app.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer, type TestServer } from '../../support/server.ts'

const clock = testClock()
let server: TestServer
let bob: { readonly authorization: string }
let rest: ReturnType<typeof restAt>

beforeAll(async () => {
  server = await startTestServer({ clock })
  bob = (await createTestUsers(server.url)).bob
  rest = restAt(server.url)
})
afterAll(() => server.stop())

/** Creates a repository with an issue that has a file. */
async function fileIn(name: string): Promise<{ readonly url: string; readonly key: string }> {
  const { id } = (await rest(bob, 'POST', '/user/repos', { name })).body
  await rest(bob, 'POST', `/repos/bob/${name}/issues`, { title: 'Leak' })
  const form = new FormData()
  form.set('attachment', new Blob(['a picture']), 'leak.png')
  const answer = await fetch(`${server.url}/api/v1/repos/bob/${name}/issues/1/assets`, {
    method: 'POST',
    headers: bob,
    body: form,
  })
  expect(answer.status).toBe(201)
  const { uuid, browser_download_url: url } = JSON.parse(await answer.text())
  return { url, key: `attachments/${id}/${uuid}` }
}

/** Runs work while the store cannot delete. */
async function withoutDeletions(work: () => Promise<unknown>): Promise<void> {
  const store = server.app.objects.of('disk')
  const deletes = store.delete
  Object.assign(store, { delete: () => Promise.reject(new Error('the store is away')) })
  try {
    await work()
    await server.app.background.settled()
  } finally {
    Object.assign(store, { delete: deletes })
  }
}

async function* content() {
  yield Buffer.from('a picture')
}

const queued = () =>
  server.app.db
    .selectFrom('storage_deletions')
    .selectAll()
    .where('claim_time', 'is', null)
    .execute()
const sizeOf = (key: string) => server.app.objects.of('disk').size(key)

describe('the content of a row that is deleted', () => {
  it('is deleted later where the store does not answer', async () => {
    const { key } = await fileIn('engine')
    await withoutDeletions(() => rest(bob, 'DELETE', '/repos/bob/engine/issues/1'))
    await finishStorageDeletions(server.app)
    expect(await sizeOf(key)).toBe(9)
    clock.advance(11)
    await finishStorageDeletions(server.app)
    expect(await sizeOf(key)).toBeUndefined()
    const left = await server.app.db.selectFrom('storage_deletions').selectAll().execute()
    expect(left).toEqual([])
  })

  it('stays when a row needs it again', async () => {
    const { key, url } = await fileIn('pump')
    await rest(bob, 'POST', '/user/repos', { name: 'valve' })
    await withoutDeletions(async () => {
      const there = { owner: 'bob', repo: 'valve' }
      expect((await rest(bob, 'POST', '/repos/bob/pump/issues/1:transfer', there)).status).toBe(201)
    })
    const back = { owner: 'bob', repo: 'pump' }
    expect((await rest(bob, 'POST', '/repos/bob/valve/issues/1:transfer', back)).status).toBe(201)
    clock.advance(60)
    await finishStorageDeletions(server.app)
    expect(await sizeOf(key)).toBe(9)
    expect(await (await fetch(url, { headers: bob })).text()).toBe('a picture')
  })

  it('stays when the deletion is of an upload that got its row', async () => {
    const { key } = await fileIn('rotor')
    const draft = { store: 'disk', object_key: key, due_time: 0 } as const
    await server.app.db.insertInto('storage_deletions').values(draft).execute()
    await finishStorageDeletions(server.app)
    expect(await sizeOf(key)).toBe(9)
    expect(await queued()).toEqual([])
  })
})

describe('the content of an upload', () => {
  it('is deleted where the server was killed before the row', async () => {
    const { key } = await fileIn('gear')
    const uuid = 'ffffffff-0000-4000-8000-000000000000'
    const draft = key.replace(/[^/]*$/, uuid)
    const { db, objects, clock: now } = server.app
    // A killed server leaves the deletion of the content behind, which is due a day later.
    const upload = withDrafts(
      server.app,
      [{ store: 'disk', object_key: draft }],
      () => objects.of('disk').put(draft, content(), 100),
      async () => {
        expect(await queued()).toMatchObject([{ object_key: draft }])
        await db
          .updateTable('storage_deletions')
          .set({ due_time: Math.floor(now.now() / 1000) })
          .execute()
        await finishStorageDeletions(server.app)
        expect(await sizeOf(draft)).toBeUndefined()
        throw new Error('killed')
      },
    )
    await expect(upload).rejects.toThrow('killed')
    expect(await queued()).toEqual([])
    expect(await sizeOf(key)).toBe(9)
  })

  it('gets no row where its deletion has begun', async () => {
    const place = { store: 'disk', object_key: 'attachments/1/slow' } as const
    const rows: string[] = []
    const upload = withDrafts(
      server.app,
      [place],
      async () => {
        await server.app.db.updateTable('storage_deletions').set({ claim_time: 1 }).execute()
      },
      async () => rows.push('row'),
    )
    await expect(upload).rejects.toMatchObject({ reason: 'SERVER_BUSY' })
    expect(rows).toEqual([])
  })

  it('is deleted at once where the upload fails after the content', async () => {
    const { key } = await fileIn('shaft')
    const draft = key.replace(/[^/]*$/, 'ffffffff-0000-4000-8000-000000000001')
    const upload = withDrafts(
      server.app,
      [{ store: 'disk', object_key: draft }],
      () => server.app.objects.of('disk').put(draft, content(), 100),
      () => Promise.reject(new Error('refused')),
    )
    await expect(upload).rejects.toThrow('refused')
    await server.app.background.settled()
    expect(await sizeOf(draft)).toBeUndefined()
  })
})
