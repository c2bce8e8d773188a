import type { Socket } from 'node:net'

/** What the version line of SSH begins with (RFC 4253, section 4.2). Clients send it first. */
const SSH_PREFIX = Buffer.from('SSH-')

/**
 * Reads the first bytes of a connection until they tell SSH from everything else, and calls
 * `decided` with them for SSH. Otherwise returns the bytes to the socket, and calls `decided` with
 * undefined. `decided` is not called for a connection that closes before.
 */
export function detectSsh(socket: Socket, decided: (begun: Buffer | undefined) => void): void {
  let begun = Buffer.alloc(0)
  const onReadable = (): void => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read())
      begun = Buffer.concat([begun, chunk])
    const compared = begun.subarray(0, SSH_PREFIX.length)
    const isSsh = compared.equals(SSH_PREFIX.subarray(0, compared.length))
    if (isSsh && compared.length < SSH_PREFIX.length) return
    socket.off('readable', onReadable)
    if (!isSsh) socket.unshift(begun)
    decided(isSsh ? begun : undefined)
  }
  socket.on('readable', onReadable)
}
