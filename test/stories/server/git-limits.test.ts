import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PaceLimits } from '../../../src/platform/concurrency/pace.ts'
import { ProcessLimit } from '../../../src/platform/git/processes/process-limits.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

/** More than the buffers of two sockets hold, so that Git waits for whoever reads nothing. */
const HUGE_BYTES = 32 * 1024 * 1024

/** Under which nobody is fast enough as soon as anything waits. */
const IMPATIENT: PaceLimits = { windowMs: 1, minBytesPerSecond: Number.MAX_SAFE_INTEGER }

const RAW = '/api/v1/repos/bob/engine/raw/huge'
const ARCHIVE = '/api/v1/repos/bob/engine/archive/main.tar.gz'

const answers: IncomingMessage[] = []

const forge = await openForge({ limitLoopback: true })

beforeAll(async () => {
  const { ask, users, client, server } = forge
  await ask(users.bob, 'POST', '/user/repos', {
    name: 'engine',
    auto_init: true,
    default_branch: 'main',
  })
  await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD), 'mine')
  await writeFile(join(client.home, 'mine', 'huge'), randomBytes(HUGE_BYTES))
  await client.git('mine', 'add', '.')
  await client.commit('mine', 'huge')
  await client.git('mine', 'push', '-q')
}, 60_000)

afterEach(() => {
  for (const answer of answers.splice(0)) answer.destroy()
})

/** Asks from an address of this machine, and reads nothing of the answer but its headers. */
async function askFrom(localAddress: string, path: string): Promise<IncomingMessage> {
  const request = http.get(`${forge.server.url}${path}`, { localAddress, agent: false })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  answers.push(answer)
  return answer
}

async function sizeOf(answer: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const chunk of answer) bytes += chunk.length
  return bytes
}

describe('slots of Git processes for large responses', () => {
  it('cannot all be held by one slow peer', async () => {
    const asked = await Promise.all(Array.from({ length: 32 }, () => askFrom('127.0.0.2', RAW)))
    const statuses = asked.map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(16)
    const refused = asked.find(({ statusCode }) => statusCode === 503)
    expect(refused?.headers).toMatchObject({ 'retry-after': '5', 'x-error-reason': 'SERVER_BUSY' })
    const archive = await askFrom('127.0.0.3', ARCHIVE)
    expect(archive.statusCode).toBe(200)
    expect(await sizeOf(archive)).toBeGreaterThan(HUGE_BYTES)
  })

  it('stay with a slow reader for a minute, even if other callers wait', async () => {
    Object.assign(forge.server.app.git, { streams: new ProcessLimit(1, 0) })
    expect((await askFrom('127.0.0.2', RAW)).statusCode).toBe(200)
    expect((await askFrom('127.0.0.3', RAW)).statusCode).toBe(503)
  })

  it('are taken from a reader that is too slow when another caller waits', async () => {
    Object.assign(forge.server.app.git, { streams: new ProcessLimit(1, 0), streamPace: IMPATIENT })
    const slow = await askFrom('127.0.0.2', RAW)
    expect(slow.statusCode).toBe(200)
    await expect.poll(async () => (await askFrom('127.0.0.3', ARCHIVE)).statusCode).toBe(200)
    await expect(sizeOf(slow)).rejects.toThrow('aborted')
  })
})
