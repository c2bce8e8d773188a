import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readStrings, writeStrings } from '../../../src/platform/ssh/ssh-signatures.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, PASSWORD } from '../../support/server.ts'
import { SSH_MESSAGE, SshDriver, uint32 } from '../../support/ssh-driver.ts'
import {
  answersTo,
  offerMessage,
  PLAIN,
  plainPacket,
  shareMessage,
} from '../../support/ssh-plain.ts'
import { newSshSigner, type SshKeyType, type SshSigner } from '../../support/ssh-signing.ts'

const { ask, client, server, users } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})

const port = Number(server.sshAddress?.split(':').at(-1))
const drivers: SshDriver[] = []
/** More than the buffers of sockets hold. */
const PACK_BYTES = 56 * 1024 ** 2
/** What belongs to requests of a session. */
const SESSION_REQUESTS: Readonly<Record<string, Buffer>> = {
  'pty-req': Buffer.concat([
    writeStrings([Buffer.from('xterm')]),
    Buffer.alloc(16, 1),
    writeStrings([Buffer.from([0])]),
  ]),
  'x11-req': Buffer.concat([
    Buffer.from([0]),
    writeStrings([Buffer.from('MIT-MAGIC-COOKIE-1'), Buffer.from('00')]),
    uint32(0),
  ]),
  subsystem: writeStrings([Buffer.from('sftp')]),
}
const { authFailure, authSuccess, keyAccepted, disconnect } = SSH_MESSAGE
let keyOfBob: SshSigner

beforeAll(async () => {
  keyOfBob = await keyOf(users.bob)
  await ask(users.bob, 'POST', '/user/repos', { name: 'open', auto_init: true })
})

afterEach(() => {
  for (const driver of drivers.splice(0)) driver.close()
})

/** Returns the number of Git processes that pack objects of the server's repositories. */
async function packingProcesses(): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '')
      return command.includes('pack-objects') && folder.startsWith(server.app.git.folder)
    }),
  )
  return found.filter(Boolean).length
}

async function keyOf(who: Actor, type: SshKeyType = 'ssh-ed25519'): Promise<SshSigner> {
  const key = newSshSigner(type)
  await ask(who, 'POST', '/user/keys', { title: key.line.slice(-20), key: key.line })
  return key
}

async function connect(): Promise<SshDriver> {
  const driver = await SshDriver.connect(port)
  drivers.push(driver)
  return driver
}

/** Signs in by a key. */
async function enter(key: SshSigner): Promise<SshDriver> {
  const driver = await connect()
  expect(await driver.signIn(key)).toBe(authSuccess)
  return driver
}

/** Runs a shell, and returns what the server calls the client. */
async function greetingOf(driver: SshDriver): Promise<string> {
  await driver.run('')
  const answer = await driver.answer(SSH_MESSAGE.channelText)
  // Message, number of the session, kind of text.
  return readStrings(answer?.subarray(9) ?? Buffer.alloc(0)).toString()
}

