import type { Logger } from 'pino'
import type { MergeStyle } from '../../storage/schema/repos.ts'
import type { Db } from '../../storage/schema/schema.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { Background } from './background.ts'
import type { Coordination } from './coordination.ts'
import type { PageSizes } from './page-sizes.ts'
import type { Signal } from './signal.ts'

/** What every part of the domain works with. The server builds it once. */
export interface Core {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Settings
  readonly log: Logger
  readonly background: Background
  readonly signals: Signals
  readonly coordination: Coordination
  readonly outbound: Outbound
  /**
   * Base of links, without a trailing slash. Known once the server listens, which is before the
   * first call.
   */
  publicUrl(): string
}
/** Given after a commit that left rows behind for somebody to pick up. */
export interface Signals {
  /** There are webhook deliveries to send. */
  readonly deliveries: Signal
  /** There are mirrors to synchronise, or at another time. */
  readonly mirrors: Signal
  /** There are refs of pull requests that have to follow their rows. */
  readonly pullHeads: Signal
  /** There are merges to try that were ordered for when they are ready. */
  readonly autoMerges: Signal
  /** Pull requests were merged, from which something follows. */
  readonly mergeFollowUps: Signal
  /** There are events of accounts to watch. */
  readonly events: Signal
  /** There are events of repositories to watch. */
  readonly repositoryEvents: Signal
}

/** Time, so that tests can set it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

/** The settings that rules depend on. `docs/operations.md` says what each does. */
export interface Settings extends PageSizes {
  readonly registration: 'open' | 'closed'
  readonly passwordSignIn: boolean
  readonly basicPassword: boolean
  readonly minPasswordLength: number
  readonly privateInstance: boolean
  readonly usernameChange: boolean
  readonly displayNameChange: boolean
  /** Time that statistics show memos at: when they were made, or last updated. */
  readonly statsBy: 'create' | 'update'
  /** Most bytes of UTF-8 in a memo. */
  readonly memoContentBytes: number
  /** Most bytes of one push, and of what is fetched at once from another server. */
  readonly maxPushBytes: number
  /** Most bytes of a file that comes with a release. */
  readonly maxAssetBytes: number
  /**
   * Milliseconds from each failed attempt of a webhook delivery to the next one; behind the last,
   * it is given up.
   */
  readonly webhookRetryScheduleMs: readonly number[]
  /** How pull requests of new repositories are merged unless told otherwise. */
  readonly defaultMergeStyle: MergeStyle
  /** Whether the instance signs the commits that it makes. */
  readonly signing: boolean
  /** What the titles of work in progress begin with, in any case of its letters. */
  readonly wipPrefixes: readonly string[]
  /** Lines of the changes of a file that are looked at, unchanged ones between them included. */
  readonly diffMaxLines: number
  /** Shown of such a line. */
  readonly diffMaxLineCharacters: number
  /** Whether repositories have scripts that run on pushes. */
  readonly gitHooks: boolean
  /** Longest run of such a script. */
  readonly hookTimeoutMs: number
}

/** Whole Unix seconds of a clock. */
export function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}
