import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { readStrings, writeStrings } from '../../src/platform/ssh/ssh-signatures.ts'
import { type Random, seededRandom } from '../platform/rpc/rest/random.ts'
import { openForge } from '../support/forge.ts'
import { childrenWith } from '../support/process.ts'
import { SSH_MESSAGE, SshDriver, uint32 } from '../support/ssh-driver.ts'
import { offerMessage, PLAIN, plainPacket, shareMessage } from '../support/ssh-plain.ts'
import { newSshSigner, type SshSigner } from '../support/ssh-signing.ts'
import { mutated } from './inputs.ts'

/** `npm run fuzz` sets both. */
const INPUTS = Number(process.env.FUZZ_INPUTS ?? 5_000)
const SEED = Number(process.env.FUZZ_SEED ?? 1)

const TIMEOUT_MS = 120_000 + INPUTS * 10
/** Messages of a connection. The server ends most connections before the last one. */
const MESSAGES = 10
/** Numbers that lengths, windows and sessions have in attacks. */
const NUMBERS = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 35_000, 262_144] as const
/** More than the longest packet and the longest line. */
const REST = Buffer.alloc(300_000)

const { ask, server, users } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})
const port = Number(server.sshAddress?.split(':').at(-1))
const key = newSshSigner('ssh-ed25519')
let programs: readonly number[]

beforeAll(async () => {
  await ask(users.bob, 'POST', '/user/keys', { title: 'own', key: key.line })
  await ask(users.bob, 'POST', '/user/repos', { name: 'open', auto_init: true })
  programs = await childrenWith('ssh-program')
  expect(programs).toHaveLength(1)
})

const strings = (...texts: readonly string[]) =>
  writeStrings(texts.map((text) => Buffer.from(text)))

const message = (type: number, ...parts: readonly Buffer[]) =>
  Buffer.concat([Buffer.from([type]), ...parts])

/** Returns what an honest client sends to a session, and about itself. */
function honestMessages(session: number): readonly [Buffer, ...Buffer[]] {
  const { channelRequest, channelData, channelText, windowAdjust, channelEnd } = SSH_MESSAGE
  const { channelClose, channelOpen, globalRequest, authRequest, keyOffer } = SSH_MESSAGE
  const [number, yes] = [uint32(session), Buffer.from([1])]
  const asks = (type: string, ...rest: readonly Buffer[]) =>
    message(channelRequest, number, strings(type), yes, ...rest)
  const signature = strings('git', 'ssh-connection', 'publickey')
  return [
    asks('exec', strings("git-upload-pack 'bob/open'")),
    asks('exec', strings("git-receive-pack 'bob/open'")),
    asks('exec', strings("git-upload-archive 'bob/open'")),
    asks('exec', strings('git-lfs-transfer bob/open download')),
    asks('exec', strings('git-lfs-authenticate bob/open upload')),
    asks('env', strings('GIT_PROTOCOL', 'version=2')),
    asks('shell'),
    asks('pty-req', strings('xterm'), Buffer.alloc(16, 1), strings('')),
    asks('signal', strings('TERM')),
    asks('window-change', Buffer.alloc(16, 1)),
    message(channelData, number, strings('0014command=ls-refs\n0000')),
    message(channelText, number, uint32(1), strings('text')),
    message(windowAdjust, number, uint32(0x7fffffff)),
    message(channelEnd, number),
    message(channelClose, number),
    message(channelOpen, strings('session'), ...[1, 2 ** 21, 32_768].map(uint32)),
    message(globalRequest, strings('keepalive@openssh.com'), yes),
    message(authRequest, signature, yes, strings('ssh-ed25519'), writeStrings([key.blob])),
    message(keyOffer, offerMessage().subarray(1)),
    message(PLAIN.ignore, strings('text')),
  ]
}

/** Changes a message, among other things a number in the message to one that attacks have. */
function changed(random: Random, bytes: Buffer): Buffer {
  const result = Buffer.from(mutated(random, bytes))
  if (result.length > 5 && random.below(3) === 0)
    result.writeUInt32BE(random.pick(NUMBERS), 1 + random.below(result.length - 4))
  return result
}

/** Signs in, and sends messages until the server ends the connection. */
async function sendMessages(random: Random, signer: SshSigner): Promise<void> {
  const driver = await SshDriver.connect(port)
  try {
    const isSignedIn = random.below(5) > 0
    if (isSignedIn) expect(await driver.signIn(signer)).toBe(SSH_MESSAGE.authSuccess)
    const session = isSignedIn ? ((await driver.open()) ?? 0) : 0
    const honest = honestMessages(session)
    for (let count = 0; count < MESSAGES; count++) driver.send(changed(random, random.pick(honest)))
    driver.send(message(SSH_MESSAGE.disconnect, uint32(11), strings('', '')))
    driver.socket.end()
    // No message has this type, so that the end of the connection is awaited.
    await driver.answer()
  } finally {
    driver.close()
  }
}

/** Begins a key exchange with changed bytes, and waits until the server ends the connection. */
async function beginExchange(random: Random): Promise<void> {
  const packets = [offerMessage(), shareMessage(Buffer.alloc(32, 9)), message(PLAIN.newKeys)]
  const isPacketChanged = random.below(2) === 0
  const line = Buffer.from('SSH-2.0-Fuzz\r\n')
  const sent = packets.map((each) => plainPacket(isPacketChanged ? changed(random, each) : each))
  const bytes = Buffer.concat([line, ...sent])
  const socket = connect({ host: '127.0.0.1', port })
  // The server may close the connection before it has read everything.
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  socket.write(isPacketChanged ? bytes : changed(random, bytes))
  socket.end(REST)
  await closed
}

describe('the SSH program', () => {
  it('survives messages that were changed', { timeout: TIMEOUT_MS }, async () => {
    const random = seededRandom(SEED)
    for (let sent = 0; sent < INPUTS; sent += MESSAGES) {
      await sendMessages(random, key)
      await beginExchange(random)
    }
    const driver = await SshDriver.connect(port)
    expect(await driver.signIn(key)).toBe(SSH_MESSAGE.authSuccess)
    await driver.run('')
    const answer = await driver.answer(SSH_MESSAGE.channelText)
    expect(readStrings(answer?.subarray(9) ?? Buffer.alloc(0)).toString()).toContain('Hi bob!')
    driver.close()
    // The program was not started again, and the server has seen no failure of its own.
    expect(await childrenWith('ssh-program')).toEqual(programs)
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})
