/** Stops a part of the server. `graceMs` is the time that calls in flight have to finish. */
export type StopPart = (graceMs: number) => unknown

/**
 * The parts of a server, in the order of their start. A shutdown and a start that fails halfway
 * stop the same list.
 */
export class StartedParts {
  readonly #stops: StopPart[] = []
  #stopped: Promise<void> | undefined

  /** Adds a part that has just been started. */
  add(stop: StopPart): void {
    this.#stops.push(stop)
  }

  /**
   * Stops the parts, the last one first. A part that fails to stop does not prevent the others from
   * stopping. Later calls wait for the first.
   *
   * @throws the first failure, after all parts have stopped.
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
