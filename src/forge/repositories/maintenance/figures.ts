import type { Step } from '../../../platform/git/maintenance/steps.ts'

/** What the steps of this process have taken so far. */
export interface StepFigures {
  readonly step: Step
  readonly result: 'ok' | 'failed'
  readonly count: number
  readonly durationMs: number
}

/** Figures of the steps that this process has run since its start, for metrics. */
export class MaintenanceFigures {
  readonly #figures = new Map<string, StepFigures>()

  count(step: Step, result: StepFigures['result'], durationMs: number): void {
    const key = `${step} ${result}`
    const known = this.#figures.get(key) ?? { step, result, count: 0, durationMs: 0 }
    this.#figures.set(key, {
      ...known,
      count: known.count + 1,
      durationMs: known.durationMs + durationMs,
    })
  }

  get all(): readonly StepFigures[] {
    return [...this.#figures.values()]
  }
}
