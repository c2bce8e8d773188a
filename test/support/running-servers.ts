import { expect } from 'vitest'

/** A server that a test has started. */
interface Running {
  readonly startedBy: string
  end(): unknown
}

const running = new Set<Running>()

/**
 * Remembers a server until it has ended.
 *
 * @param end ends the server, whatever state it is in.
 * @returns a function to call when the server has ended.
 */
export function noteRunning(end: () => unknown): () => void {
  const server = { startedBy: expect.getState().currentTestName ?? 'its hooks', end }
  running.add(server)
  return () => running.delete(server)
}

/** Ends the servers that still run. Returns the names of the tests that have started them. */
export async function endRunning(): Promise<string[]> {
  const left = [...running]
  running.clear()
  for (const server of left) await server.end()
  return left.map(({ startedBy }) => startedBy)
}
