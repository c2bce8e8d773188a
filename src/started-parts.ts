/** Stops a part of the server. `graceMs` is how long calls in flight may take to finish. */
export type StopPart = (graceMs: number) => unknown

/**
 * The parts of a server in the order in which they were started. Each part is added with what stops
 * it, so that a start that fails half way and a shutdown undo the same list.
 */
export class StartedParts {
  readonly #stops: StopPart[] = []
  #stopped: Promise<void> | undefined

  /** Adds a part that has just been started. */
  add(stop: StopPart): void {
    this.#stops.push(stop)
  }

  /**
   * Stops the parts, the last one first. A part that fails to stop does not keep the others
   * running. Later calls wait for the first.
   *
   * @throws what the first part that failed threw, after all others have stopped.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stopAll(graceMs)
    return this.#stopped
  }

  async #stopAll(graceMs: number): Promise<void> {
    const failures: unknown[] = []
    for (const stop of this.#stops.reverse()) {
      try {
        await stop(graceMs)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
