import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { selfSigned } from '../../clients/certificate.ts'
import { backUp, restoreTo } from '../../support/backups.ts'
import { runCommand } from '../../support/commands.ts'
import { createDataFolder, databaseOf } from '../../support/database.ts'
import { startForge } from '../../support/forge.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { execFile } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'
import { offerMessage, plainPacket } from '../../support/ssh-plain.ts'

const SSH = { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] }

function fingerprintsOf({ logged }: TestServer): unknown {
  return logged.find(({ msg }) => msg === 'serving Git over SSH')?.fingerprints
}

/** Sends parts, each in a packet of its own, and waits for the first bytes of the answer. */
async function answerTo({ url }: TestServer, parts: readonly string[]): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  for (const part of parts) {
    await new Promise((resolve) => socket.write(part, resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  return String(chunk)
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

describe.skipIf(!hasSsh)(
  'connections that do not authenticate (skipped where ssh is missing)',
  () => {
    it('keep nobody out, however many there are and whatever they send', async () => {
      const { ask, server, users, client, stop } = await startForge({ ssh: SSH })
      const key = await createSshKey(client.home, 'key')
      await ask(users.bob, 'POST', '/user/keys', { title: 'own', key })
      await ask(users.bob, 'POST', '/user/repos', { name: 'films', auto_init: true })
      const port = server.sshAddress?.split(':').at(-1) ?? ''
      const offer = plainPacket(offerMessage())
      const beginnings = ['', 'SSH-2.0-Ha', 'SSH-2.0-Half\r\n', offer, 'GET / HTTP/1.1\r\n\r\n']
      const sockets = Array.from({ length: 500 }, (_, i) => {
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', () => {}).resume()
        const beginning = beginnings[i % beginnings.length] ?? ''
        if (typeof beginning !== 'string') socket.write('SSH-2.0-Plain\r\n')
        socket.write(beginning)
        return socket
      })
      const command = ['ssh', ...sshOptions(client.home, 'key')].join(' ')
      const url = `ssh://git@127.0.0.1:${port}/bob/films.git`
      await client.git('.', '-c', `core.sshCommand=${command}`, 'clone', '-q', url)
      // More than the server lets wait have made room, the oldest first.
      await expect
        .poll(() => sockets.filter(({ closed }) => !closed).length)
        .toBeLessThanOrEqual(128)
      for (const socket of sockets) socket.destroy()
      await stop()
    })
  },
)

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
    await expect(start()).rejects.toThrow(/revoked SSH keys .* in line 2/)
    await rm(folder, { recursive: true })
  })
})

describe('load balancers', () => {
  const trusted = { address: '127.0.0.0', prefix: 8, family: 'ipv4' } as const

  /** What a peer gets that begins with some bytes. */
  async function answerOf({ sshAddress = '' }: TestServer, bytes: string): Promise<string> {
    const socket = connect(Number(sshAddress.split(':').at(-1)), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(bytes)
    const answer = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(String(chunk)))
      socket.once('close', () => resolve('closed'))
    })
    socket.destroy()
    return answer
  }

  it('name the client of each connection, and are the only peers', async () => {
    const server = await startTestServer({ ssh: { ...SSH, proxies: [trusted] } })
    expect(await answerOf(server, 'SSH-2.0-Direct\r\n')).toBe('closed')
    for (const [header, peer] of [
      ['PROXY TCP4 192.0.2.7 10.0.0.1 1000 22\r\n', '192.0.2.7'],
      ['PROXY TCP6 2001:db8::7 ::1 1000 22\r\n', '2001:db8::7'],
      ['PROXY UNKNOWN\r\n', '127.0.0.1'],
    ]) {
      expect(await answerOf(server, `${header}SSH-2.0-Proxied\r\n`)).toContain('SSH-2.0-Branchline')
      const failed = () => server.logged.find((line) => line.peer === peer)
      await expect.poll(failed).toMatchObject({
        msg: 'an SSH connection did not authenticate',
        client: 'Proxied',
      })
    }
    await server.stop()
    const other = { ...trusted, address: '10.0.0.0' }
    const strict = await startTestServer({ ssh: { ...SSH, proxies: [other] } })
    expect(await answerOf(strict, 'PROXY UNKNOWN\r\nSSH-2.0-x\r\n')).toBe('closed')
    await strict.stop()
  })
})

