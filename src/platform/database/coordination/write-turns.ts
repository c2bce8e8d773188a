import type { GroupChannel } from './group-membership.ts'
import type { Turns } from './ports.ts'

/** The time after which a process leaves its turn although it has further transactions. */
const SLICE_MS = 10

/**
 * The turns of the worker processes of one SQLite database to write.
 *
 * SQLite has one writer at a time, and lets others wait in their thread, which serves all calls. So a
 * process asks for its turn before it begins to write. The primary process gives the turn to the one
 * that has waited longest.
 *
 * A process leaves its turn as soon as none of its transactions waits. A process that kept the turn
 * could be busy with something else when another one wants to write.
 *
 * The lock of SQLite protects the data. The turns only let processes wait well: without the primary
 * process, they write without turns.
 */
export class WriteTurns implements Turns {
  readonly #channel: GroupChannel
  readonly #now: () => number
  #isHeld = false
  #isWriting = false
  #isOver = false
  #sinceMs = 0
  #grant: (() => void) | undefined

  constructor(channel: GroupChannel, now: () => number = () => performance.now()) {
    this.#channel = channel
    this.#now = now
    channel.onMessage((message) => {
      if (message.kind !== 'turn') return
      this.#isHeld = true
      this.#sinceMs = this.#now()
      this.#grant?.()
    })
    channel.onEnd(() => {
      this.#isOver = true
      this.#grant?.()
    })
  }

  /** One transaction or statement has the turn at a time: each has the only connection. */
  async begin(): Promise<void> {
    this.#isWriting = true
    if (this.#isHeld || this.#isOver) return
    await new Promise<void>((grant) => {
      this.#grant = grant
      this.#channel.send({ kind: 'want turn' })
    })
    this.#grant = undefined
  }

  end(): void {
    if (!this.#isWriting) return
    this.#isWriting = false
    if (this.#now() - this.#sinceMs >= SLICE_MS) this.#leave()
    // A transaction that waits for this one begins before.
    else setImmediate(() => this.#leave())
  }

  #leave(): void {
    if (!this.#isHeld || this.#isWriting) return
    this.#isHeld = false
    this.#channel.send({ kind: 'leave turn' })
  }
}
