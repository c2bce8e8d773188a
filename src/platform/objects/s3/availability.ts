import { StoreUnavailableError } from '../object-store.ts'

/** Failed tries in a row after which the storage counts as away. */
const MAX_FAILURES = 10

const PROBE_INTERVAL_MS = 5_000

/** Told when the storage goes away and comes back. */
export interface AvailabilityEvents {
  readonly onAway: (error: unknown) => void
  readonly onBack: () => void
}

/**
 * Whether the storage answers. While the storage is away, calls fail at once instead of one after the
 * other at their deadlines, and a probe finds out when the storage is back.
 */
export class Availability {
  readonly #probe: () => Promise<unknown>
  readonly #events: AvailabilityEvents
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** @param probe a small request, which notes its result here. */
  constructor(probe: () => Promise<unknown>, events: AvailabilityEvents) {
    this.#probe = probe
    this.#events = events
  }

  get isAway(): boolean {
    return this.#timer !== undefined
  }

  /** @throws StoreUnavailableError */
  check(): void {
    if (this.isAway) throw new StoreUnavailableError('the object storage is away')
  }

  noteAnswer(): void {
    this.#failures = 0
    if (!this.#timer) return
    this.stop()
    this.#events.onBack()
  }

  noteFailure(error: unknown): void {
    this.#failures += 1
    if (this.#failures < MAX_FAILURES || this.#timer) return
    this.#timer = setInterval(() => {
      // The probe notes its failure.
      this.#probe().catch(() => {})
    }, PROBE_INTERVAL_MS).unref()
    this.#events.onAway(error)
  }

  /** Stops probing. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
