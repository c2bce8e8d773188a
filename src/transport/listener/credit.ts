/**
 * A token bucket (ITU-T I.371) that can be overdrawn: what was spent beyond it has to be earned
 * back before anything is left again.
 */
export class Credit {
  readonly #burst: number
  readonly #perSecond: number
  #balance: number
  #atMs = performance.now()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#balance = burst
  }

  /** What is left; below zero when it is overdrawn. */
  get balance(): number {
    const nowMs = performance.now()
    const earned = ((nowMs - this.#atMs) / 1000) * this.#perSecond
    this.#balance = Math.min(this.#burst, this.#balance + earned)
    this.#atMs = nowMs
    return this.#balance
  }

  /** Takes `count` off and returns what is left. */
  spend(count: number): number {
    this.#balance = this.balance - count
    return this.#balance
  }
}

// A hundred bytes each. Who has so many networks at hand gains more by using each than by having
// the first forgotten.
const MAX_PEERS = 16_384

/** The credit of peer networks, which outlives their connections. */
export class PeerCredits {
  readonly #burst: number
  readonly #perSecond: number
  /** The peer that spent last comes last. */
  readonly #credits = new Map<string, Credit>()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
  }

  /** Takes `count` off a peer's credit. Returns whether the credit is overdrawn now. */
  spend(peer: string, count: number): boolean {
    const credit = this.#credits.get(peer) ?? new Credit(this.#burst, this.#perSecond)
    this.#credits.delete(peer)
    this.#credits.set(peer, credit)
    for (const oldest of this.#credits.keys()) {
      if (this.#credits.size <= MAX_PEERS) break
      this.#credits.delete(oldest)
    }
    return credit.spend(count) < 0
  }

  /** Whether a peer has spent more than it had. */
  isOverdrawn(peer: string): boolean {
    const credit = this.#credits.get(peer)
    return credit !== undefined && credit.balance < 0
  }
}
