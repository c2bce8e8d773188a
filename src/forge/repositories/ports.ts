import type { FairSlots, RunInSlot } from '../../platform/concurrency/fair-slots.ts'
import type { Tx } from '../../platform/database/schema.ts'
import type { RefUpdate } from '../../platform/git/core/ref-names.ts'
import type { CommandResult } from '../../platform/git/hooks/proc-receive.ts'
import type { Repositories } from '../../platform/git/repositories/repositories.ts'
import type { ObjectStores } from '../../platform/objects/object-store.ts'
import type { GatewayTimes } from '../../platform/outbound/git-gateway.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import type { Owner } from '../accounts/schema.ts'
import type { SignedIn } from '../core/access.ts'
import type { MaintenanceFigures } from './maintenance/figures.ts'
import type { QuotaRefusals } from './quotas/quota-refusals.ts'
import type { Repository } from './schema.ts'

/** Dependencies of repositories and pull requests on the server. */
export interface ReposApp extends AccountsApp {
  readonly git: Repositories
  /** Release assets and attachments of issues. */
  readonly objects: ObjectStores
  /** Limits the copies from other servers for which callers wait. */
  readonly copies: RunInSlot
  /** The limits of connections to other servers. Default: in `git-gateway.ts`. */
  readonly upstreamTimes?: GatewayTimes
  readonly signatureChecks: SignatureChecks
  readonly commitSigning: CommitSigning
  readonly refObservers: readonly RefObserver[]
  /** Follows the references of the pushes and merges of a repository, up to now. Never fails. */
  readonly finishReferenceWork: (app: ReposApp, repositoryId: number) => Promise<void>
  readonly newLabels: NewLabels
  readonly projectImports: ProjectImports
  readonly mergeChecks: MergeChecks
  readonly patience: Patience
  /** The pending ref updates on which this process works, by their numbers. */
  readonly runningUpdates: Set<number>
  /** The repositories into which this process imports archives, by their numbers. */
  readonly runningArchives: Set<number>
  /** The repositories whose size this process measures, or has just measured, by their numbers. */
  readonly sizeMeasurements: Map<number, SizeMeasurement>
  readonly maintenance: MaintenanceWork
  readonly quotaRefusals: QuotaRefusals
  /** Whether changes of issues and pull requests tell no users. Set for a part of a call. */
  readonly isQuiet?: boolean
}

/** Imports of whole projects. */
export interface ProjectImports {
  /**
   * Checks the project on the other server.
   *
   * @throws IMPORT_SOURCE_REFUSED, INVALID_FIELD
   */
  prepare(
    app: ReposApp,
    caller: SignedIn,
    request: ProjectImportRequest,
    until: AbortSignal,
  ): Promise<PreparedImport>
}

/** What is imported. */
export interface ProjectImportRequest {
  /** `github`, `gitea`, `forgejo`, `gitlab` or `branchline`. */
  readonly service: string
  /** Address of the Git repository, without credentials. */
  readonly url: URL
  /** For Git. */
  readonly credentials: { readonly username: string; readonly password: string } | undefined
  /** For the API; empty for none. */
  readonly token: string
  /** Address of the Git LFS, empty for that of the repository; undefined if no objects come along. */
  readonly lfs: string | undefined
  /** Names of the kinds of records, such as `issues`. */
  readonly kinds: readonly string[]
}

/** An import whose source was checked. */
export interface PreparedImport {
  /** Stores the import in the transaction that stores the repository. */
  store(tx: Tx, repositoryId: number): Promise<void>
  /** Starts the import, and waits for its Git objects for some seconds. */
  start(repositoryId: number, until: AbortSignal): Promise<void>
}

/** The maintenance of repositories by this process. */
export interface MaintenanceWork {
  /** Ends the steps of a repository, by its number. */
  readonly running: Map<number, AbortController>
  readonly figures: MaintenanceFigures
}

/** Creates the labels of new repositories, in the transaction of the creation. */
export interface NewLabels {
  add(
    tx: Tx,
    repositoryId: number,
    labels: readonly {
      readonly name: string
      readonly color: string
      readonly description: string
      readonly exclusive: boolean
    }[],
  ): Promise<void>
  /** Copies the labels of another repository. */
  copy(tx: Tx, fromId: number, toId: number): Promise<void>
}

/** Limits and failures of mergeability checks. */
export interface MergeChecks {
  readonly slots: FairSlots
  /** Unix milliseconds until which a failed check is not repeated, by its subject. */
  readonly failures: {
    get(subject: string): number | undefined
    set(subject: string, untilMs: number): unknown
  }
}

/** How long responses wait for work that goes on afterwards. */
export interface Patience {
  /** The wait of a response about a new or changed pull request for its mergeability check. */
  mergeCheckMs: number
  /** The delay of a fetch while head refs are updated: a fork may have gibibytes of new objects. */
  headRefsMs: number
  /** The wait of the start of an import for the objects of the project. */
  importMs: number
  /** The wait of a merge for the issues that it closes. */
  closingMs: number
}

