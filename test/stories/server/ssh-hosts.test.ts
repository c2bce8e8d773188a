import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { backUp, restoreTo } from '../../support/backups.ts'
import { createDataFolder, databaseOf } from '../../support/database.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

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
