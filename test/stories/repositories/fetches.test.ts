import { beforeEach, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { settleFiles } from '../../platform/git/fixture.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

const { ask, client, rest, server, users } = await openForge()

/** Fetches with and without version 2 of the protocol. */
const VERSIONS = ['0', '1', '2'] as const

// The server keeps refs in memory once their files are some seconds old.
beforeEach(settleFiles)

/** Creates a repository of bob with one commit, which the server has listed once. */
async function createKnown(name: string, options: object = {}): Promise<number> {
  const settings = { name, auto_init: true, ...options }
  const { id } = await ask(users.bob, 'POST', '/user/repos', settings)
  await listRefs(name)
  return id
}

function remoteFor(name: string): string {
  return remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD)
}

/** What `git ls-remote` prints, by each version of the protocol. */
async function listRefs(name: string, remote = remoteFor(name)): Promise<string> {
  const lists = []
  for (const version of VERSIONS)
    lists.push(await client.git('.', '-c', `protocol.version=${version}`, 'ls-remote', remote))
  expect(new Set(lists).size).toBe(1)
  return lists[0] ?? ''
}

/** What the repository on the server has, in the form of `git ls-remote`. */
async function storedRefs(id: number): Promise<string> {
  const path = repositoryPath(server.app.git, id)
  const refs = await client.git('.', '-C', path, 'show-ref', '--head', '--dereference')
  return refs.replaceAll(' ', '\t')
}

describe('a fetch of refs that the server knows', () => {
  it('lists what the repository has, after every change', async () => {
    const id = await createKnown('known')
    expect(await listRefs('known')).toBe(await storedRefs(id))

    await client.git('.', 'clone', '-q', remoteFor('known'), 'known')
    const commit = await client.commit('known', 'second')
    await client.git('known', 'tag', '-a', '-m', 'a tag', 'v1')
    await client.git('known', 'push', '-q', 'origin', 'HEAD:main', 'HEAD:other', 'v1')
    expect(await listRefs('known')).toBe(await storedRefs(id))
    expect(await listRefs('known')).toContain(`${commit}\trefs/heads/other`)

    await ask(users.bob, 'DELETE', '/repos/bob/known/branches/other')
    expect(await listRefs('known')).not.toContain('refs/heads/other')
    await ask(users.bob, 'PATCH', '/repos/bob/known/branches/main', { name: 'trunk' })
    expect(await listRefs('known')).toBe(await storedRefs(id))
  })

  it('shows at once what an operator changes in the folder', async () => {
    const id = await createKnown('operated')
    const path = repositoryPath(server.app.git, id)
    const operate = (...args: string[]) => client.git('.', '-C', path, ...args)
    await operate('update-ref', 'refs/heads/by-hand', 'refs/heads/main')
    expect(await listRefs('operated')).toContain('refs/heads/by-hand')
    await operate('pack-refs', '--all')
    expect(await listRefs('operated')).toBe(await storedRefs(id))
    await operate('symbolic-ref', 'HEAD', 'refs/heads/by-hand')
    expect(await listRefs('operated')).toBe(await storedRefs(id))
    await operate('gc', '--quiet')
    expect(await listRefs('operated')).toContain('refs/heads/by-hand')
    await operate('update-ref', '-d', 'refs/heads/by-hand')
    expect(await listRefs('operated')).not.toContain('refs/heads/by-hand')
  })

  it('finds nothing new, and then what is new', async () => {
    await createKnown('polled')
    await client.git('.', 'clone', '-q', remoteFor('polled'), 'polled')
    await client.git('.', 'clone', '-q', remoteFor('polled'), 'pushing')
    for (const version of VERSIONS)
      await client.git('polled', '-c', `protocol.version=${version}`, 'fetch', '-q', 'origin')
    const commit = await client.commit('pushing', 'new')
    await client.git('pushing', 'push', '-q', 'origin', 'main')
    await client.git('polled', 'fetch', '-q', 'origin')
    expect(await client.git('polled', 'rev-parse', 'origin/main')).toBe(commit)
  })

  it('never shows internal refs', async () => {
    const id = await createKnown('internal')
    const path = repositoryPath(server.app.git, id)
    await client.git('.', '-C', path, 'update-ref', 'refs/branchline/secret', 'refs/heads/main')
    expect(await listRefs('internal')).not.toContain('secret')
  })

  it('asks for the rights of the caller first', async () => {
    await createKnown('private', { private: true })
    expect(await listRefs('private')).toContain('refs/heads/main')
    const stranger = remoteOf(server.url, 'bob/private', 'carol', PASSWORD)
    await expect(listRefs('private', stranger)).rejects.toThrow(/not found/i)
    const nobody = remoteOf(server.url, 'bob/private')
    await expect(listRefs('private', nobody)).rejects.toThrow(/could not read Username/)
  })

  it('shows nothing to a caller who may no longer read the repository', async () => {
    await createKnown('shared', { private: true })
    const path = '/repos/bob/shared/collaborators/carol'
    const asCarol = remoteOf(server.url, 'bob/shared', 'carol', PASSWORD)
    expect((await rest(users.bob, 'PUT', path, { permission: 'read' })).status).toBe(204)
    expect(await listRefs('shared', asCarol)).toContain('refs/heads/main')
    expect((await rest(users.bob, 'DELETE', path)).status).toBe(204)
    await expect(listRefs('shared', asCarol)).rejects.toThrow(/not found/i)

    await ask(users.bob, 'PATCH', '/repos/bob/shared', { private: false })
    const asNobody = remoteOf(server.url, 'bob/shared')
    expect(await listRefs('shared', asNobody)).toContain('refs/heads/main')
    await ask(users.bob, 'PATCH', '/repos/bob/shared', { private: true })
    await expect(listRefs('shared', asNobody)).rejects.toThrow(/could not read Username/)
  })

  it('lists the heads of pull requests', async () => {
    const id = await createKnown('pulled')
    await client.git('.', 'clone', '-q', remoteFor('pulled'), 'pulled')
    const commit = await client.commit('pulled', 'proposed')
    await client.git('pulled', 'push', '-q', 'origin', 'HEAD:proposal')
    await listRefs('pulled')
    const pull = { title: 'A proposal', head: 'proposal', base: 'main' }
    const { number } = await ask(users.bob, 'POST', '/repos/bob/pulled/pulls', pull)
    expect(await listRefs('pulled')).toContain(`${commit}\trefs/pull/${number}/head`)
    expect(await listRefs('pulled')).toBe(await storedRefs(id))
  })

  it('finds nothing after the repository was deleted', async () => {
    await createKnown('deleted')
    expect((await rest(users.bob, 'DELETE', '/repos/bob/deleted')).status).toBe(204)
    await expect(listRefs('deleted')).rejects.toThrow(/not found/i)
  })
})
