import type { Logger } from 'pino'
import { peerNetwork } from '../../platform/http/listener/admission.ts'

/** Lines for one network in a minute. */
const MAX_LINES = 10
const WINDOW_MS = 60_000
/** Networks that are counted. With more, the minute ends early. */
const MAX_NETWORKS = 10_000

/** Logs connections that end without authentication, and of many of one network only their number. */
export class FailureLog {
  readonly #log: Logger
  readonly #counts = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param client what the version line of the client says, empty without one. */
  note(peer: string, client: string): void {
    const network = peerNetwork(peer)
    if (this.#counts.size >= MAX_NETWORKS && !this.#counts.has(network)) this.#summarize()
    const count = (this.#counts.get(network) ?? 0) + 1
    this.#counts.set(network, count)
    this.#timer ??= setTimeout(() => this.#summarize(), WINDOW_MS).unref()
    if (count <= MAX_LINES)
      this.#log.info({ peer, client }, 'an SSH connection did not authenticate')
  }

  #summarize(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [network, count] of this.#counts) {
      const more = count - MAX_LINES
      if (more > 0) this.#log.info({ network, more }, 'more SSH connections did not authenticate')
    }
    this.#counts.clear()
  }
}
