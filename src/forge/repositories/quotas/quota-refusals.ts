import type { Scope } from './quota-limits.ts'

/** How often a limit has refused something. */
interface Refusals {
  /** What was refused, such as `size:git:all`, or `repositories`. */
  readonly subject: string
  readonly scope: Scope
  readonly count: number
}

/** The refusals by limits since the start of this process. */
export class QuotaRefusals {
  readonly #refusals = new Map<string, Refusals>()

  add(subject: string, scope: Scope): void {
    const key = `${subject} ${scope}`
    const count = (this.#refusals.get(key)?.count ?? 0) + 1
    this.#refusals.set(key, { subject, scope, count })
  }

  get all(): readonly Refusals[] {
    return [...this.#refusals.values()]
  }
}