describe('a signature', () => {
  it('counts for the connection that it was made in only', async () => {
    const [one, other] = [await connect(), await connect()]
    const captured = one.sign(keyOfBob)
    expect(await other.present(keyOfBob, captured)).toBe(authFailure)
    const invented = other.sign(keyOfBob, { session: randomBytes(32) })
    expect(await other.present(keyOfBob, invented)).toBe(authFailure)
    expect(await other.signIn(keyOfBob)).toBe(authSuccess)
    expect(await one.present(keyOfBob, captured)).toBe(authSuccess)
  })

  it.each([
    ['another login name', { user: 'root' }],
    ['another service', { service: 'ssh-userauth' }],
    ['another method', { method: 'hostbased' }],
    ['a question whether the key is accepted', { hasSignature: false }],
    ['another algorithm', { algorithm: 'rsa-sha2-256' }],
    ['another key', { key: newSshSigner('ssh-rsa').blob }],
  ])('under %s proves nothing', async (_, changes) => {
    const key = await keyOf(users.carol, 'ssh-rsa')
    const driver = await connect()
    expect(await driver.present(key, driver.sign(key, changes))).toBe(authFailure)
    expect(await driver.signIn(key)).toBe(authSuccess)
  })

  it('proves nothing in a request for what the server does not have', async () => {
    for (const [changes, answer] of [
      [{ user: 'root' }, authFailure],
      [{ service: 'ssh-other' }, disconnect],
      [{ algorithm: 'ssh-rsa' }, authFailure],
      [{ algorithm: 'ssh-dss' }, authFailure],
      [{ algorithm: 'rsa-sha2-512' }, authFailure],
    ] as const) {
      const driver = await connect()
      const signature = driver.sign(keyOfBob, changes)
      expect(await driver.present(keyOfBob, signature, changes), JSON.stringify(changes)).toBe(
        answer,
      )
    }
  })

  it('decides for whom a connection acts, whatever keys were offered or signed wrongly', async () => {
    const keyOfCarol = await keyOf(users.carol)
    const offered = await connect()
    expect(await offered.present(keyOfCarol)).toBe(keyAccepted)
    expect(await offered.signIn(keyOfBob)).toBe(authSuccess)
    expect(await greetingOf(offered)).toContain('Hi bob!')
    const wrong = await connect()
    expect(await wrong.present(keyOfCarol, wrong.sign(keyOfBob))).toBe(authFailure)
    // The signature of one key, under the name of another.
    const stolen = wrong.sign(keyOfBob, { key: keyOfCarol.blob })
    expect(await wrong.present(keyOfCarol, stolen)).toBe(authFailure)
    expect(await wrong.signIn(keyOfBob)).toBe(authSuccess)
    expect(await greetingOf(wrong)).toContain('Hi bob!')
    const later = await connect()
    expect(await later.signIn(keyOfBob)).toBe(authSuccess)
    expect(await later.present(keyOfCarol)).toBe(disconnect)
  })

  it('is needed for everything', async () => {
    const driver = await connect()
    // The answer of a server, which some servers have taken for their own.
    driver.send(Buffer.from([authSuccess]))
    expect(await driver.present(keyOfBob)).toBe(keyAccepted)
    const open = Buffer.from([SSH_MESSAGE.channelOpen])
    const numbers = Buffer.alloc(12, 1)
    driver.send(Buffer.concat([open, writeStrings([Buffer.from('session')]), numbers]))
    const { channelOpened, channelOpenFailure } = SSH_MESSAGE
    const answer = await driver.answer(channelOpened, channelOpenFailure, disconnect)
    expect(answer?.[0]).not.toBe(channelOpened)
  })
})

describe('a client that reads nothing', () => {
  it('makes the server read no more of Git, however much the client allows', async () => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'heavy', auto_init: true })
    const remote = remoteOf(server.url, 'bob/heavy', 'bob', PASSWORD)
    await client.git('.', 'clone', '-q', remote, 'heavy')
    await client.git('heavy', 'config', 'core.compression', '0')
    await writeFile(join(client.home, 'heavy', 'file'), randomBytes(PACK_BYTES))
    await client.git('heavy', 'add', '.')
    const commit = await client.commit('heavy', 'heavy')
    await client.git('heavy', 'push', '-q', 'origin', 'HEAD')

    const want = `0032want ${commit}\n00000009done\n`
    const begin = async () => {
      const driver = await enter(keyOfBob)
      const channel = await driver.run("git-upload-pack 'bob/heavy'", 2 ** 31)
      await driver.answer(SSH_MESSAGE.channelData)
      return { driver, channel }
    }
    const cloneWhole = async () => {
      const { driver, channel } = await begin()
      driver.write(channel, want)
      expect((await driver.ended()).code).toBe(0)
      expect(driver.dataBytes).toBeGreaterThan(PACK_BYTES)
    }
    await cloneWhole()
    const { driver, channel } = await begin()
    driver.socket.pause()
    driver.write(channel, want)
    // Time enough for the server to read everything, after which Git would end.
    await cloneWhole()
    expect(await ask(users.ada, 'GET', '/admin/ssh/sessions')).toHaveLength(1)
    expect(await packingProcesses()).toBe(1)
    driver.socket.resume()
    expect((await driver.ended()).code).toBe(0)
    expect(driver.dataBytes).toBeGreaterThan(PACK_BYTES)
  })
})