describe.skipIf(!hasSsh)('the port of HTTP (skipped where ssh is not installed)', () => {
  const onSamePort = { ...SSH, listen: 'same' } as const

  it('serves SSH too, and tells both apart however the first bytes arrive', async () => {
    const { ask, server, users, client, stop } = await startForge({ ssh: onSamePort })
    expect(server.sshAddress).toBe(new URL(server.url).host)
    const key = await createSshKey(client.home, 'key')
    await ask(users.bob, 'POST', '/user/keys', { title: 'key', key })
    await ask(users.bob, 'POST', '/user/repos', { name: 'both', auto_init: true })
    const { ssh_url: url } = await ask(users.bob, 'GET', '/repos/bob/both')
    expect(url).toBe(`ssh://git@${server.sshAddress}/bob/both.git`)
    const command = ['ssh', ...sshOptions(client.home, 'key')].join(' ')
    const clone = ['-c', `core.sshCommand=${command}`, 'clone', '-q', url, 'both']
    await client.git('.', ...clone)
    const commit = await client.commit('both', 'over the port of HTTP')
    await client.git('both', '-c', `core.sshCommand=${command}`, 'push', '-q', 'origin', 'HEAD')
    expect((await ask(users.bob, 'GET', '/repos/bob/both/branches/main')).commit.id).toBe(commit)
    expect(await answerTo(server, ['S', 'SH-', '2.0-Slow\r\n'])).toMatch(/^SSH-2\.0-Branchline\r\n/)
    const search = ['SS', 'H / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']
    expect(await answerTo(server, search)).toMatch(/^HTTP\/1\.1 /)
    expect(await answerTo(server, ['GET /healthz HTTP/1.0\r\n\r\n'])).toContain('200 OK')
    await stop()
  })

  it('serves SSH beside TLS', async () => {
    const tls = selfSigned()
    const server = await startTestServer({ ssh: onSamePort, tls })
    expect(await answerTo(server, ['SSH-2.0-x\r\n'])).toMatch(/^SSH-2\.0-Branchline\r\n/)
    const { hostname, port } = new URL(server.url)
    const secure = connectTls({ host: hostname, port: Number(port), ca: tls.cert })
    secure.write('GET /healthz HTTP/1.0\r\n\r\n')
    const [chunk] = await once(secure, 'data')
    expect(String(chunk)).toContain('200 OK')
    secure.destroy()
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

  it.skipIf(!hasSsh)('change in two steps, so that clients know the next ones before', async () => {
    await withFolder(async (data) => {
      const keys = (step: string, ...more: string[]) =>
        runCommand(['ssh-keys', step, '--data', data, ...more])
      expect((await keys('list')).stderr).toContain('does not exist')
      const server = await serveProcess(data, ['--ssh-listen', '127.0.0.1:0'])
      const known = async () => (await (await fetch(`${server.url}/-/known_hosts`)).text()).trim()
      const seen = async () => {
        const [, port = ''] = /\]:(\d+) /.exec(await known()) ?? []
        const { stdout } = await execFile('ssh-keyscan', ['-p', port, '127.0.0.1'])
        return stdout.trim().split('\n').toSorted()
      }
      const first = (await known()).split('\n')
      expect(await seen()).toEqual(first.toSorted())
      expect((await keys('activate')).stderr).toContain('no next SSH host keys')
      const listed = (await keys('rotate')).stdout.trim().split('\n')
      expect(listed.map((line) => line.split(' ')[0])).toEqual([
        ...Array(3).fill('present'),
        ...Array(3).fill('next'),
      ])
      expect((await keys('rotate')).stderr).toContain('exists already')
      expect((await keys('list')).stdout.trim().split('\n')).toEqual(listed)
      server.child.kill('SIGHUP')
      await expect.poll(async () => (await known()).split('\n')).toHaveLength(6)
      expect(await seen()).toEqual(first.toSorted())
      const shown = await fetch(`${server.url}/api/v1/meta/ssh-host-keys`)
      const { keys: present } = (await shown.json()) as { keys: { active: boolean }[] }
      expect(present.map(({ active }) => active)).toEqual([
        ...Array(3).fill(true),
        ...Array(3).fill(false),
      ])
      const next = (await known()).split('\n').slice(3)
      const account = { username: 'ada', password: PASSWORD }
      expect((await restAt(server.url)(undefined, 'POST', '/users', account)).status).toBe(200)
      const added = await fetch(`${server.url}/api/v1/user/keys`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${btoa(`ada:${PASSWORD}`)}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ title: 'key', key: await createSshKey(data, 'key') }),
      })
      expect(added.status).toBe(201)
      const file = join(data, 'known_hosts')
      await writeFile(file, `${first.join('\n')}\n`)
      const connectByKnownKey = async () => {
        const [, port = ''] = /\]:(\d+) /.exec(first[0] ?? '') ?? []
        const { stderr } = await runSsh([
          ...['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${file}`],
          ...['-o', 'UpdateHostKeys=yes', ...sshOptions(data, 'key'), '-p', port, 'git@127.0.0.1'],
        ])
        expect(stderr).toContain('Hi ada!')
        const lines = (await readFile(file, 'utf8')).trim().split('\n')
        return lines.filter((line) => line.startsWith('[127')).toSorted()
      }
      expect(await connectByKnownKey()).toEqual([...first, ...next].toSorted())
      expect((await keys('activate')).code).toBe(0)
      server.child.kill('SIGHUP')
      await expect.poll(known).toBe(next.join('\n'))
      expect(await connectByKnownKey()).toEqual(next.toSorted())
      expect(await seen()).toEqual(next.toSorted())
      const path = join(data, 'ssh', 'host_rsa')
      expect((await keys('list', '--ssh-host-keys', path)).stderr).toContain('--ssh-host-keys')
      await chmod(path, 0o644)
      server.child.kill('SIGTERM')
      await server.exited
      const { stdout, code } = await runCommand(['doctor', '--data', data])
      expect(stdout).toContain(path)
      expect(code).toBe(1)
    })
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
