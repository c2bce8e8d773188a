import { STEPS, type Step } from '../../../platform/git/maintenance/steps.ts'

/** The latest run of a step of a repository. */
export interface StepReport {
  /** Unix milliseconds. */
  readonly startTime: number
  readonly durationMs: number
  /** Empty when the step succeeded. */
  readonly error: string
}

/** The latest run of each step. Steps that have not run are missing. */
export type StepReports = Partial<Record<Step, StepReport>>

/** Reads what is stored about the steps of a repository. */
export function readReports(stored: string): StepReports {
  // The server alone writes this column.
  return JSON.parse(stored) as StepReports
}

/** Returns names of steps that are stored with commas. Steps of other versions are left out. */
export function parseSteps(stored: string): Step[] {
  const names = new Set(stored.split(','))
  return STEPS.filter((step) => names.has(step))
}

/** Returns whether a text is the name of a step. */
export function isStep(name: string): name is Step {
  return STEPS.some((step) => step === name)
}
