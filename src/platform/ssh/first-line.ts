import type { Socket } from 'node:net'

/** Longest first line: the command of a client is longer than any valid one. */
const MAX_BYTES = 64 * 1024

/**
 * Reads the first line of a connection, and leaves the bytes behind it in the socket, which is then
 * paused. A connection with a longer line is destroyed.
 *
 * @param use gets the line, and its bytes with the line feed.
 */
export function readFirstLine(socket: Socket, use: (line: string, bytes: number) => void): void {
  let begun: Buffer = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    begun = Buffer.concat([begun, chunk])
    const end = begun.indexOf('\n')
    if (end < 0) {
      if (begun.length > MAX_BYTES) socket.destroy()
      return
    }
    socket.off('data', read)
    socket.pause()
    const rest = begun.subarray(end + 1)
    if (rest.length > 0) socket.unshift(rest)
    use(begun.toString('utf8', 0, end), end + 1)
  }
  socket.on('data', read)
}
