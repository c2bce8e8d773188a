import type { ImportedAttachment } from '../conversations/imported-attachments.ts'
/**
 * What an import reads from another server, in one form for all kinds of servers. Texts are Markdown,
 * times are Unix seconds, and each record has the id that the other server gave it.
 */

/** A person at the other server. */
export interface SourcePerson {
  /** 0 if it is not known. */
  readonly id: number
  /** Empty if the account was deleted. */
  readonly login: string
  /** Full name; may be empty. */
  readonly name: string
}

/** A record, with an id that no other record of its kind has. */
interface Identified {
  readonly sourceId: string
}

export interface LabelRecord extends Identified {
  readonly name: string
  /** Six hexadecimal digits. */
  readonly color: string
  readonly description: string
  readonly isExclusive: boolean
  readonly isArchived: boolean
}

export interface MilestoneRecord extends Identified {
  readonly title: string
  readonly description: string
  readonly isClosed: boolean
  readonly dueTime: number | null
  readonly closeTime: number | null
  readonly createTime: number
  readonly updateTime: number
}

export interface ReactionRecord {
  readonly person: SourcePerson
  /** Name of the reaction, such as `+1`. */
  readonly content: string
}

/** A text that a person has written. */
interface WrittenRecord extends Identified {
  readonly author: SourcePerson
  readonly body: string
  readonly createTime: number
  readonly updateTime: number
  readonly reactions: readonly ReactionRecord[]
  readonly attachments: readonly AttachmentRecord[]
}

export type CommentRecord = WrittenRecord

/** What issues and pull requests have in common. */
export interface ConversationRecord extends WrittenRecord {
  readonly number: number
  readonly title: string
  readonly isClosed: boolean
  readonly closeTime: number | null
  readonly dueTime: number | null
  /** Reason of the lock; undefined while the conversation is not locked. */
  readonly lockReason: string | undefined
  /** Position among the pinned ones, from 1; 0 for none. */
  readonly pinOrder: number
  /** Names of labels. */
  readonly labels: readonly string[]
  /** Title of the milestone; empty for none. */
  readonly milestone: string
  readonly assignees: readonly SourcePerson[]
  readonly comments: readonly CommentRecord[]
  /** Numbers of the conversations of the repository on which this one depends. */
  readonly dependsOn: readonly number[]
}

export interface IssueRecord extends ConversationRecord {
  readonly ref: string
  /** `completed`, `not_planned`, `duplicate`, or empty. */
  readonly stateReason: string
}

export interface PullRecord extends ConversationRecord {
  readonly baseBranch: string
  readonly headBranch: string
  /** Whether the head is a branch of the repository itself, and not of a fork. */
  readonly isHeadHere: boolean
  /** Empty if the other server does not know it. */
  readonly headCommit: string
  /** A commit whose merge base with the head is that of the pull request; empty if unknown. */
  readonly baseCommit: string
  readonly isDraft: boolean
  readonly merge: MergeRecord | undefined
  readonly reviews: readonly ReviewRecord[]
}

/** How a pull request was merged. */
interface MergeRecord {
  /** Empty if it is not known. */
  readonly commit: string
  readonly time: number
  /** Undefined if it is not known. */
  readonly merger: SourcePerson | undefined
}

export interface ReviewRecord extends Identified {
  readonly author: SourcePerson
  readonly state: 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT'
  readonly body: string
  /** Empty if it is not known. */
  readonly commit: string
  readonly isDismissed: boolean
  readonly createTime: number
  readonly updateTime: number
  readonly comments: readonly LineCommentRecord[]
}

export interface LineCommentRecord extends Identified {
  readonly author: SourcePerson
  readonly body: string
  readonly path: string
  readonly side: 'old' | 'new'
  /** 0 for the file as a whole. */
  readonly line: number
  /** The head at the time of the comment; empty if it is not known. */
  readonly commit: string
  readonly diffHunk: string
  readonly isResolved: boolean
  readonly createTime: number
  readonly updateTime: number
}

export interface ReleaseRecord extends Identified {
  readonly tag: string
  readonly target: string
  readonly title: string
  readonly note: string
  readonly isDraft: boolean
  readonly isPrerelease: boolean
  readonly author: SourcePerson
  readonly createTime: number
  readonly assets: readonly AssetRecord[]
}

export interface AssetRecord extends Identified {
  readonly name: string
  readonly createTime: number
  /** Where the content is. */
  readonly url: string
}

/** A file of an issue, a pull request or a comment, which their texts show by a link. */
export interface AttachmentRecord extends AssetRecord, ImportedAttachment {}

/** The kinds of records that a source lists in pages, in the order in which they are stored. */
export const LISTED = ['labels', 'milestones', 'issues', 'pull_requests', 'releases'] as const

export type Listed = (typeof LISTED)[number]

/** The record of each kind. */
export interface ListedRecords {
  readonly labels: LabelRecord
  readonly milestones: MilestoneRecord
  readonly issues: IssueRecord
  readonly pull_requests: PullRecord
  readonly releases: ReleaseRecord
}

/** A record of a list that is not complete until it is loaded, because it takes requests of its own. */
export interface Loadable<T> {
  /** Names the record in the list of errors, such as `#12`. */
  readonly ref: string
  readonly sourceId: string
  load(): Promise<T>
}

/** A page of records of one kind. */
export interface RecordPage<T> {
  readonly records: readonly Loadable<T>[]
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined
  /** Number of all records; undefined if it is not known. */
  readonly total: number | undefined
}

/** A project on another server. */
export interface ProjectSource {
  /**
   * Checks that the project exists and that the token may read it.
   *
   * @throws SourceError
   */
  check(): Promise<void>
  /**
   * Reads a page.
   *
   * @param cursor `next` of the page before; empty for the first one.
   * @throws SourceError, SourcePause
   */
  page<K extends Listed>(kind: K, cursor: string): Promise<RecordPage<ListedRecords[K]>>
  /**
   * Opens the content of a file.
   *
   * @throws SourceError, SourcePause
   */
  asset(asset: AssetRecord): Promise<AsyncIterable<Uint8Array>>
  /** The refs of the heads of pull requests, with `*` for the number. */
  readonly headRefs: string
}
