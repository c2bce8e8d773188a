import { createHash } from 'node:crypto'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { type ClientRequest, request } from 'node:http'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../../support/commands.ts'
import { lfsAt, lfsObject } from '../../../support/lfs.ts'
import { serveProcess, withFolder } from '../../../support/process.ts'
import { restAt } from '../../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../../support/server.ts'
import { isLongTier } from '../../../support/tier.ts'

/** Uploads that the server has answered when it is killed. */
const MOMENTS = isLongTier ? Array.from({ length: 14 }, (_, i) => i) : [12]
/** Fewer than the transfers that one account can have at once. */
const UPLOADS = 30

/** Objects of several sizes; a few need more than one piece. */
const OBJECTS = Array.from({ length: UPLOADS }, (_, i) =>
  lfsObject(Buffer.alloc(1_000 + (i % 5) * 60_000, `film ${i} `)),
)

/** The paths of the files in the folder of the objects, complete ones and parts. */
async function storedFiles(data: string): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const
  const entries = await readdir(join(data, 'lfs'), options).catch(() => [])
  return entries.flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []))
}

/** Earlier versions had drafts beside the objects. No sweep reads all those folders, but `doctor` does. */
const EARLIER_DRAFT = `${'ab'.repeat(32)}.0d3c1b5e-0000-4000-8000-000000000000.part`

async function draftOfEarlierVersion(data: string, time: number): Promise<void> {
  const folder = join(data, 'lfs/ab/ab')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, EARLIER_DRAFT), 'half')
  await utimes(join(folder, EARLIER_DRAFT), time, time)
}

interface Action {
  readonly href: string
  readonly header: Record<string, string>
}

/** Begins an upload whose content ends only when somebody says so. */
function beginUpload({ href, header }: Action, content: Buffer): ClientRequest {
  const upload = request(href, {
    method: 'PUT',
    agent: false,
    headers: { ...header, 'content-length': content.length },
  })
  upload.on('error', () => {})
  upload.write(content.subarray(0, content.length / 2))
  return upload
}

describe('a server that is killed while objects of Git LFS are uploaded', () => {
  it.each(MOMENTS)(
    'keeps what it has confirmed, and nothing that is not whole (after %i)',
    (moment) =>
      withFolder(async (data) => {
        const first = await serveProcess(data)
        const { bob } = await createTestUsers(first.url)
        await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'films' })
        const { body } = await lfsAt(`${first.url}/bob/films`).batch(bob, 'upload', OBJECTS)
        const actions: Action[] = body.objects.map(
          (object: { actions: { upload: Action } }) => object.actions.upload,
        )
        const uploads = OBJECTS.map(({ content }, i) =>
          beginUpload(actions[i] ?? { href: '', header: {} }, content),
        )
        while ((await storedFiles(data)).length < UPLOADS) await new Promise(setImmediate)
        const confirmed = new Set<string>()
        const closed = uploads.map((upload, i) => {
          upload.once('response', (answer) => {
            if (answer.statusCode === 200) confirmed.add(OBJECTS[i]?.oid ?? '')
            if (confirmed.size === moment) first.child.kill('SIGKILL')
            answer.resume()
          })
          return new Promise((resolve) => upload.once('close', resolve))
        })
        if (moment === 0) first.child.kill('SIGKILL')
        // Half of the clients never end their content.
        for (const [i, { content }] of OBJECTS.entries())
          if (i % 2 === 0) uploads[i]?.end(content.subarray(content.length / 2))
        await Promise.all([first.exited, ...closed])
        expect(confirmed.size).toBeGreaterThanOrEqual(moment)

        const second = await startTestServer({ data })
        const films = lfsAt(`${second.url}/bob/films`)
        const rows = await second.app.db.selectFrom('lfs_objects').select('oid').execute()
        const known = new Set(rows.map(({ oid }) => oid))
        expect([...confirmed].filter((oid) => !known.has(oid))).toEqual([])
        const asked = await films.batch(bob, 'download', OBJECTS)
        for (const { oid, actions: found } of asked.body.objects) {
          expect(found !== undefined, oid).toBe(known.has(oid))
          if (!found) continue
          const got = await fetch(found.download.href, { headers: found.download.header })
          const bytes = Buffer.from(await got.arrayBuffer())
          expect(createHash('sha256').update(bytes).digest('hex')).toBe(oid)
        }
        // The clients try again.
        for (const { content } of OBJECTS) await films.upload(bob, content.toString())
        await second.stop()
        // An upload that has not ended has a draft, too, but receives nothing for a day at most.
        const drafts = (await storedFiles(data)).filter((path) => path.includes('/incoming/'))
        expect(drafts).not.toEqual([])
        expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
        const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60
        for (const path of drafts) await utimes(path, twoDaysAgo, twoDaysAgo)
        await draftOfEarlierVersion(data, twoDaysAgo)
        const third = await startTestServer({ data })
        await third.app.background.settled()
        await third.stop()
        const { stdout } = await runCommand(['doctor', '--data', data, '--fix'])
        expect(stdout).toContain(`LFS object ${EARLIER_DRAFT}: nothing leads`)
        const kept = (await storedFiles(data)).map((path) => basename(path))
        expect(kept.toSorted()).toEqual(OBJECTS.map(({ oid }) => oid).toSorted())
      }),
  )
})
