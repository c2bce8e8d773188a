import type { SshSessionView } from '../../forge/core/core.ts'

/** Time between two checks of the keys of running sessions. */
const CHECK_INTERVAL_MS = 3_000

/** A session that runs. */
interface RunningSession {
  readonly view: Omit<SshSessionView, 'id'>
  /** Whether its key may still do what the session does. */
  isAllowed(): Promise<boolean>
  /** Ends the session. */
  stop(): void
}

/**
 * The sessions that run, whose keys are looked up again and again, so that a deleted key and an
 * archived account end their sessions within seconds. Rows are read rather than events, because
 * another server may have deleted the key. Without sessions nothing happens.
 */
export class RunningSessions {
  readonly #sessions = new Map<number, RunningSession>()
  readonly #warn: (error: unknown) => void
  #lastId = 0
  #timer: NodeJS.Timeout | undefined

  /** @param warn gets the error of a check that failed. The session goes on. */
  constructor(warn: (error: unknown) => void) {
    this.#warn = warn
  }

  /** Watches a session until the returned function is called. */
  add(session: RunningSession): () => void {
    this.#lastId += 1
    const id = this.#lastId
    this.#sessions.set(id, session)
    this.#schedule()
    return () => {
      this.#sessions.delete(id)
      if (this.#sessions.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
  }

  /** Returns the sessions, the oldest first. */
  list(): SshSessionView[] {
    return [...this.#sessions].map(([id, { view }]) => ({ id, ...view }))
  }

  /** Ends a session. Returns whether it ran. */
  end(id: number): boolean {
    const session = this.#sessions.get(id)
    session?.stop()
    return session !== undefined
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#check()
        .catch(this.#warn)
        .finally(() => {
          this.#timer = undefined
          if (this.#sessions.size > 0) this.#schedule()
        })
    }, CHECK_INTERVAL_MS)
  }

  async #check(): Promise<void> {
    for (const [id, session] of [...this.#sessions]) {
      const isAllowed = await session.isAllowed()
      if (!isAllowed && this.#sessions.has(id)) session.stop()
    }
  }
}
