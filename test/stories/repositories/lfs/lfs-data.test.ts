import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { examine } from '../../../../src/forge/administration/doctor.ts'
import { backUp, restoreTo } from '../../../support/backups.ts'
import { databaseOf } from '../../../support/database.ts'
import { openForge } from '../../../support/forge.ts'
import { lfsAt } from '../../../support/lfs.ts'
import { startTestServer, type TestServer } from '../../../support/server.ts'

const { server, users, ask } = await openForge()
const { bob } = users
await ask(bob, 'POST', '/user/repos', { name: 'films' })
const films = lfsAt(`${server.url}/bob/films`)
const keyOf = (oid: string) => `lfs/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`

async function findings({ app }: TestServer, fix = false): Promise<string[]> {
  const found: string[] = []
  for await (const { subject, problem, outcome } of examine(app, { fsck: true, fix }))
    found.push(`${subject}: ${problem} (${outcome})`)
  return found
}

async function* bytesOf(text: string) {
  yield Buffer.from(text)
}

describe('the objects of Git LFS', () => {
  it('are examined', async () => {
    const disk = server.app.objects.of('disk')
    const [short, wrong, lost] = [
      await films.upload(bob, 'a short film'),
      await films.upload(bob, 'a wrong film'),
      await films.upload(bob, 'a lost film'),
    ]
    expect(await findings(server)).toEqual([])
    await disk.put(keyOf(short.oid), bytesOf('short'), 5)
    await disk.put(keyOf(wrong.oid), bytesOf('A WRONG FILM'), 12)
    await disk.delete(keyOf(lost.oid))
    const repairable = '(its owner can repair it)'
    expect((await findings(server)).sort()).toEqual(
      [
        `LFS object ${short.oid}: its content has 5 bytes, not 12 ${repairable}`,
        `LFS object ${wrong.oid}: the content has another SHA-256 ${repairable}`,
        `LFS object ${lost.oid}: its content is missing ${repairable}`,
      ].sort(),
    )
    for (const content of ['a short film', 'a lost film']) await films.upload(bob, content)
    expect(await findings(server)).toHaveLength(1)
    await disk.put(keyOf(wrong.oid), bytesOf('a wrong film'), 12)
    expect(await findings(server)).toEqual([])
  })

  it('are in a backup, also those that are about to be deleted', async () => {
    const film = await films.upload(bob, 'a film to keep')
    await ask(bob, 'POST', '/user/repos', { name: 'gone' })
    const gone = await lfsAt(`${server.url}/bob/gone`).upload(bob, 'a film that goes')
    await ask(bob, 'DELETE', '/repos/bob/gone')
    const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    const data = join(folder, 'restored')
    await restoreTo(data, await backUp(server.app), await databaseOf(data))
    const restored = await startTestServer({ data })
    try {
      const { body } = await lfsAt(`${restored.url}/bob/films`).batch(undefined, 'download', [film])
      const content = await fetch(body.objects[0].actions.download.href)
      expect(await content.text()).toBe('a film to keep')
      expect(await restored.app.objects.of('disk').size(keyOf(gone.oid))).toBe(gone.size)
      expect(await findings(restored)).toEqual([])
    } finally {
      await restored.stop()
      await rm(folder, { recursive: true })
    }
  })
})
