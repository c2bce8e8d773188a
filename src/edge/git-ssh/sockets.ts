import type { Socket } from 'node:net'

/** Waits until a socket takes more, or is closed. */
export function roomIn(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.once('drain', done).once('close', done)
    if (socket.destroyed) done()
  })
}

/**
 * Returns whether an error says that the client has left, which is no failure of the server. Nobody reads an
 * answer then.
 */
export function hasLeft(socket: Socket, error: unknown): boolean {
  if (error === socket.errored) return true
  // What Node calls the end of a stream whose other side has not ended its own part.
  const isCutOff = error instanceof Error && 'code' in error && error.code === CUT_OFF
  return socket.destroyed && isCutOff
}

const CUT_OFF = 'ERR_STREAM_PREMATURE_CLOSE'
