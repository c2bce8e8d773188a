import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { type LfsClient, lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { PASSWORD } from '../../../support/server.ts'

const { ask, client, server, users } = await openForge()
const { bob, carol } = users
/** Transfers that run at once, in all. */
const SLOTS = 64

let hidden: LfsClient
let curious: LfsClient

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'hidden', private: true })
  await ask(carol, 'POST', '/user/repos', { name: 'curious', auto_init: true })
  hidden = lfsAt(`${server.url}/bob/hidden`)
  curious = lfsAt(`${server.url}/carol/curious`)
})

/** Pushes a pointer as carol, and returns what the server says. */
async function pushPointer(object: { oid: string; size: number }, name: string): Promise<string> {
  const remote = remoteOf(server.url, 'carol/curious', 'carol', PASSWORD)
  await client.git('.', 'clone', '-q', remote, name)
  await writeFile(join(client.home, name, 'stolen.film'), pointerOf(object))
  await client.git(name, 'add', '.')
  await client.commit(name, name)
  const push = client.git(name, 'push', '-q', 'origin', 'HEAD')
  const refusal = await push.then(
    () => 'accepted',
    (error: unknown) => String(error),
  )
  return refusal.replaceAll(object.oid, 'OID').replaceAll(name, 'NAME')
}

describe('the content of a private repository', () => {
  it('is as unknown to others as content that exists nowhere, whatever they try', async () => {
    const secret = await hidden.upload(bob, 'a secret film')
    const nowhere = { oid: randomBytes(32).toString('hex'), size: secret.size }
    // The push check begins with the first object of a repository.
    await curious.upload(carol, 'a film of carol')
    const answers = await Promise.all(
      [secret, nowhere].map(async (object) => {
        const { body } = await curious.batch(carol, 'upload', [object])
        const { upload, verify } = body.objects[0].actions
        const put = await fetch(upload.href, {
          method: 'PUT',
          headers: upload.header,
          body: 'x'.repeat(object.size),
        })
        const link = { authorization: verify.header.Authorization }
        const asked = { oid: object.oid, size: object.size }
        const verified = await curious.send(link, 'POST', verify.href, asked)
        const got = await curious.send(carol, 'GET', `objects/${object.oid}`)
        const locked = await curious.send(carol, 'POST', 'locks', { path: object.oid })
        const told = [put.status, JSON.parse(await put.text()).message, verified.status]
        return [...told, verified.body.message, got.status, got.body.message, locked.status]
      }),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]?.[0]).toBe(422)
    expect(answers[0]).toContain(404)
    const refusals = [await pushPointer(secret, 'one'), await pushPointer(nowhere, 'two')]
    expect(refusals[0]).toContain('LFS objects are missing (1)')
    expect(refusals[0]).toBe(refusals[1])
    const bytes = await curious.send(carol, 'GET', `objects/${secret.oid}`)
    expect([bytes.status, JSON.stringify(bytes.body)]).toEqual([
      404,
      expect.not.stringContaining('secret film'),
    ])
  })
})

describe('an upload that lies or waits', () => {
  it('is read as far as its object is long', async () => {
    const film = lfsObject(randomBytes(1024))
    const { body } = await curious.batch(carol, 'upload', [film])
    const { href, header } = body.objects[0].actions.upload
    const upload = request(href, { method: 'PUT', headers: header })
    let sent = 0
    const flood = () => {
      while (!upload.destroyed && upload.write(Buffer.alloc(64 * 1024))) sent += 64 * 1024
    }
    upload.on('error', () => {}).on('drain', flood)
    flood()
    const [answer] = await once(upload, 'response')
    expect(answer.statusCode).toBe(422)
    upload.destroy()
    expect(sent).toBeLessThan(64 * 1024 ** 2)
    expect((await curious.batch(carol, 'download', [film])).body.objects[0].error.code).toBe(404)
  })

  it('takes a slot, of which others get theirs while many are slow', async () => {
    const films = Array.from({ length: SLOTS + 36 }, () => lfsObject(randomBytes(1024)))
    const { body } = await curious.batch(carol, 'upload', films)
    type Entry = { actions: { upload: { href: string; header: Record<string, string> } } }
    const slow = (body.objects as Entry[]).map(({ actions: { upload } }) => {
      const sent = request(upload.href, { method: 'PUT', headers: upload.header })
      sent.on('error', () => {})
      sent.write('x')
      return sent
    })
    const answers: number[] = []
    for (const sent of slow)
      sent.on('response', ({ statusCode, headers }: { statusCode: number; headers: object }) => {
        answers.push(statusCode)
        expect(headers).toHaveProperty('retry-after')
      })
    await expect.poll(() => answers.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(36)
    expect(new Set(answers)).toEqual(new Set([429]))
    // The slots are shared fairly between accounts.
    expect(await hidden.upload(bob, 'a film of bob meanwhile')).toHaveProperty('oid')
    for (const sent of slow) sent.destroy()
    await expect
      .poll(() => curious.upload(carol, 'a later film').catch(() => undefined), { timeout: 30_000 })
      .toHaveProperty('oid')
  })
})
