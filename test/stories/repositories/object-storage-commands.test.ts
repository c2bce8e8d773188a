import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { branchline, environmentOf, MAIN, serveProcess } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { type S3Server, s3Obstacle, startS3Server } from '../../support/s3-server.ts'
import { createTestUsers } from '../../support/server.ts'

const obstacle = s3Obstacle()
const FILES = 12

let base: string
let data: string
let s3: S3Server
/** The options that name the bucket. */
let storage: string[]

beforeAll(async () => {
  if (obstacle) return
  base = await mkdtemp(join(tmpdir(), 'branchline-'))
  data = join(base, 'data')
  s3 = await startS3Server()
  storage = optionsOf(await s3.bucket('files'))
}, 900_000)
afterAll(async () => {
  if (obstacle) return
  await s3.stop()
  await rm(base, { recursive: true })
})

function optionsOf(address: string): string[] {
  return ['--object-storage', address, '--object-storage-key-file', s3.keyFile]
}

/** The names of the files below a folder. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : []))
}

const filesInBucket = (bucket: string) => filesIn(join(s3.folder, bucket, 'forge/attachments'))

/** Starts a server with a release that has files. @returns their URLs and texts. */
async function serveFiles() {
  const server = await serveProcess(data, storage)
  const { bob } = await createTestUsers(server.url)
  const rest = restAt(server.url)
  await rest(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
  const { id } = (await rest(bob, 'POST', '/repos/bob/engine/releases', { tag_name: 'v1' })).body
  const files = new Map<string, string>()
  const add = async () => {
    const content = `file ${files.size} `.repeat(100)
    const answer = await fetch(
      `${server.url}/api/v1/repos/bob/engine/releases/${id}/assets?name=x`,
      {
        method: 'POST',
        headers: { ...bob, 'content-type': 'application/octet-stream' },
        body: content,
      },
    )
    const { browser_download_url: url } = JSON.parse(await answer.text())
    files.set(new URL(url).pathname, content)
  }
  for (let number = 0; number < FILES; number += 1) await add()
  return { server, files, add }
}

async function differing(url: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const different: string[] = []
  for (const [path, content] of files)
    if ((await (await fetch(url + path)).text()) !== content) different.push(path)
  return different
}

/** Starts a slow move, and kills the command once it has moved a file. */
async function killedMove(hasBegun: () => Promise<boolean>): Promise<void> {
  const args = ['storage', 'move', '--data', data, ...storage, '--to', 'disk', '--rate', '4KiB']
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: await environmentOf(args),
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  while (!(await hasBegun())) await new Promise(setImmediate)
  child.kill('SIGKILL')
  expect((await exited)[1]).toBe('SIGKILL')
}

const command = (...args: string[]) => branchline([...args, '--data', data, ...storage])

/** Restores an archive with files, and one without, and checks what is served. */
async function restoreToBucket(archive: string, files: ReadonlyMap<string, string>) {
  const bucket = optionsOf(await s3.bucket('restored'))
  const folder = join(base, 'from-bucket')
  const taken = await branchline(['restore', '--data', folder, '--input', archive, ...storage])
  expect([taken.code, taken.stderr]).toEqual([
    1,
    expect.stringContaining('belongs to another instance'),
  ])
  const done = await branchline(['restore', '--data', folder, '--input', archive, ...bucket])
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(await filesInBucket('restored')).toHaveLength(files.size)
  expect(await filesIn(join(folder, 'attachments'))).toEqual([])
  const restored = await serveProcess(folder, bucket)
  expect(await differing(restored.url, files)).toEqual([])
  restored.child.kill('SIGTERM')
  await restored.exited
  const list = join(base, 'list.tar')
  const args = ['--data', folder, '--output', list, '--without-objects', ...bucket]
  expect((await branchline(['backup', ...args])).code).toBe(0)
  const empty = optionsOf(await s3.bucket('copied'))
  const copied = join(base, 'copied')
  const told = await branchline(['restore', '--data', copied, '--input', list, ...empty])
  expect(told.stdout).toContain('the archive has no attachments')
  const objects = join(s3.folder, 'restored/forge/attachments')
  await cp(objects, join(s3.folder, 'copied/forge/attachments'), { recursive: true })
  const doctor = await branchline(['doctor', '--fsck', '--data', copied, ...empty])
  expect(doctor.stdout).toBe('nothing is wrong\n')
}

describe.skipIf(obstacle)(
  `the commands with an object storage${obstacle ? ` (${obstacle})` : ''}`,
  () => {
    it('move files while a server runs, also after a kill, and restore them to a folder and a bucket', async () => {
      const { server, files, add } = await serveFiles()
      expect(await filesInBucket('files')).toHaveLength(FILES)
      await killedMove(async () => (await filesIn(join(data, 'attachments'))).length > 2)
      expect(await differing(server.url, files)).toEqual([])
      await add()
      const { code, stdout } = await command('storage', 'move', '--to', 'disk')
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(
          /^moved \d+ to disk \(\d+ bytes\), left \d+ as they were, failed 0\n$/,
        ),
      ])
      expect(await differing(server.url, files)).toEqual([])
      // What the killed command was writing is a draft, which a server removes after a day.
      const left = (await command('doctor', '--fsck')).stdout.match(/^attachment.*/gm) ?? []
      expect(left).toEqual([])
      expect((await command('storage', 'move', '--to', 's3', '--only', 'attachments')).code).toBe(0)
      expect(await differing(server.url, files)).toEqual([])
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      await command('doctor', '--fix')
      expect((await command('doctor')).stdout).toBe('nothing is wrong\n')
      const archive = join(base, 'backup.tar')
      expect((await command('backup', '--output', archive)).code).toBe(0)
      const folder = join(base, 'restored')
      const args = ['restore', '--data', folder, '--input', archive]
      expect((await branchline(args)).stdout).toContain(`${files.size} attachments`)
      const restored = await serveProcess(folder)
      expect(await differing(restored.url, files)).toEqual([])
      restored.child.kill('SIGTERM')
      await restored.exited
      await restoreToBucket(archive, files)
    })
  },
)
