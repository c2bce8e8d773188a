import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../../support/forge.ts'
import { hasGitLfs, lfsAt, lfsObject } from '../../../support/lfs.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../../support/ssh-client.ts'

const { ask, client, server, users } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})
const { bob } = users
const { home } = client
const port = Number(server.sshAddress?.split(':').at(-1))
const films = lfsAt(`${server.url}/bob/films`)

const ssh = (key: string, command: string) =>
  runSsh([...sshOptions(home, key), '-p', String(port), 'git@127.0.0.1', command])

/** Returns the credentials that the server prints. */
async function authenticate(key: string, operation: string) {
  const { code, stdout, stderr } = await ssh(key, `git-lfs-authenticate bob/films.git ${operation}`)
  return { code, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) }
}

describe.skipIf(!hasSsh)('Git LFS over SSH (skipped where ssh is not installed)', () => {
  beforeAll(async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'films', private: true, auto_init: true })
    const key = await createSshKey(home, 'own')
    await ask(bob, 'POST', '/user/keys', { title: 'own', key })
    for (const read_only of [true, false]) {
      const name = `deploy-${read_only}`
      const deployKey = await createSshKey(home, name)
      await ask(bob, 'POST', '/repos/bob/films/keys', { title: name, key: deployKey, read_only })
    }
  })

  it('gives the credentials of HTTP, which end with the key', async () => {
    const { code, answer } = await authenticate('own', "'upload'")
    expect([code, answer]).toEqual([
      0,
      {
        href: `${server.url}/bob/films.git/info/lfs`,
        header: { Authorization: expect.stringMatching(/^Bearer branchline_lfs_/) },
        expires_in: 3600,
      },
    ])
    const link = { authorization: answer.header.Authorization }
    const film = await films.upload(link, 'a film by a key')
    expect((await films.batch(link, 'download', [film])).status).toBe(200)
    const reading = (await authenticate('own', 'download')).answer
    const reader = { authorization: reading.header.Authorization }
    expect((await films.batch(reader, 'download', [film])).status).toBe(200)
    expect((await films.batch(reader, 'upload', [lfsObject('more')])).status).toBe(403)
    expect((await films.send(link, 'GET', 'locks')).status).toBe(200)
    const [{ id }] = await ask(bob, 'GET', '/user/keys')
    await ask(bob, 'DELETE', `/user/keys/${id}`)
    expect((await films.batch(link, 'download', [film])).status).toBe(403)
    const key = await createSshKey(home, 'second')
    await ask(bob, 'POST', '/user/keys', { title: 'second', key })
  })

  it('lets deploy keys do what they may', async () => {
    const refused = await authenticate('deploy-true', 'upload')
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'Branchline: this deploy key is read-only\n',
    ])
    expect((await authenticate('deploy-true', 'download')).code).toBe(0)
    const { answer } = await authenticate('deploy-false', 'upload')
    const link = { authorization: answer.header.Authorization }
    await films.upload(link, 'a film by a deploy key')
    const { body } = await films.send(link, 'POST', 'locks', { path: 'a.film' })
    expect(body.lock.owner).toEqual({ name: 'bob' })
    const hidden = await ssh('deploy-false', 'git-lfs-authenticate bob/other download')
    expect(hidden.stderr).toBe('Branchline: Repository not found.\n')
  })

  it.skipIf(!hasGitLfs)('serves the client of Git LFS', async () => {
    const command = ['ssh', ...sshOptions(home, 'second')].join(' ')
    await client.git('.', 'config', '--global', 'core.sshCommand', command)
    const url = `ssh://git@127.0.0.1:${port}/bob/films.git`
    await client.git('.', 'clone', '-q', url, 'films')
    await client.git('films', 'lfs', 'install', '--local')
    await client.git('films', 'lfs', 'track', '*.film')
    await writeFile(join(home, 'films', 'a.film'), 'a film over SSH')
    await client.git('films', 'add', '.')
    await client.commit('films', 'Film')
    await client.git('films', 'push', '-q', 'origin', 'HEAD')
    await client.git('.', 'clone', '-q', url, 'again')
    await client.git('again', 'lfs', 'install', '--local')
    await client.git('again', 'lfs', 'pull')
    expect(await readFile(join(home, 'again', 'a.film'), 'utf8')).toBe('a film over SSH')
  })
})
