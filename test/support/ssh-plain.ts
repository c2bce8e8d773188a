import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { writeStrings } from '../../src/platform/ssh/ssh-signatures.ts'
import { uint32 } from './ssh-driver.ts'

/** The first messages of a connection, which are not encrypted (RFC 4253, section 7). */
export const PLAIN = { disconnect: 1, ignore: 2, offer: 20, newKeys: 21, share: 30, answer: 31 }

/** The algorithms that a client offers. */
export interface SshOffer {
  readonly exchange: string
  readonly hostKey: string
  readonly cipher: string
  readonly mac: string
  readonly compression: string
}

const OFFER: SshOffer = {
  exchange: 'curve25519-sha256',
  hostKey: 'ssh-ed25519',
  cipher: 'aes128-ctr',
  mac: 'hmac-sha2-256',
  compression: 'none',
}

/** Returns the message by which a client offers algorithms. */
export function offerMessage(changes: Partial<SshOffer> = {}): Buffer {
  const { exchange, hostKey, cipher, mac, compression } = { ...OFFER, ...changes }
  const lists = [exchange, hostKey, cipher, cipher, mac, mac, compression, compression, '', '']
  return Buffer.concat([
    Buffer.from([PLAIN.offer]),
    randomBytes(16),
    writeStrings(lists.map((text) => Buffer.from(text))),
    Buffer.alloc(5),
  ])
}

/** Returns the message with the client's part of a key exchange. */
export function shareMessage(share: Buffer): Buffer {
  return Buffer.concat([Buffer.from([PLAIN.share]), writeStrings([share])])
}

/** Returns a message as a packet without encryption. */
export function plainPacket(message: Buffer): Buffer {
  const padding = 4 + ((8 - ((5 + message.length + 4) % 8)) % 8)
  const length = uint32(1 + message.length + padding)
  return Buffer.concat([length, Buffer.from([padding]), message, Buffer.alloc(padding)])
}

/**
 * Sends bytes as a new client, and returns the types of the messages that come back, up to the answer of
 * the key exchange or the end of the connection.
 */
export async function answersTo(port: number, bytes: Buffer): Promise<number[]> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  socket.write(bytes)
  let received = Buffer.alloc(0)
  try {
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk])
      const types = typesIn(received)
      if (types.includes(PLAIN.answer)) return types
    }
  } catch {
    // The server has closed the connection before it has read everything.
  } finally {
    socket.destroy()
  }
  return typesIn(received)
}

function typesIn(received: Buffer): number[] {
  const types: number[] = []
  for (let at = received.indexOf('\r\n') + 2; at + 6 <= received.length; ) {
    types.push(received[at + 5] ?? 0)
    at += 4 + received.readUInt32BE(at)
  }
  return types
}