describe('a client that breaks the rules', () => {
  it('cannot send more to a session than the server has asked for', async () => {
    const driver = await enter(keyOfBob)
    // The session waits for the client, which takes nothing, and reads no more.
    const channel = await driver.run("git-upload-pack 'bob/open'", 0)
    const chunk = Buffer.alloc(32_000)
    for (let sent = 0; sent < 4 * 1024 ** 2; sent += chunk.length) driver.write(channel, chunk)
    expect(await driver.answer(disconnect)).toSatisfy((answer) => !answer || answer[4] === 2)
    expect(await greetingOf(await enter(keyOfBob))).toContain('Hi bob!')
  })

  it('may ask for anything, and gets no session for it', async () => {
    const driver = await enter(keyOfBob)
    const channel = (await driver.open()) ?? -1
    for (let count = 1; count < 16; count++) expect(await driver.open()).toBeGreaterThan(0)
    for (let count = 0; count < 200; count++) expect(await driver.open()).toBeUndefined()
    for (const type of [
      'pty-req',
      'x11-req',
      'auth-agent-req@openssh.com',
      'subsystem',
      'unknown@example.org',
    ]) {
      const answer = await driver.request(channel, type, SESSION_REQUESTS[type])
      expect(answer, type).toBe(SSH_MESSAGE.channelFailure)
    }
    const variable = writeStrings([Buffer.from('LD_PRELOAD'), Buffer.from('x')])
    for (let count = 0; count < 1000; count++)
      expect(await driver.request(channel, 'env', variable)).toBe(SSH_MESSAGE.channelSuccess)
    const place = Buffer.concat([writeStrings([Buffer.from('127.0.0.1')]), uint32(22)])
    for (const [type, places] of [
      ['direct-tcpip', 2],
      ['direct-streamlocal@openssh.com', 1],
      ['x11', 1],
      ['auth-agent@openssh.com', 0],
    ] as const) {
      const rest = Buffer.concat(Array<Buffer>(places).fill(place))
      expect(await driver.open(type, 1, rest), type).toBeUndefined()
    }
    for (const type of ['tcpip-forward', 'streamlocal-forward@openssh.com', 'unknown@example.org'])
      expect(await driver.ask(type), type).toBe(SSH_MESSAGE.requestFailure)
    driver.execute(channel, '')
    expect((await driver.ended()).text).toContain('Hi bob!')
  })

  it('is disconnected when it asks for new keys again and again', async () => {
    const driver = await enter(keyOfBob)
    for (let count = 0; count < 20 && !driver.isClosed; count++) await driver.rekey()
    expect(driver.isClosed).toBe(true)
  })

  it('is disconnected for a packet that is too long or was changed', async () => {
    for (const bytes of [Buffer.alloc(64, 0xff), randomBytes(64)]) {
      const driver = await enter(keyOfBob)
      driver.socket.write(bytes)
      // The server waits for the rest of a packet whose length is possible.
      driver.socket.write(Buffer.alloc(300_000))
      await driver.answer()
      expect(driver.isClosed).toBe(true)
    }
  })
})

describe('a key exchange', () => {
  const share = (bytes: Buffer, offer = {}) =>
    Buffer.concat([offerMessage(offer), shareMessage(bytes)].map(plainPacket))
  const begin = (...parts: readonly Buffer[]) =>
    answersTo(port, Buffer.concat([Buffer.from('SSH-2.0-Plain\r\n'), ...parts]))

  it('needs algorithms that the server has', async () => {
    const good = Buffer.alloc(32, 9)
    expect(await begin(...[offerMessage(), shareMessage(good)].map(plainPacket))).toContain(
      PLAIN.answer,
    )
    for (const offer of [
      { mac: 'none' },
      { mac: 'hmac-sha1' },
      { mac: 'hmac-md5' },
      { cipher: 'none' },
      { cipher: 'aes128-cbc' },
      { cipher: '3des-cbc' },
      { compression: 'zlib' },
      { compression: 'zlib@openssh.com' },
      { exchange: 'diffie-hellman-group1-sha1' },
      { hostKey: 'ssh-dss' },
      { hostKey: 'ssh-rsa' },
    ])
      expect(await begin(share(good, offer)), JSON.stringify(offer)).not.toContain(PLAIN.answer)
  })

  it.each([
    ['curve25519-sha256', 32],
    ['mlkem768x25519-sha256', 1216],
    ['ecdh-sha2-nistp256', 65],
  ])('by %s ends with a share that is wrong', async (exchange, bytes) => {
    for (const wrong of [
      Buffer.alloc(0),
      Buffer.alloc(bytes - 1, 9),
      Buffer.alloc(bytes),
      Buffer.alloc(bytes + 1, 9),
    ])
      expect(await begin(share(wrong, { exchange })), `${wrong.length}`).not.toContain(PLAIN.answer)
    expect(await greetingOf(await enter(keyOfBob))).toContain('Hi bob!')
  })

  it('that is strict has no other messages (Terrapin)', async () => {
    const ignored = plainPacket(
      Buffer.concat([Buffer.from([PLAIN.ignore]), writeStrings([Buffer.from('x')])]),
    )
    const good = shareMessage(Buffer.alloc(32, 9))
    const strict = { exchange: 'curve25519-sha256,kex-strict-c-v00@openssh.com' }
    const [offer, key] = [plainPacket(offerMessage(strict)), plainPacket(good)]
    expect(await begin(offer, key)).toContain(PLAIN.answer)
    expect(await begin(ignored, offer, key)).not.toContain(PLAIN.answer)
    expect(await begin(offer, ignored, key)).not.toContain(PLAIN.answer)
  })
})