/** The refs that an account or the server is about to move. */
export interface PendingPush {
  /** Undefined for the server. */
  readonly pusherId: number | undefined
  readonly updates: readonly RefUpdate[]
  /** The bytes that the updates may add. Undefined if nothing limits them. */
  readonly reservation?: Reservation | undefined
}

/** Bytes that a ref update may add to a repository. */
export interface Reservation {
  readonly bytes: number
  /**
   * Checks in the transaction that records the reservation whether quotas allow the bytes.
   *
   * @throws QUOTA_EXCEEDED
   */
  checkIn(tx: Tx): Promise<void>
}

/** A measurement of the size of a repository. */
export interface SizeMeasurement {
  /** Whether the repository has changed since the measurement began. */
  isStale: boolean
  /** Ends the pause after a measurement. Undefined while the measurement runs. */
  rest: NodeJS.Timeout | undefined
}

/**
 * Code that reacts to changes of the refs of repositories. The ref-update pipeline knows its
 * observers by this interface only.
 */
export interface RefObserver {
  /**
   * Returns the branches that a caller may push to without write access to the repository, such as
   * heads of pull requests that allow edits by maintainers.
   *
   * @param branches the branches to consider. All of them when left out.
   */
  pushableBranches(
    app: ReposApp,
    caller: SignedIn,
    target: { readonly repository: Repository; readonly owner: Owner },
    branches?: readonly string[],
  ): Promise<ReadonlySet<string>>
  /**
   * Called before moved refs of a repository are recorded.
   *
   * @param ended pending updates whose work has ended.
   */
  beginRecord(app: ReposApp, repository: Repository, ended: readonly number[]): Promise<RefRecorder>
  /** Called in the transaction that records the rename of a branch. */
  branchRenamed(
    app: ReposApp,
    tx: Tx,
    repositoryId: number,
    from: string,
    to: string,
  ): Promise<void>
  /** Called before Git serves a fetch. */
  beforeFetch(app: ReposApp, repositoryId: number): Promise<void>
  /** Called before a repository is deleted, without its lock. */
  beforeDeletion(app: ReposApp, repositoryId: number): Promise<void>
  /** Called before the rows of a repository are deleted, with its lock. */
  duringDeletion(app: ReposApp, repositoryId: number): Promise<void>
  /**
   * Returns the ids of the objects of a repository that rows name and that a prune must keep. Some
   * may be missing.
   */
  neededObjects(app: ReposApp, repositoryId: number): Promise<Iterable<string>>
  /** Returns lines for `git push` to print about refs that it has moved. */
  pushMessages(
    app: ReposApp,
    caller: SignedIn,
    repositoryId: number,
    moved: readonly RefUpdate[],
  ): Promise<string[]>
  /**
   * Returns why a caller may not propose changes to a repository by a push; undefined if the caller
   * may. Absent, like `propose`, if no pull requests are opened.
   */
  proposalProblem?(
    app: ReposApp,
    caller: SignedIn,
    repositoryId: number,
  ): Promise<string | undefined>
  /** Opens and updates pull requests. */
  propose?(
    app: ReposApp,
    caller: SignedIn,
    repositoryId: number,
    proposals: Proposals,
  ): Promise<ProposalResults>
}

/** The part of a push that opens or updates pull requests. */
export interface Proposals {
  /** The commands. Their objects are stored. */
  readonly updates: readonly RefUpdate[]
  /** The texts of the push options. */
  readonly options: readonly string[]
  /** Whether all of them are refused if one is. */
  readonly isAtomic: boolean
}

/** What became of proposals. */
export interface ProposalResults {
  readonly results: readonly CommandResult[]
  /** Lines for the pusher. */
  readonly lines: readonly string[]
}

/** The part of an observer in the record of one set of moved refs, which is written in batches. */
export interface RefRecorder {
  /** Called before each batch. `record` runs in its transaction, `afterCommit` after it. */
  prepare(batch: RefBatch): Promise<{ record(tx: Tx): Promise<void>; afterCommit(): void }>
  /** Called after the last batch was committed. */
  finish(moved: readonly MovedRef[]): void
}

/** Refs that are recorded in one transaction. */
export interface RefBatch {
  readonly moved: readonly MovedRef[]
  /** The default branch of the repository once the updates are recorded. */
  readonly defaultBranch: string
  readonly isLast: boolean
  /** Ended pending updates that Git will not continue. */
  readonly settled: readonly number[]
}

/** The SSH key with which the instance signs its commits. */
export interface CommitSigning {
  /** The public key, as in a `.pub` file. */
  readonly line: string
  /** The fingerprint of the public key, as `readSshKey` returns it. */
  readonly fingerprint: string
  /** Signs the payload of a commit. */
  sign(payload: Buffer): string
}

/** A cache of signature checks. Its keys are ids of objects and keys, so results never change. */
export interface SignatureChecks {
  get(key: string, compute: () => Promise<boolean>): Promise<boolean>
}

/** A ref that was created, updated or deleted. */
export interface MovedRef {
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string
  /** The object before the update. Undefined if the ref was created. */
  readonly oldId: string | undefined
  /** The object after the update. Undefined if the ref was deleted. */
  readonly newId: string | undefined
  /** The account that updated the ref. Undefined if unknown. */
  readonly pusherId: number | undefined
}
