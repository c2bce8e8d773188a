import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { FairSlots } from '../concurrency/fair-slots.ts'
import type { Holder } from '../concurrency/holders.ts'
import type { MarkupRequest } from './markdown.ts'
import type { YamlResult } from './yaml.ts'

/** Ordinary texts take milliseconds, the worst ones of the allowed size one or two seconds. */
const MAX_CPU_MS = 3_000
const MEASURE_INTERVAL_MS = 100

/** On a machine that others keep busy, a thread waits for its CPU time. */
const TIMEOUT_MS = 10_000

/** Of the objects of the thread. Link references can make a small text gigabytes large. */
const MAX_MEMORY_MIB = 256

/** Texts that may wait. More would wait longer than a client does. */
const MAX_WAITING = 50

/** Why there is no result for a text. */
export class MarkupFailure extends Error {
  readonly kind: 'BUSY' | 'TOO_COMPLEX'

  constructor(kind: MarkupFailure['kind']) {
    super(`a text has no result: ${kind}`)
    this.kind = kind
  }
}

/** What the thread receives: Markdown to render, or YAML to parse. */
export type MarkupWork = MarkupRequest | { readonly yaml: string }

/** What the thread sends: its number when it starts, then the result of each text. */
export type MarkupMessage = { readonly threadNumber: string } | { readonly result: string }

/** A running thread. */
interface Thread {
  readonly worker: Worker
  /** Its number in the kernel. Undefined until it has started. */
  number: string | undefined
}

/**
 * Renders and parses texts in a thread of its own, one after the other, so that no text delays the
 * calls of others. Accounts have their turns one after the other, however many texts each has sent. A text
 * that takes too much work ends the thread, and the next text starts another.
 */
export class MarkupThread {
  readonly #program: string
  readonly #slots = new FairSlots({
    max: 1,
    firstPlaces: 0,
    maxWaiting: MAX_WAITING,
    full: () => new MarkupFailure('BUSY'),
  })
  #thread: Thread | undefined
  #finish: (result: string | undefined) => void = () => {}

  /** @param program path of the bundled `markup-program.ts`. */
  constructor(program: string) {
    this.#program = program
  }

  /**
   * Returns a text as HTML.
   *
   * @param holder whom the work counts for.
   * @throws MarkupFailure
   */
  render(request: MarkupRequest, holder: Holder): Promise<string> {
    return this.#slots.run(holder, () => this.#run(request))
  }

  /**
   * Returns the value of a text of YAML, or its fault.
   *
   * @param holder whom the work counts for.
   * @throws MarkupFailure
   */
  async parseYaml(yaml: string, holder: Holder): Promise<YamlResult> {
    const json = await this.#slots.run(holder, () => this.#run({ yaml }))
    // The program of the thread makes this text.
    return JSON.parse(json) as YamlResult
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    await this.#thread?.worker.terminate()
  }

  async #run(work: MarkupWork): Promise<string> {
    const thread = this.#thread ?? this.#start()
    const stopMeasuring = this.#limitWork(thread)
    const result = await new Promise<string | undefined>((resolve) => {
      this.#finish = resolve
      thread.worker.postMessage(work)
    })
    stopMeasuring()
    if (result === undefined) throw new MarkupFailure('TOO_COMPLEX')
    return result
  }

  /** Ends the thread when it takes too long or too much CPU time, unless the result stops this. */
  #limitWork(thread: Thread): () => void {
    const startMs = performance.now()
    let startCpuMs: number | undefined
    const timer = setInterval(() => {
      const cpuMs = thread.number === undefined ? undefined : cpuMsOf(thread.number)
      startCpuMs ??= cpuMs
      const usedMs = (cpuMs ?? 0) - (startCpuMs ?? 0)
      if (usedMs > MAX_CPU_MS || performance.now() - startMs > TIMEOUT_MS)
        void thread.worker.terminate()
    }, MEASURE_INTERVAL_MS)
    return () => clearInterval(timer)
  }

  #start(): Thread {
    const worker = new Worker(this.#program, {
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
    })
    const thread: Thread = { worker, number: undefined }
    // The thread alone does not keep the process running.
    worker.unref()
    worker.on('message', (message: MarkupMessage) => {
      if ('result' in message) this.#finish(message.result)
      else thread.number = message.threadNumber
    })
    // An error is followed by the end of the thread.
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#thread = undefined
      this.#finish(undefined)
    })
    this.#thread = thread
    return thread
  }
}

/** Returns the CPU time of a thread of this process; undefined where the kernel does not tell. */
function cpuMsOf(threadNumber: string): number | undefined {
  try {
    // The first number is the time on a CPU in nanoseconds (proc(5), `schedstat`).
    const [ns] = readFileSync(`/proc/self/task/${threadNumber}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1e6
  } catch {
    return undefined
  }
}
