/** A token bucket (ITU-T I.371) whose balance can become negative. */
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

  /** The remaining credit, negative when overdrawn. */
  get balance(): number {
    const nowMs = performance.now()
    const earned = ((nowMs - this.#atMs) / 1000) * this.#perSecond
    this.#balance = Math.min(this.#burst, this.#balance + earned)
    this.#atMs = nowMs
    return this.#balance
  }

  /** Subtracts `count` and returns the remaining credit. */
  spend(count: number): number {
    this.#balance = this.balance - count
    return this.#balance
  }
}

// A hundred bytes each. An attacker with more networks gains more by using each of them than by
// resetting the credit of the first.
const MAX_PEERS = 16_384

/** The credit of peer networks, which lasts beyond their connections. */
export class PeerCredits {
  readonly #burst: number
  readonly #perSecond: number
  /** Sorted by the time of the last spending, the latest last. */
  readonly #credits = new Map<string, Credit>()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
  }

  /** Subtracts `count` from a peer's credit. Returns whether the credit is overdrawn. */
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

  /** Returns whether the credit of a peer is overdrawn. */
  isOverdrawn(peer: string): boolean {
    const credit = this.#credits.get(peer)
    return credit !== undefined && credit.balance < 0
  }
}
