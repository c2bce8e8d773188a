import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { readStrings, writeStrings } from '../../src/platform/ssh/ssh-signatures.ts'
import type { SshSigner } from './ssh-signing.ts'

/** Messages of an agent (draft-miller-ssh-agent, section 5.1). */
const REQUEST_IDENTITIES = 11
const IDENTITIES_ANSWER = 12
const SIGN_REQUEST = 13
const SIGN_RESPONSE = 14
const FAILURE = 5

/** Starts an agent with one key, as a security key has one, whose flags are `flags`. */
export async function startSshAgent(path: string, key: SshSigner, flags: number) {
  const sockets = new Set<Socket>()
  const answer = (type: number, body: Buffer): Buffer => {
    if (type === REQUEST_IDENTITIES) {
      const count = Buffer.from([IDENTITIES_ANSWER, 0, 0, 0, 1])
      return Buffer.concat([count, writeStrings([key.blob, Buffer.from('device')])])
    }
    if (type !== SIGN_REQUEST) return Buffer.from([FAILURE])
    // Flags of the request follow the key and the data.
    const [, data = Buffer.alloc(0)] = readStrings(body.subarray(0, -4))
    const signature = key.signData(data, { flags })
    return Buffer.concat([Buffer.from([SIGN_RESPONSE]), writeStrings([signature])])
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
        const end = 4 + received.readUInt32BE(0)
        socket.write(writeStrings([answer(received[4] ?? 0, received.subarray(5, end))]))
        received = received.subarray(end)
      }
    })
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    path,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
