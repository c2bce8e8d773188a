import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { runCommand } from '../../support/commands.ts'
import { isOnPostgres } from '../../support/database.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { descendantsOf } from '../../support/git-memory.ts'
import { withFolder } from '../../support/process.ts'
import { isAlive } from '../../support/process-spawner.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'

const MIB = 2 ** 20
const PUSH_PATH = '/bob/cut.git/git-receive-pack'
const CONTENT_TYPE = 'application/x-git-receive-pack-request'

/** Commands of the processes that store a push, and of those among them that store its pack. */
const RECEIVERS = /receive-pack|index-pack|unpack-objects/
const PACK_RECEIVERS = /index-pack|unpack-objects/

/**
 * Asks for a new branch; a pack follows that has one blob of random bytes and breaks off in the
 * middle of it.
 */
function beginningOfPush(): Buffer {
  const command = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0report-status side-band-64k`
  const line = `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`
  // A stored block of deflate holds the bytes as they are (RFC 1951, 3.2.4).
  const header = Buffer.from('PACK\0\0\0\x02\0\0\x01\x00\xbf\x80\x80\x80\x10\x78\x01', 'latin1')
  const blocks = Array.from({ length: 64 }, () => [
    Buffer.from([0, 0xff, 0xff, 0, 0]),
    randomBytes(0xffff),
  ])
  return Buffer.concat([Buffer.from(line), header, ...blocks.flat()])
}

/** A push that has not ended, over HTTP/1.1 or HTTP/2. */
async function beginPush(
  url: string,
  authorization: string,
  version: 1 | 2,
): Promise<{ cut(): void }> {
  let body: Writable
  let session: ClientHttp2Session | undefined
  if (version === 1) {
    body = request(`${url}${PUSH_PATH}`, {
      method: 'POST',
      headers: { authorization, 'content-type': CONTENT_TYPE },
    })
  } else {
    session = connect(url)
    body = session.request({
      ':method': 'POST',
      ':path': PUSH_PATH,
      authorization,
      'content-type': CONTENT_TYPE,
    })
  }
  body.on('error', () => {})
  body.write(beginningOfPush())
  return {
    cut() {
      body.destroy()
      session?.destroy()
    },
  }
}

const quarantinesIn = async (repository: string) =>
  (await readdir(join(repository, 'objects'))).filter((name) => name.startsWith('tmp_objdir-'))

/** Waits until so many pushes to a repository have begun to store what comes. */
async function untilQuarantines(repository: string, count: number): Promise<void> {
  while ((await quarantinesIn(repository)).length !== count) await pause(5)
}

/**
 * Kills the processes of a push: receive-pack, and the one that it starts for the pack. Without the
 * second, which may start after the end of the first, the folder of the push could come back.
 */
async function killReceivers(): Promise<void> {
  for (;;) {
    const commands = await Promise.all(
      // The spawner of the worker is the parent of receive-pack.
      descendantsOf(process.pid).map(async (pid) => {
        const command = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')
        return { pid, command }
      }),
    )
    const receivers = commands.filter(({ command }) => RECEIVERS.test(command))
    if (receivers.some(({ command }) => PACK_RECEIVERS.test(command))) {
      for (const { pid } of receivers) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      return
    }
    await pause(5)
  }
}

describe('an interrupted push', () => {
  let forge: Forge
  let repository: string

  beforeAll(async () => {
    forge = await startForge()
    const { id } = await forge.ask(forge.users.bob, 'POST', '/user/repos', { name: 'cut' })
    repository = repositoryPath(forge.server.app.git, id)
  })
  afterAll(() => forge.stop())

  it.each([1, 2] as const)(
    'leaves nothing when its client is gone, over HTTP/%i',
    async (version) => {
      const push = await beginPush(forge.server.url, forge.users.bob.authorization, version)
      await untilQuarantines(repository, 1)
      push.cut()
      await untilQuarantines(repository, 0)
    },
  )

  // Other servers may have pushes to the repository, so that the next sweep removes the files.
  it.skipIf(isOnPostgres)(
    'leaves nothing when its Git process is killed (skipped on PostgreSQL, where a sweep follows)',
    async () => {
      const push = await beginPush(forge.server.url, forge.users.bob.authorization, 1)
      await untilQuarantines(repository, 1)
      await killReceivers()
      await untilQuarantines(repository, 0)
      push.cut()
    },
  )
})

/** Leaves what a git leaves that is killed, as of long ago or of now. */
async function leaveBehind(repository: string, isOld: boolean): Promise<void> {
  const folder = join(repository, 'objects/tmp_objdir-incoming-AbCdEf/pack')
  await mkdir(folder, { recursive: true })
  const files = [join(folder, 'tmp_pack_123456'), join(repository, 'objects/pack/tmp_pack_AbCdEf')]
  for (const file of files) await writeFile(file, Buffer.alloc(MIB))
  if (!isOld) return
  // A push to another server may go on for a day without a write.
  const longAgo = new Date(Date.now() - 2 * 24 * 3_600_000)
  for (const path of [...files, folder, join(folder, '..')]) await utimes(path, longAgo, longAgo)
}

const remainsIn = async (repository: string) => [
  ...(await quarantinesIn(repository)),
  ...(await readdir(join(repository, 'objects/pack'))).filter((name) => name.startsWith('tmp_')),
]

describe('the files of killed processes', () => {
  it('are found and removed by doctor, unless the process may still run', async () => {
    await withFolder(async (data) => {
      const first = await startTestServer({ data })
      const { bob } = await createTestUsers(first.url)
      const { body } = await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'cut' })
      const repository = repositoryPath(first.app.git, body.id)
      await first.stop()
      await leaveBehind(repository, false)
      expect(await runCommand(['doctor', '--data', data])).toMatchObject({ code: 0 })
      await leaveBehind(repository, true)
      const { code, stdout } = await runCommand(['doctor', '--data', data])
      expect(code).toBe(1)
      expect(stdout).toContain(
        'objects/tmp_objdir-incoming-AbCdEf was left behind by a process that has ended (--fix repairs it)',
      )
      expect(stdout).toContain(
        'objects/pack/tmp_pack_AbCdEf was left behind by a process that has ended (--fix repairs it)',
      )
      expect(await runCommand(['doctor', '--fix', '--data', data])).toMatchObject({ code: 0 })
      expect(await remainsIn(repository)).toEqual([])
    })
  })

  it('are removed when the server starts', async () => {
    await withFolder(async (data) => {
      const first = await startTestServer({ data })
      const { bob } = await createTestUsers(first.url)
      const { body } = await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'cut' })
      const repository = repositoryPath(first.app.git, body.id)
      await first.stop()
      await leaveBehind(repository, true)
      const second = await startTestServer({ data })
      // The sweep follows the start, on one server of a group a moment later.
      while ((await remainsIn(repository)).length > 0) await pause(5)
      await second.stop()
    })
  })
})
