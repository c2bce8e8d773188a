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
