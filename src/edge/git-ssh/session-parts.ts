import type { App } from '../../forge/app.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import type { SessionLimits } from '../git-http/session.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import type { SshIdentities } from './identities.ts'
import type { RunningSessions } from './running-sessions.ts'

/** The parts of the server that sessions use. */
export interface SessionParts {
  readonly app: App
  readonly slots: FairSlots
  /** Slots of transfers of Git LFS, shared with HTTP. */
  readonly lfsSlots: FairSlots
  readonly limits: SessionLimits
  readonly limitLoopback: boolean
  readonly identities: SshIdentities
  readonly running: RunningSessions
  readonly metrics: Metrics
}

/** How a session ended. */
export interface SessionEnd {
  readonly code: number
  /** Lines for the user, empty for none. */
  readonly text: string
}

/** Exit codes of sysexits.h. */
export const TRY_AGAIN = 75
export const OWN_FAULT = 70

/** Returns the end of a session that the server refuses. */
export function refused(text: string, code = 1): SessionEnd {
  return { code, text: `Branchline: ${text}\n` }
}
