import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForge, startForge } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { PASSWORD } from '../../../support/server.ts'

const { server, users, client, ask, rest } = await openForge()
const { bob, carol } = users
const { git, home } = client
const ATTRIBUTES = '*.film filter=lfs diff=lfs merge=lfs -text\n'
const engine = lfsAt(`${server.url}/bob/engine`)
const FILM = lfsObject('a film that is pushed')

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
  await git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD))
})

/** Pushes files on top of what the server has. Returns what Git says on stderr. */
async function push(files: Record<string, string>, folder = 'engine', ref = 'main') {
  await git(folder, 'fetch', '-q')
  await git(folder, 'checkout', '-q', '-B', 'work', 'origin/main')
  for (const [name, content] of Object.entries(files))
    await writeFile(join(home, folder, name), content)
  await git(folder, 'add', '-A')
  await client.commit(folder, 'Change')
  return git(folder, 'push', '-q', 'origin', `HEAD:refs/heads/${ref}`).catch(
    (error: { readonly stderr: string }) => error.stderr,
  )
}

describe('a push of pointers', () => {
  it('is not checked where nothing names Git LFS', async () => {
    expect(await push({ 'early.txt': pointerOf(lfsObject('early')) }, 'engine', 'early')).toBe('')
  })

  it('is refused while an object is missing', async () => {
    const files = {
      '.gitattributes': ATTRIBUTES,
      'a.film': pointerOf(FILM),
      'b.film': pointerOf(lfsObject('another film')),
    }
    const refused = await push(files)
    expect(refused).toContain('LFS objects are missing (2): run git lfs push --all origin')
    expect(refused).toContain(FILM.oid)
    await engine.upload(bob, FILM.content)
    expect(await push(files)).toContain('LFS objects are missing (1)')
    await engine.upload(bob, 'another film')
    expect(await push(files)).toBe('')
  })

  it('counts only what is a pointer', async () => {
    const pointer = pointerOf(lfsObject('nowhere'))
    const files = {
      'text.film': `see ${pointer}`,
      'windows.film': pointer.replaceAll('\n', '\r\n'),
      'long.film': `${pointer}${'x'.repeat(1024 - pointer.length)}`,
      'empty.film': pointerOf(lfsObject('')),
    }
    expect(await push(files)).toBe('')
    expect(await push({ 'c.film': pointer })).toContain('LFS objects are missing (1)')
  })

  it('over the API is checked alike', async () => {
    const content = Buffer.from(pointerOf(lfsObject('nowhere'))).toString('base64')
    const path = '/repos/bob/engine/contents/d.film'
    const { status, body } = await rest(bob, 'POST', path, { content })
    expect([status, body.message]).toEqual([
      422,
      `LFS objects are missing (1): run git lfs push --all origin\n${lfsObject('nowhere').oid}`,
    ])
    const known = Buffer.from(pointerOf(FILM)).toString('base64')
    expect((await rest(bob, 'POST', path, { content: known })).status).toBe(201)
  })

  it('is accepted where the option says so', async () => {
    const forge = await startForge({ settings: { lfsPushCheck: false } })
    try {
      await forge.ask(forge.users.bob, 'POST', '/user/repos', { name: 'loose', auto_init: true })
      const remote = remoteOf(forge.server.url, 'bob/loose', 'bob', PASSWORD)
      await git('.', 'clone', '-q', remote)
      const files = { '.gitattributes': ATTRIBUTES, 'a.film': pointerOf(FILM) }
      expect(await push(files, 'loose')).toBe('')
    } finally {
      await forge.stop()
    }
  })
})

describe('a pull request of a fork', () => {
  it('brings its objects to the base, also when the fork is deleted', async () => {
    await ask(carol, 'POST', '/repos/bob/engine/forks', {})
    await git('.', 'clone', '-q', remoteOf(server.url, 'carol/engine', 'carol', PASSWORD), 'fork')
    const change = await lfsAt(`${server.url}/carol/engine`).upload(carol, 'a changed film')
    expect(await push({ 'a.film': pointerOf(change) }, 'fork', 'change')).toBe('')
    const before = await engine.batch(bob, 'download', [change])
    expect(before.body.objects[0].error.code).toBe(404)
    const { number } = await ask(carol, 'POST', '/repos/bob/engine/pulls', {
      title: 'Change',
      head: 'carol:change',
      base: 'main',
    })
    await ask(bob, 'POST', `/repos/bob/engine/pulls/${number}/merge`, { Do: 'merge' })
    await ask(carol, 'DELETE', '/repos/carol/engine')
    const after = await engine.batch(undefined, 'download', [change])
    const { href } = after.body.objects[0].actions.download
    expect(await (await fetch(href)).text()).toBe('a changed film')
  })

  it('can be pushed on by somebody who reads the fork', async () => {
    await ask(carol, 'POST', '/repos/bob/engine/forks', {})
    await git('fork', 'fetch', '-q')
    const change = await lfsAt(`${server.url}/carol/engine`).upload(carol, 'a film of the fork')
    // Bob has the objects from the fork, and pushes the commit himself.
    expect(await push({ 'e.film': pointerOf(change) })).toBe('')
    const { body } = await engine.batch(bob, 'download', [change])
    expect(body.objects[0].actions.download).toBeDefined()
  })
})
