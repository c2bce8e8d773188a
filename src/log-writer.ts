import type { Writable } from 'node:stream'

/** Characters gathered before a write, some sixty lines: each write is a system call. */
const BATCH_CHARACTERS = 12 * 1024

/** Longest that a line waits for its batch. */
const FLUSH_INTERVAL_MS = 500

/**
 * Bytes that may wait for a reader that does not read. Further lines are dropped: the log must not
 * fill the memory.
 */
const MAX_WAITING_BYTES = 1024 * 1024

/**
 * Writes log lines in batches to stderr. A reader that stops reading or goes away costs lines,
 * never the service.
 *
 * Pino's own destination does not serve here: `flushSync` of sonic-boom 4 repeats a write that
 * fails with EPIPE for ever, so that a server whose log has lost its reader never ends. Node's
 * stderr does not block on pipes and sockets, and reports a reader that is gone as an `error`
 * event.
 */
export class LogWriter {
  readonly #stream: Writable
  #batch = ''
  #droppedLines = 0
  #timer: NodeJS.Timeout | undefined

  /** @param stream somebody else listens to its `error` events. */
  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** Takes a line, which ends in a line break. */
  write(line: string): void {
    if (this.#stream.writableLength > MAX_WAITING_BYTES) {
      this.#droppedLines += 1
      return
    }
    if (this.#droppedLines > 0) this.#batch += this.#droppedNotice()
    this.#batch += line
    if (this.#batch.length >= BATCH_CHARACTERS) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  /** Hands the lines that were gathered to the stream. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#batch !== '') this.#stream.write(this.#batch)
    this.#batch = ''
  }

  #droppedNotice(): string {
    const notice = {
      level: 'warn',
      time: new Date().toISOString(),
      lines: this.#droppedLines,
      msg: 'log lines were dropped',
    }
    this.#droppedLines = 0
    return `${JSON.stringify(notice)}\n`
  }
}
