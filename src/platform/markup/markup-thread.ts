import { Worker } from 'node:worker_threads'
import type { MarkupRequest } from './markdown.ts'

/** Ordinary texts take milliseconds, the worst ones of the allowed size one or two seconds. */
const TIMEOUT_MS = 10_000

/** Of the objects of the thread. Link references can make a small text gigabytes large. */
const MAX_MEMORY_MIB = 256

/** Texts that may wait. More would wait longer than a client does. */
const MAX_WAITING = 50

/** Why a text was not rendered. */
export class MarkupFailure extends Error {
  readonly kind: 'BUSY' | 'TOO_COMPLEX'

  constructor(kind: MarkupFailure['kind']) {
    super(`a text was not rendered: ${kind}`)
    this.kind = kind
  }
}

interface Waiting {
  readonly request: MarkupRequest
  readonly done: (html: string) => void
  readonly failed: (failure: MarkupFailure) => void
}

/**
 * Renders texts in a thread of its own, one after the other, so that no text delays the calls of
 * others. A text that takes too long ends the thread, and the next text starts another.
 */
export class MarkupThread {
  readonly #program: string
  readonly #waiting: Waiting[] = []
  #thread: Worker | undefined
  #running: (Waiting & { readonly timer: NodeJS.Timeout }) | undefined

  /** @param program path of the bundled `markup-program.ts`. */
  constructor(program: string) {
    this.#program = program
  }

  /**
   * Returns a text as HTML.
   *
   * @throws MarkupFailure
   */
  render(request: MarkupRequest): Promise<string> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new MarkupFailure('BUSY'))
    return new Promise((done, failed) => {
      this.#waiting.push({ request, done, failed })
      this.#next()
    })
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }

  #next(): void {
    if (this.#running) return
    const next = this.#waiting.shift()
    if (!next) return
    const thread = this.#start()
    const timer = setTimeout(() => void thread.terminate(), TIMEOUT_MS)
    this.#running = { ...next, timer }
    thread.postMessage(next.request)
  }

  #start(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(this.#program, {
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
    })
    // The thread alone does not keep the process running.
    thread.unref()
    thread.on('message', (html: string) => this.#finish(html))
    // An error is followed by the end of the thread.
    thread.on('error', () => {})
    thread.on('exit', () => {
      this.#thread = undefined
      this.#finish(undefined)
    })
    this.#thread = thread
    return thread
  }

  #finish(html: string | undefined): void {
    const running = this.#running
    if (!running) return
    clearTimeout(running.timer)
    this.#running = undefined
    if (html === undefined) running.failed(new MarkupFailure('TOO_COMPLEX'))
    else running.done(html)
    this.#next()
  }
}
