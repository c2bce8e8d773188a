import type { GuessCounter, GuessEnding } from './ports.ts'

/**
 * A message of a worker process to the primary process about the group of worker processes of one
 * SQLite database. An `id` is a number of the worker process, which the answer repeats.
 */
export type MessageOfMember =
  /** The answer to `ping`. The first one comes without a `ping`, before the process takes locks. */
  | { readonly kind: 'alive' }
  /** Asks for a lock. `waits` is whether the answer comes only when the lock is free. */
  | { readonly kind: 'take'; readonly id: number; readonly key: string; readonly waits: boolean }
  /** Releases the lock of a `take`. */
  | { readonly kind: 'release'; readonly id: number }
  /** Asks which of some servers run. */
  | { readonly kind: 'running'; readonly id: number; readonly serverIds: readonly number[] }
  /** A text for all other processes. */
  | { readonly kind: 'tell'; readonly text: string }
  /** Asks for the turn to write. The answer comes when no other process has the turn. */
  | { readonly kind: 'want turn' }
  | { readonly kind: 'leave turn' }
  /** Asks whether a guess may be checked. */
  | {
      readonly kind: 'begin guess'
      readonly id: number
      readonly counters: readonly GuessCounter[]
    }
  /** Ends the guess of a `begin guess` that was admitted. */
  | { readonly kind: 'end guess'; readonly id: number; readonly ending: GuessEnding }

/** A message of the primary process to a worker process about the same. */
export type MessageOfHost =
  /** Asks for a sign of life. */
  | { readonly kind: 'ping' }
  /** The answer to `take`: whether the process has the lock. */
  | { readonly kind: 'taken'; readonly id: number; readonly isTaken: boolean }
  /** The answer to `running`: those that run. */
  | { readonly kind: 'running'; readonly id: number; readonly serverIds: readonly number[] }
  /** A text of another process. */
  | { readonly kind: 'told'; readonly text: string }
  /** The process has the turn to write. */
  | { readonly kind: 'turn' }
  /**
   * The answer to `begin guess`: 0 if the guess may be checked, otherwise the milliseconds for which
   * the guess is refused.
   */
  | { readonly kind: 'guess'; readonly id: number; readonly waitMs: number }
