import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PaceLimits } from '../../../src/platform/concurrency/pace.ts'
import { createProcessSlots } from '../../../src/platform/git/processes/process-slots.ts'
import { type Forge, openForge, startForge } from '../../support/forge.ts'
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
const { streams } = forge.server.app.git

/** Creates a repository with a file that takes long to send. */
async function fill({ ask, users, client, server }: Forge): Promise<void> {
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
}

beforeAll(() => fill(forge))

afterEach(async () => {
  for (const answer of answers.splice(0)) answer.destroy()
  Object.assign(forge.server.app.git, { streams, streamPace: undefined })
})

/** Asks from an address of this machine, and reads nothing of the answer but its headers. */
async function askAt(
  url: string,
  localAddress: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const request = http.get(`${url}${path}`, { localAddress, headers, agent: false })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  answers.push(answer)
  return answer
}

const askFrom = (...args: [localAddress: string, path: string, headers?: Record<string, string>]) =>
  askAt(forge.server.url, ...args)

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
    Object.assign(forge.server.app.git, { streams: createProcessSlots({ max: 1, firstPlaces: 0 }) })
    expect((await askFrom('127.0.0.2', RAW)).statusCode).toBe(200)
    expect((await askFrom('127.0.0.3', RAW)).statusCode).toBe(503)
  })

  it('are taken from a reader that is too slow when another caller waits', async () => {
    Object.assign(forge.server.app.git, {
      streams: createProcessSlots({ max: 1, firstPlaces: 0 }),
      streamPace: IMPATIENT,
    })
    const slow = await askFrom('127.0.0.2', RAW)
    expect(slow.statusCode).toBe(200)
    await expect.poll(async () => (await askFrom('127.0.0.3', ARCHIVE)).statusCode).toBe(200)
    await expect(sizeOf(slow)).rejects.toThrow('aborted')
  })

  it('are found at once by an account that holds none, whatever strangers hold', async () => {
    const networks = Array.from({ length: 64 }, (_, i) => `127.0.${i + 1}.1`)
    const asked = await Promise.all(
      [...networks, ...networks].map((network) => askFrom(network, RAW)),
    )
    expect(asked.filter(({ statusCode }) => statusCode === 503).length).toBeGreaterThan(0)
    const { authorization } = forge.users.carol
    for (const path of [ARCHIVE, RAW]) {
      const answer = await askFrom('127.0.0.3', path, { authorization })
      expect(answer.statusCode).toBe(200)
      expect(await sizeOf(answer)).toBeGreaterThanOrEqual(HUGE_BYTES)
    }
  })
})

describe('slots of Git processes without limits for this machine', () => {
  it('cannot all be held by strangers', async () => {
    const local = await startForge()
    onTestFinished(local.stop)
    await fill(local)
    const { url } = local.server
    const asked = await Promise.all(Array.from({ length: 64 }, () => askAt(url, '127.0.0.1', RAW)))
    expect(asked.filter(({ statusCode }) => statusCode === 503).length).toBeGreaterThan(0)
    const { authorization } = local.users.carol
    const answer = await askAt(url, '127.0.0.1', ARCHIVE, { authorization })
    expect(answer.statusCode).toBe(200)
    expect(await sizeOf(answer)).toBeGreaterThan(HUGE_BYTES)
  })
})
