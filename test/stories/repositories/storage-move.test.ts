import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { type MoveOutcome, moveContents } from '../../../src/forge/administration/storage-move.ts'
import type { ContentStore } from '../../../src/forge/repositories/attachments/schema.ts'
import { finishStorageDeletions } from '../../../src/forge/repositories/attachments/storage-deletions.ts'
import { lfsKey } from '../../../src/forge/repositories/lfs/lfs-objects.ts'
import { createFolderStore } from '../../../src/platform/objects/folder-store.ts'
import { type ObjectStore, objectStores } from '../../../src/platform/objects/object-store.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let bob: { readonly authorization: string }
let rest: ReturnType<typeof restAt>
/** Stands for the bucket. */
let folder: string
let s3: ObjectStore

beforeAll(async () => {
  server = await startTestServer()
  bob = (await createTestUsers(server.url)).bob
  rest = restAt(server.url)
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  s3 = {
    ...createFolderStore(folder, {
      folders: ['attachments'],
      pathOf: (key) => key,
      keyOf: (path) => (path.includes('/incoming/') ? undefined : path),
    }),
    name: 's3',
  }
  Object.assign(server.app, { objects: objectStores([server.app.objects.of('disk'), s3]) })
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

/** Creates a repository with a release and an issue, and returns where their files are uploaded. */
async function places(name: string): Promise<string[]> {
  const path = `/repos/bob/${name}`
  await rest(bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(bob, 'POST', `${path}/issues`, { title: 'Leak' })
  const { id } = (await rest(bob, 'POST', `${path}/releases`, { tag_name: 'v1' })).body
  return [`${path}/releases/${id}/assets`, `${path}/issues/1/assets`]
}

async function upload(path: string, text: string): Promise<{ url: string; uuid: string }> {
  const answer = await fetch(`${server.url}/api/v1${path}?name=x.txt`, {
    method: 'POST',
    headers: { ...bob, 'content-type': 'application/octet-stream' },
    body: text,
  })
  const { browser_download_url: url, uuid } = JSON.parse(await answer.text())
  expect(answer.status).toBe(201)
  return { url, uuid }
}

async function download(url: string): Promise<string> {
  const answer = await fetch(url)
  return answer.status === 200 ? answer.text() : String(answer.status)
}

async function moved(to: ContentStore, each: () => Promise<unknown> = async () => {}) {
  const outcomes: MoveOutcome[] = []
  const move = { to, only: undefined, bytesPerSecond: undefined }
  for await (const outcome of moveContents(server.app, move)) {
    outcomes.push(outcome)
    await each()
  }
  return outcomes
}

const count = (outcomes: readonly MoveOutcome[], of: MoveOutcome['outcome']) =>
  outcomes.filter(({ outcome }) => outcome === of).length

async function* parts(text: string) {
  yield Buffer.from(text)
}

async function keysIn(store: ObjectStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('attachments/')) keys.push(key)
  return keys
}

/** Lets the deletions of a day become due. */
async function aDayLater(): Promise<void> {
  await server.app.db
    .updateTable('storage_deletions')
    .set((eb) => ({ due_time: eb('due_time', '-', 24 * 60 * 60) }))
    .execute()
  await finishStorageDeletions(server.app)
}

async function problems(): Promise<string[]> {
  const found: string[] = []
  for await (const { subject, problem } of examine(server.app, { fsck: true, fix: false }))
    found.push(`${subject}: ${problem}`)
  return found
}

describe('files that move between the stores', () => {
  it('can be read and added meanwhile, and are in one store a day later', async () => {
    const paths = await places('engine')
    const disk = server.app.objects.of('disk')
    const urls = new Map<string, string>()
    const add = async (path: string, text: string) => urls.set((await upload(path, text)).url, text)
    for (const path of paths) for (const text of ['one', 'two', 'three']) await add(path, text)
    expect(count(await moved('disk'), 'moved')).toBe(6)
    const again = await moved('s3', async () => {
      await add(paths[0] ?? '', `${urls.size}`)
      for (const [url, text] of urls) expect(await download(url)).toBe(text)
    })
    expect([count(again, 'moved'), count(again, 'failed')]).toEqual([6, 0])
    expect(count(await moved('s3'), 'moved')).toBe(0)
    expect(await keysIn(disk)).toHaveLength(6)
    expect(await problems()).toEqual([])
    await aDayLater()
    expect(await keysIn(disk)).toEqual([])
    expect(await keysIn(s3)).toHaveLength(urls.size)
    for (const [url, text] of urls) expect(await download(url)).toBe(text)
    expect(await problems()).toEqual([])
    expect(await server.app.db.selectFrom('storage_deletions').selectAll().execute()).toEqual([])
  })

  it('stay where they are if their content is missing, or its copy is another', async () => {
    const [path = ''] = await places('pump')
    const [missing, damaged] = [await upload(path, 'missing'), await upload(path, 'damaged')]
    const keys = await keysIn(s3)
    const keyOf = ({ uuid }: { uuid: string }) => keys.find((key) => key.endsWith(uuid)) ?? ''
    await s3.delete(keyOf(missing))
    const disk = server.app.objects.of('disk')
    const { put } = disk
    async function* others() {
      yield Buffer.from('another')
    }
    Object.assign(disk, {
      put: (key: string, content: AsyncIterable<Uint8Array>, bytes: number) =>
        key === keyOf(damaged)
          ? put(key, content, bytes).then(() => put(key, others(), bytes))
          : put(key, content, bytes),
    })
    const outcomes = await moved('disk')
    Object.assign(disk, { put })
    const failed = outcomes.filter(({ outcome }) => outcome === 'failed')
    expect(failed).toHaveLength(2)
    expect(failed).toContainEqual({
      outcome: 'failed',
      key: keyOf(missing),
      reason: 'there is no content in s3',
    })
    expect(failed).toContainEqual({
      outcome: 'failed',
      key: keyOf(damaged),
      reason: 'the copy in disk differs from the content',
    })
    await server.app.background.settled()
    expect(await download(damaged.url)).toBe('damaged')
    expect(await keysIn(disk)).not.toContain(keyOf(damaged))
    await rest(bob, 'DELETE', '/repos/bob/pump')
    await server.app.background.settled()
  })

  it('are gone from both stores if they are deleted, and follow their issue, during the move', async () => {
    const [releases = '', issues = ''] = await places('valve')
    await rest(bob, 'POST', '/user/repos', { name: 'spring' })
    const gone = await upload(releases, 'gone')
    const kept = await upload(issues, 'kept')
    const target = server.app.objects.current.name === 's3' ? 's3' : 'disk'
    await moved(target === 's3' ? 'disk' : 's3')
    const there = { owner: 'bob', repo: 'spring' }
    await rest(bob, 'POST', '/repos/bob/valve/issues/1:transfer', there)
    await rest(bob, 'DELETE', '/repos/bob/valve')
    await moved(target)
    expect([await download(gone.url), await download(kept.url)]).toEqual(['404', 'kept'])
    await aDayLater()
    const keys = [...(await keysIn(s3)), ...(await keysIn(server.app.objects.of('disk')))]
    const uuids = keys.filter((key) => key.endsWith(gone.uuid) || key.endsWith(kept.uuid))
    expect(uuids).toHaveLength(1)
    expect(await download(kept.url)).toBe('kept')
    expect(await problems()).toEqual([])
  })

  it('are objects of Git LFS too, whose SHA-256 is compared', async () => {
    const { db, objects } = server.app
    const disk = objects.of('disk')
    const oids = ['right', 'wrong'].map((text) => createHash('sha256').update(text).digest('hex'))
    for (const oid of oids) {
      await disk.put(lfsKey(oid), parts('right'), 5)
      const row = { oid, bytes: 5, store: 'disk', create_time: 1 } as const
      await db.insertInto('lfs_contents').values(row).execute()
    }
    const outcomes: MoveOutcome[] = []
    const move = { to: 's3', only: 'lfs', bytesPerSecond: undefined } as const
    for await (const outcome of moveContents(server.app, move)) outcomes.push(outcome)
    expect(outcomes.toSorted((a, b) => a.outcome.localeCompare(b.outcome))).toEqual([
      {
        outcome: 'failed',
        key: lfsKey(oids[1] ?? ''),
        reason: 'the content in disk has another SHA-256',
      },
      { outcome: 'moved', bytes: 5 },
    ])
    await server.app.background.settled()
    await aDayLater()
    const sizes = await Promise.all(
      oids.flatMap((oid) => [disk.size(lfsKey(oid)), s3.size(lfsKey(oid))]),
    )
    expect(sizes).toEqual([undefined, 5, 5, undefined])
    await db.deleteFrom('lfs_contents').execute()
  })
})
