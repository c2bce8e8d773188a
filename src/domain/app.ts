import type { Logger } from 'pino'
import type { Repositories } from '../git/repositories/repositories.ts'
import type { Owner } from '../storage/accounts/owners.ts'
import type { Db } from '../storage/database/database.ts'
import type { AttachmentFiles } from '../storage/repos/attachment-files.ts'
import type { MergeStyle } from '../storage/repos/repositories.ts'
import type { GuessLimits } from './accounts/credentials/guess-limits.ts'
import type { InstanceKeys } from './accounts/credentials/instance-keys.ts'
import type { MailTransport } from './accounts/credentials/mail.ts'
import type { ResetRequests } from './accounts/credentials/password-resets.ts'
import type { PasswordHasher } from './accounts/credentials/passwords.ts'
import type { OAuth2Client } from './accounts/sign-on/oauth2.ts'
import type { Caller } from './core/access.ts'
import type { Background } from './core/background.ts'
import type { PageSizes } from './core/page-sizes.ts'
import type { Signal } from './core/signal.ts'
import type { MemoView } from './memos/memo-view.ts'
import type { Outbound } from './outbound/outbound.ts'
import type { PullView } from './pulls/listing/pull-views.ts'
import type { CopyPlaces } from './repos/lifecycle/copy-places.ts'
import type { CommitSigning } from './repos/reading/commit-signing.ts'
import type { SignatureChecks } from './repos/reading/commit-verification.ts'

/** What every use case works with, built once by the server and passed as first argument. */
export interface App {
  readonly db: Db
  readonly git: Repositories
  readonly attachments: AttachmentFiles
  readonly clock: Clock
  readonly settings: Settings
  readonly log: Logger
  readonly keys: InstanceKeys
  readonly passwords: PasswordHasher
  readonly guesses: GuessLimits
  readonly background: Background
  readonly signals: Signals
  readonly payloads: Payloads
  readonly outbound: Outbound
  readonly oauth2: OAuth2Client
  readonly copies: CopyPlaces
  readonly signatureChecks: SignatureChecks
  readonly commitSigning: CommitSigning
  /** Undefined where no mail is sent. */
  readonly mail: MailTransport | undefined
  readonly resetRequests: ResetRequests
  /**
   * Base of links, without a slash at the end. Known once the server listens, which is before
   * anybody calls.
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

/** Resources in the form that clients get them in, as JSON, for what is sent to webhooks. */
export interface Payloads {
  /** A memo as proto3 JSON, as its creator sees it. */
  memo(view: MemoView): string
  /** A pull request as REST answers it to a viewer in lists. */
  pullRequest(app: App, viewer: Caller, view: PullView): string
  /** An account as REST answers it to a viewer. */
  account(app: App, viewer: Caller, account: Owner): string
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
