import type { Logger } from 'pino'
import { withoutDeadline } from '../../platform/concurrency/call-deadlines.ts'
import type { DailyWindow } from '../../platform/concurrency/daily-window.ts'
import type { Holder } from '../../platform/concurrency/holders.ts'
import type { Db } from '../../platform/database/schema.ts'
import type { YamlResult } from '../../platform/markup/yaml.ts'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import type { Coordination } from './coordination.ts'
import type { DiskSpace } from './disk-space.ts'
import { deletionError } from './errors.ts'
import type { MergeStyle } from './schema.ts'
import type { Signal } from './signal.ts'

/** The services and settings that every part of the domain uses. The server creates it once. */
export interface Core {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Settings
  readonly log: Logger
  readonly background: Background
  readonly signals: Signals
  readonly coordination: Coordination
  readonly outbound: Outbound
  readonly metrics: MetricsSource
  readonly disk: DiskSpace
  /** Undefined on the command line, which renders and parses nothing. */
  readonly markup: MarkupRenderer | undefined
  /**
   * Returns the base URL of links, without a trailing slash. It is known once the server listens,
   * which is before the first call.
   */
  publicUrl(): string
  readonly ssh: SshPort
}

/** Git over SSH, as far as the forge tells of it. */
export interface SshPort {
  /**
   * Returns the address of a repository, empty where SSH is off.
   *
   * @param path owner and name.
   */
  urlOf(path: string): string
  /** Returns where SSH is served; undefined where SSH is off. */
  host(): SshHost | undefined
  /** Returns the sessions of this server, the oldest first. */
  sessions(): readonly SshSessionView[]
  /** Ends a session. Returns whether it ran. */
  endSession(id: number): boolean
}

/** Where SSH is served, and by which keys. */
export interface SshHost {
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly keys: readonly SshHostKey[]
}

/** A public key of the server. */
export interface SshHostKey {
  readonly type: string
  /** Base64. */
  readonly key: string
  readonly fingerprint: string
  /** Whether connections use the key, rather than will. */
  readonly isActive: boolean
}

/** A Git session over SSH. */
export interface SshSessionView {
  readonly id: number
  /** Empty for a deploy key. */
  readonly user: string
  readonly keyFingerprint: string
  readonly address: string
  readonly command: string
  readonly startedAtMs: number
}

/** Renders and parses the texts of clients. */
interface MarkupRenderer {
  /**
   * @param holder whom the work counts for.
   * @throws an error with `kind`, if there are too many texts or this one is too complex.
   */
  render(
    request: {
      readonly text: string
      readonly keepsLineBreaks: boolean
      readonly baseUrl: string | undefined
    },
    holder: Holder,
  ): Promise<string>
  /** Parses YAML, under the conditions of `render`. */
  parseYaml(yaml: string, holder: Holder): Promise<YamlResult>
}

/** Signals that a commit left rows for a worker or a stream to process. */
export interface Signals {
  /** New webhook deliveries are waiting. */
  readonly deliveries: Signal
  /** A mirror was added or its schedule changed. */
  readonly mirrors: Signal
  /** An import of a project was started. */
  readonly imports: Signal
  /** An import of a project has progressed, waits, or has ended. */
  readonly importSteps: Signal
  /** Somebody has linked an identity at another server. */
  readonly adoptions: Signal
  /** A repository needs maintenance. */
  readonly maintenance: Signal
  /** A step of the maintenance of a repository has ended. */
  readonly maintained: Signal
  /** A push mirror was added, or must be updated. */
  readonly pushMirrors: Signal
  /** Refs of pull requests must be brought in line with their rows. */
  readonly pullHeads: Signal
  /** Scheduled merges may have become ready. */
  readonly scheduledMerges: Signal
  /** Merged pull requests have follow-up work. */
  readonly mergeFollowUps: Signal
  /** Pushes and merges have references to follow. */
  readonly referenceWork: Signal
  /** Users are to be told of changes of pull requests. */
  readonly issueNotices: Signal
  /** New mails are waiting. */
  readonly mails: Signal
  /** Events of accounts were recorded. */
  readonly events: Signal
  /** Events of repositories were recorded. */
  readonly repositoryEvents: Signal
}

/** The current time. Tests replace it. */
export interface Clock {
  /** Returns Unix milliseconds. */
  now(): number
}

