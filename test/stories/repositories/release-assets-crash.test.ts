import { once } from 'node:events'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { type ClientRequest, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { serveProcess } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'

let data: string

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'branchline-'))
})
afterAll(() => rm(data, { recursive: true }))

async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(data, 'attachments'), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => [])
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : []))
}

describe('a server that is killed in the middle of an upload', () => {
  it('does not show the file, and removes what it has of the file after a day', async () => {
    const first = await serveProcess(data)
    const { bob } = await createTestUsers(first.url)
    const rest = restAt(first.url)
    await rest(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    const { id } = (await rest(bob, 'POST', '/repos/bob/engine/releases', { tag_name: 'v1' })).body
    const assets = `/repos/bob/engine/releases/${id}/assets`
    const upload: ClientRequest = request(`${first.url}/api/v1${assets}?name=half`, {
      method: 'POST',
      headers: { authorization: bob.authorization, 'content-type': 'application/octet-stream' },
    })
    const failed = once(upload, 'error')
    upload.write(Buffer.alloc(100_000))
    while ((await storedFiles()).length === 0) await new Promise(setImmediate)
    first.child.kill('SIGKILL')
    await Promise.all([first.exited, failed])

    const second = await startTestServer({ data })
    const [orphan] = await storedFiles()
    expect((await restAt(second.url)(bob, 'GET', assets)).body).toEqual([])
    expect((await fetch(`${second.url}/attachments/${orphan}`)).status).toBe(404)
    expect(await storedFiles()).toEqual([orphan])
    await second.stop()
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60
    await utimes(join(data, 'attachments/incoming', orphan ?? ''), twoDaysAgo, twoDaysAgo)
    const third = await startTestServer({ data })
    await third.app.background.settled()
    await third.stop()
    expect(await storedFiles()).toEqual([])
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
  })
})
