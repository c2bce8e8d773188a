import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { backUp, restoreTo } from '../../support/backups.ts'
import { createDataFolder, databaseOf } from '../../support/database.ts'
import { startForge } from '../../support/forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'

const SSH = { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] }

function fingerprintsOf({ logged }: TestServer): unknown {
  return logged.find(({ msg }) => msg === 'serving Git over SSH')?.fingerprints
}

/** Waits for the version line of a server. */
async function greetingOf({ sshAddress = '' }: TestServer): Promise<string> {
  const socket = connect(Number(sshAddress.split(':').at(-1)), '127.0.0.1')
  try {
    for await (const chunk of socket) return String(chunk)
    return ''
  } catch {
    return ''
  } finally {
    socket.destroy()
  }
}

describe('limits of one network', () => {
  it('close its connections before the handshake after many that failed', async () => {
    const server = await startTestServer({ ssh: SSH, limitLoopback: true })
    for (let i = 0; i < 100; i++) expect(await greetingOf(server)).toContain('SSH-2.0-Branchline')
    await expect.poll(() => greetingOf(server)).toBe('')
    await server.stop()
  })

  it('replace the oldest of many connections that do not authenticate', async () => {
    const server = await startTestServer({ ssh: SSH, limitLoopback: true })
    const port = Number(server.sshAddress?.split(':').at(-1))
    const open = () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      return { socket, greeted: once(socket, 'data'), closed: once(socket, 'close') }
    }
    const first = open()
    await first.greeted
    const others = Array.from({ length: 16 }, open)
    await first.closed
    await Promise.all(others.map(({ greeted }) => greeted))
    for (const { socket } of others) socket.destroy()
    await server.stop()
  })
})

describe.skipIf(!hasSsh)('the operator (skipped where ssh is not installed)', () => {
  it('revokes keys by a file that is read again, and greets by a banner', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'branchline-revoked-'))
    const revokedKeysFile = join(folder, 'revoked')
    await writeFile(revokedKeysFile, '# nobody yet\nserial:7\n')
    const { ask, server, users, stop } = await startForge({
      ssh: { ...SSH, revokedKeysFile, banner: 'This machine is watched.' },
    })
    const key = await createSshKey(folder, 'key')
    await ask(users.bob, 'POST', '/user/keys', { title: 'lost', key })
    const port = server.sshAddress?.split(':').at(-1) ?? ''
    const options = [...sshOptions(folder, 'key', 'INFO'), '-p', port, 'git@127.0.0.1']
    const allowed = await runSsh(options)
    expect(allowed.stderr).toMatch(/^This machine is watched\.\r?$/m)
    expect(allowed.code).toBe(0)
    const refused = () => expect(runSsh(options)).resolves.toMatchObject({ code: 255 })
    await writeFile(revokedKeysFile, `${key} of a lost machine\n`)
    await refused()
    await writeFile(
      revokedKeysFile,
      `${(await ask(users.bob, 'GET', '/user/keys'))[0].fingerprint}\n`,
    )
    await refused()
    await writeFile(revokedKeysFile, '')
    expect((await runSsh(options)).code).toBe(0)
    await writeFile(revokedKeysFile, 'no key\n')
    await refused()
    await rm(revokedKeysFile)
    await refused()
    await stop()
    await rm(folder, { recursive: true })
  })

  it('learns at the start that the file of revoked keys is wrong', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'branchline-revoked-'))
    const revokedKeysFile = join(folder, 'revoked')
    const start = () => startTestServer({ ssh: { ...SSH, revokedKeysFile } })
    await expect(start()).rejects.toThrow(/revoked SSH keys .* cannot be read: ENOENT/)
    await writeFile(revokedKeysFile, '\nssh-ed25519\n')
    await expect(start()).rejects.toThrow(/line 2 of the revoked SSH keys/)
    await rm(folder, { recursive: true })
  })
})

describe('host keys', () => {
  it('stay the same, are private, and are never replaced', async () => {
    const data = await createDataFolder()
    const first = await startTestServer({ data, ssh: SSH })
    expect(await greetingOf(first)).toMatch(/^SSH-2\.0-Branchline\r\n/)
    await first.stop()
    const second = await startTestServer({ data, ssh: SSH })
    expect(fingerprintsOf(second)).toEqual(fingerprintsOf(first))
    await second.stop()
    const file = join(data, 'ssh', 'host_ecdsa')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await rm(file)
    await expect(startTestServer({ data, ssh: SSH })).rejects.toThrow(file)
    await rm(data, { recursive: true })
  })

  it('are in a backup', async () => {
    const [data, restored] = [await createDataFolder(), await createDataFolder()]
    const server = await startTestServer({ data, ssh: SSH })
    const archive = await backUp(server.app, join(data, 'ssh'))
    const before = fingerprintsOf(server)
    await server.stop()
    await rm(restored, { recursive: true })
    await restoreTo(restored, archive, await databaseOf(restored))
    const again = await startTestServer({ data: restored, ssh: SSH })
    expect(fingerprintsOf(again)).toEqual(before)
    await again.stop()
    for (const folder of [data, restored]) await rm(folder, { recursive: true })
  })

  it('refuse the start when the address is taken', async () => {
    const server = await startTestServer({ ssh: SSH })
    const port = Number(server.sshAddress?.split(':').at(-1))
    const listen = { host: '127.0.0.1', port }
    await expect(startTestServer({ ssh: { ...SSH, listen } })).rejects.toThrow('EADDRINUSE')
    await server.stop()
  })
})