/** The settings that the rules depend on. `docs/operations.md` describes each of them. */
export interface Settings extends PageSizes {
  readonly registration: 'open' | 'closed'
  readonly passwordSignIn: boolean
  readonly basicPassword: boolean
  readonly minPasswordLength: number
  readonly privateInstance: boolean
  readonly usernameChange: boolean
  readonly displayNameChange: boolean
  /** The time at which statistics count a memo: its creation or its last update. */
  readonly statsBy: 'create' | 'update'
  /** Maximum size of a memo in bytes of UTF-8. */
  readonly memoContentBytes: number
  /** Maximum size in bytes of one push, and of one fetch from another server. */
  readonly maxPushBytes: number
  /** Maximum size in bytes of a release asset. */
  readonly maxAssetBytes: number
  /** Maximum size in bytes of an attachment of an issue, a pull request or a comment. */
  readonly maxAttachmentBytes: number
  /** Extensions with their dot, and media types, in lower case. Any type: all but executables. */
  readonly attachmentTypes: readonly string[]
  /**
   * Delays in milliseconds before each retry of a failed webhook delivery. After the last retry,
   * the delivery is abandoned.
   */
  readonly webhookRetryScheduleMs: readonly number[]
  /** Address that mails come from; undefined for `noreply@` and the host of the instance. */
  readonly mailFrom: string | undefined
  /** Default merge style of new repositories. */
  readonly defaultMergeStyle: MergeStyle
  /** Whether the instance signs the commits that it creates. */
  readonly signing: boolean
  /** Title prefixes that mark a pull request as work in progress, compared case-insensitively. */
  readonly wipPrefixes: readonly string[]
  /** Maximum number of lines shown in the diff of a file, context lines included. */
  readonly diffMaxLines: number
  /** Maximum number of characters shown of a line of a diff. */
  readonly diffMaxLineCharacters: number
  /**
   * Number of issues that an account may open in ten minutes in repositories to which the account may
   * not write. Six times as many comments, reviews and reactions. 0 for no limit.
   */
  readonly issueRate: number
  /** Bytes of the texts in the index of code search. 0 for no index. */
  readonly codeIndexBytes: number
  /** Whether the server has Git LFS. */
  readonly lfs: boolean
  /** Maximum size in bytes of an object of Git LFS. */
  readonly maxLfsBytes: number
  /** Life of the links of transfers of Git LFS. */
  readonly lfsLinkExpiryMs: number
  /** Whether pushes of pointers whose objects are missing are refused. */
  readonly lfsPushCheck: boolean
  /** Time after which objects of Git LFS that no ref needs are removed; undefined for never. */
  readonly lfsUnreferencedAfterMs: number | undefined
  /** Whether pushes of pointer files of Git LFS are refused. */
  readonly refuseLfsPointers: boolean
  /** The largest file that a push or a change over the API may add. Undefined for no limit. */
  readonly maxFileBytes: number | undefined
  readonly quotas: QuotaSettings
  /** Most repositories of a user or organisation. Undefined for no limit. */
  readonly maxRepositories: number | undefined
  /** Whether the server maintains repositories by itself. */
  readonly maintenance: boolean
  /** When repositories are packed as a whole; undefined for any time. */
  readonly maintenanceWindow: DailyWindow | undefined
  /** Age from which prunes remove objects that no ref reaches; undefined for never. */
  readonly pruneAfterMs: number | undefined
  /** Time for which removed objects can be brought back. */
  readonly limboMs: number
  /** Whether repositories may have Git hooks. */
  readonly gitHooks: boolean
  /** Maximum running time of a Git hook. */
  readonly hookTimeoutMs: number
}

/** Limits of stored bytes where no group of quotas applies. Undefined for no limit. */
export interface QuotaSettings {
  /** Of all that the repositories of a user have. */
  readonly account: number | undefined
  readonly organization: number | undefined
  readonly repository: number | undefined
  readonly instance: number | undefined
  /** Names of the groups of owners that are in no group. */
  readonly defaultGroups: readonly string[]
}

/** Returns the time of a clock in whole Unix seconds. */
export function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}

/** Page sizes of lists that the operator may configure. */
export interface PageSizes {
  /** Size for requests that name none; undefined for the default of the list. */
  readonly defaultPageSize: number | undefined
  /** Maximum size; undefined for the maximum of the list. */
  readonly maxPageSize: number | undefined
}

/**
 * Returns the page sizes of a list. Configured sizes override those of the list, and no default
 * exceeds the maximum.
 *
 * @param usual the sizes of the list if the operator configures none.
 */
export function pageSizes(
  { defaultPageSize, maxPageSize }: PageSizes,
  usual: { readonly defaultPageSize: number; readonly maxPageSize: number },
): { readonly defaultPageSize: number; readonly maxPageSize: number } {
  const largest = maxPageSize ?? Math.max(usual.maxPageSize, defaultPageSize ?? 0)
  return {
    defaultPageSize: Math.min(defaultPageSize ?? usual.defaultPageSize, largest),
    maxPageSize: largest,
  }
}

/** A value of a metric. */
export interface MetricSample {
  /** The name of the metric, which a histogram completes by `_sum` or `_count`. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Metrics of the server, as Prometheus defines metrics. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: string
  /** Without the buckets of histograms. */
  readonly samples: readonly MetricSample[]
}

/** Where the metrics of the server are read. Before the server listens, there are none. */
export class MetricsSource {
  #read: () => Promise<readonly Metric[]> = async () => []

  /** Names the function that reads the metrics. */
  onRead(read: () => Promise<readonly Metric[]>): void {
    this.#read = read
  }

  /**
   * Returns metrics.
   *
   * @param names of the metrics; none for all.
   */
  async read(names: readonly string[]): Promise<readonly Metric[]> {
    const wanted = new Set(names)
    const metrics = await this.#read()
    return wanted.size === 0 ? metrics : metrics.filter(({ name }) => wanted.has(name))
  }
}

/** Runs work that no response waits for. */
export interface Background {
  /**
   * Starts work immediately. A failure is logged and not rethrown.
   *
   * @param name name of the work in the log.
   */
  run(name: string, work: () => Promise<unknown>): void
  /** Resolves once no work is running. Used before the database closes, and by tests. */
  settled(): Promise<void>
}

export function createBackground(log: Logger): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run(name, work) {
      const task = withoutDeadline(() => Promise.resolve().then(work))
        .catch((err: unknown) => {
          // Deleting what the work is about while the work runs is not a fault.
          log[deletionError(err) ? 'warn' : 'error']({ err, work: name }, 'background work failed')
        })
        .finally(() => running.delete(task))
      running.add(task)
    },
    async settled() {
      // Work may start more work.
      while (running.size > 0) await Promise.all(running)
    },
  }
}
