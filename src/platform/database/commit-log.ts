import { close, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'

/** Writes what the system keeps in memory of a file to the disk. */
type Flush = (descriptor: number) => Promise<void>

/**
 * The write-ahead log of a database, which this class flushes to the disk after commits
 * (https://sqlite.org/wal.html).
 *
 * SQLite can flush the log itself, but then the process waits for the disk at each commit, with all of its
 * calls. Here a thread of Node waits, and one flush serves all commits before its beginning.
 */
export class CommitLog {
  readonly #path: string
  readonly #flush: Flush
  #descriptor: number | undefined
  /** The flush that runs. */
  #running: Promise<void> | undefined
  /** The flush after that. */
  #next: Promise<void> | undefined
  #failure: Error | undefined

  /**
   * @param path the file of the database.
   * @param flush for tests.
   */
  constructor(path: string, flush: Flush = promisify(fdatasync)) {
    this.#path = `${path}-wal`
    this.#flush = flush
  }

  /**
   * Resolves when all commits before the call are on the disk.
   *
   * @throws Error if the disk fails, and from then on: a later flush succeeds although it leaves out what
   *   the failed one should have written (fsync(2)).
   */
  flushed(): Promise<void> {
    if (!this.#running) return this.#start()
    // The flush that runs may have begun before the commit.
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  /** Waits for the flushes that were asked for. */
  async close(): Promise<void> {
    await (this.#next ?? this.#running)?.catch(() => {})
    if (this.#descriptor !== undefined) await promisify(close)(this.#descriptor)
    this.#descriptor = undefined
  }

  #start(): Promise<void> {
    this.#next = undefined
    const running = this.#flushOnce().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }

  async #flushOnce(): Promise<void> {
    if (this.#failure) throw this.#failure
    try {
      // The first commit creates the file, and the last connection removes the file.
      this.#descriptor ??= openSync(this.#path, 'r')
      await this.#flush(this.#descriptor)
    } catch (cause) {
      this.#failure = new Error('the log of the database was not written to the disk', { cause })
      throw this.#failure
    }
  }
}
