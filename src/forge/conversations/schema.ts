import type { Generated, Insertable, Selectable } from 'kysely'
import type { ContentStore } from '../repositories/attachments/schema.ts'
import type { RepositoryEventsTable } from '../repositories/schema.ts'

/** The columns of a pull request that an issue has, too. */
export interface ConversationColumns {
  /** Never reused. */
  id: Generated<number>
  /** The base repository of a pull request. */
  repository_id: number
  /** 0 for an issue, 1 for a pull request. */
  is_pull: Generated<number>
  /** Number in the repository, from 1. Never reused. */
  number: number
  /** Null if the account was deleted. */
  poster_id: number | null
  title: string
  /** Number of changes of the body. */
  content_version: Generated<number>
  state: 'OPEN' | 'CLOSED' | 'MERGED'
  milestone_id: number | null
  /** Unix seconds, like all times. */
  due_time: number | null
  /** Branch that an issue is about, as its writers wrote it; empty for pull requests. */
  ref: Generated<string>
  /** Maintained by triggers on `issue_comments`. */
  comment_count: Generated<number>
  /** Number of reactions to the conversation itself. Maintained by triggers on `issue_reactions`. */
  reaction_count: Generated<number>
  /** 1 if the repository is public. Maintained by triggers. */
  is_public: Generated<number>
  /** Rises with every change that a participant would want to see. */
  change_count: Generated<number>
  create_time: number
  update_time: number
  /** Null while the conversation is open. */
  close_time: number | null
  /** Reason of the lock of the conversation; null while the conversation is not locked. */
  lock_reason: Generated<string | null>
  /** Position among the pinned conversations of its kind in the repository, from 1; null for none. */
  pin_order: Generated<number | null>
  /** Why an issue is closed; empty while it is open, without a reason, and for pull requests. */
  state_reason: Generated<StateReason | ''>
  /** The conversation that a closed issue repeats; null for none. */
  duplicate_of_id: Generated<number | null>
  /** Login of an author without an account here, and full name; empty for others. */
  original_author: Generated<string>
  original_name: Generated<string>
  /** Id of such an author at the other server; 0 if it is not known. */
  original_author_id: Generated<number>
  /** Markdown. */
  body: string
}

/** Why an issue is closed. */
export type StateReason = 'completed' | 'not_planned' | 'duplicate'

/** What an issue and a pull request have in common. */
export type Conversation = Selectable<ConversationColumns>

/**
 * Labels of a repository, or of an organisation for all its repositories. Exactly one of the two
 * ids is set.
 */
export interface LabelsTable {
  /** Never reused. */
  id: Generated<number>
  repository_id: number | null
  organization_id: number | null
  name: string
  /** Six lowercase hexadecimal digits. */
  color: string
  description: string
  /** 0 or 1. An issue has at most one exclusive label of each scope. */
  exclusive: number
  /** 0 or 1. */
  archived: number
}

export type Label = Selectable<LabelsTable>

interface MilestonesTable {
  /** Never reused. */
  id: Generated<number>
  repository_id: number
  title: string
  /** Markdown. */
  description: string
  state: 'open' | 'closed'
  /** Unix seconds; null without a due date. */
  due_time: number | null
  /** Unix seconds; null while the milestone is open. */
  close_time: number | null
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /** The number of open issues and pull requests. */
  open_issues: Generated<number>
  /** The number of closed issues and pull requests. */
  closed_issues: Generated<number>
}

export type Milestone = Selectable<MilestonesTable>

export type NewMilestone = Insertable<MilestonesTable>

export type MilestoneChanges = Partial<Omit<NewMilestone, 'id' | 'repository_id' | 'create_time'>>

/** The columns of a conversation that lists of a label or an assignee are read by. Triggers keep them. */
interface ListedColumns {
  issue_id: number
  repository_id: Generated<number>
  is_pull: Generated<number>
  /** 0 or 1. */
  is_open: Generated<number>
  create_time: Generated<number>
}

interface IssueLabelsTable extends ListedColumns {
  /** A label of the repository, or of the organisation that owns the repository. */
  label_id: number
}

interface IssueAssigneesTable extends ListedColumns {
  user_id: number
}

/** Participants of conversations, and what they have seen. */
interface ParticipantsTable {
  issue_id: number
  user_id: number
  /** `change_count` of the conversation at the last visit of the user. */
  seen: number
}

/** Subscriptions to single conversations, which take precedence over those to the repository. */
export interface IssueSubscriptionsTable {
  issue_id: number
  user_id: number
  /** 0 or 1. With 0, the user is notified only of mentions, assignments and review requests. */
  subscribed: number
  /** Unix seconds. */
  create_time: number
}

/** Comments on a conversation as a whole. */
export interface IssueCommentsTable {
  /** Never reused. */
  id: Generated<number>
  issue_id: number
  /** The repository of the conversation. */
  repository_id: number
  /** Null if the account was deleted. */
  poster_id: number | null
  /** Unix seconds, like the next column. */
  create_time: number
  update_time: number
  /** Login of an author without an account here, and full name; empty for others. */
  original_author: Generated<string>
  original_name: Generated<string>
  /** Id of such an author at the other server; 0 if it is not known. */
  original_author_id: Generated<number>
  /** Markdown. */
  body: string
}

export type IssueComment = Selectable<IssueCommentsTable>

/** Edits of comments, with the texts before. */
interface CommentEditsTable {
  /** Never reused. */
  id: Generated<number>
  comment_id: number
  /** Who changed the text; null if the account was deleted. */
  editor_id: number | null
  /** Markdown: the text before the edit. */
  body: string
  /** Unix seconds. */
  create_time: number
}

export type CommentEdit = Selectable<CommentEditsTable>

/** Calls with a request id. */
interface IssueRequestsTable {
  user_id: number
  request_id: string
  /** Of the method and the request. */
  digest: string
  /** What the call made, as JSON. */
  result: string
  /** Unix seconds. */
  create_time: number
}

/**
 * Attachments of conversations and comments. The file is written before its row and removed after
 * it, so that no row is without its file.
 */
export interface IssueAttachmentsTable {
  /** Never reused. */
  id: Generated<number>
  /** The repository of the conversation, in whose folder the file is. */
  repository_id: number
  /** Null for an upload that nothing has taken yet. */
  issue_id: number | null
  /** Null for an attachment of the conversation itself. */
  comment_id: number | null
  /** Null if the account was deleted. */
  uploader_id: number | null
  /** Names the file on disk and in download URLs. */
  uuid: string
  name: string
  /** Size of the file in bytes. */
  bytes: number
  /** The number of downloads that were started. */
  download_count: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** The store that has the file. */
  store: Generated<ContentStore>
}

export type IssueAttachment = Selectable<IssueAttachmentsTable>

export type NewIssueAttachment = Insertable<IssueAttachmentsTable>

/** Reactions to conversations and to comments. */
interface IssueReactionsTable {
  id: Generated<number>
  issue_id: number
  /** Null for a reaction to the conversation itself. */
  comment_id: number | null
  user_id: number
  /** Name of the reaction, such as `+1` or `heart`. */
  content: string
  /** Unix seconds. */
  create_time: number
}

export type IssueReaction = Selectable<IssueReactionsTable>

export type NewIssueReaction = Insertable<IssueReactionsTable>

/** Dependencies between conversations of one repository. */
interface IssueDependenciesTable {
  /** The conversation that cannot be closed or merged while the other one is open. */
  issue_id: number
  depends_on_id: number
}

/** Timelines of conversations. Comments and reviews are in tables of their own. */
export interface TimelineTable {
  id: Generated<number>
  issue_id: number
  /** Names of compatible systems. */
  type:
    | 'close'
    | 'reopen'
    | 'merge_pull'
    | 'pull_push'
    | 'pull_scheduled_merge'
    | 'pull_cancel_scheduled_merge'
    | 'pull_restack_failed'
    | 'change_title'
    | 'change_target_branch'
    | 'change_issue_ref'
    | 'label'
    | 'milestone'
    | 'assignees'
    | 'review_request'
    | 'dismiss_review'
    | 'added_deadline'
    | 'modified_deadline'
    | 'removed_deadline'
    | 'lock'
    | 'unlock'
    | 'pin'
    | 'unpin'
    | 'duplicate'
    | 'unduplicate'
    | 'transferred'
    | 'add_dependency'
    | 'remove_dependency'
    | 'sub_issue_added'
    | 'sub_issue_removed'
    | 'parent_added'
    | 'parent_removed'
    // An issue says that it repeats the conversation.
    | 'comment_ref'
  /** Null for the server, and if the account was deleted. */
  actor_id: number | null
  /** Unix seconds. */
  create_time: number
  /**
   * The former title or base branch; the reason of a closing; the id of the former milestone, or of the removed label or
   * user, with the prefix `team:` for a team; the id of the dismissed review; the commit that could not be
   * rebased; the former due date in Unix seconds; the former head of a push, with the prefix `forced:` if
   * the branch lost that commit, empty for pushes that older programs recorded; empty for other types.
   */
  old_value: string
  /**
   * The new title or base branch; the commit of a merge or a push, or the one that closed or reopened
   * an issue; the reason of a lock, a dismissal or a failed rebase; the id of the new milestone, or of the added label, user or team, as above; the new
   * due date in Unix seconds; empty for other types.
   */
  new_value: string
  /** The other conversation of an event about two; null for other types. */
  source_id: number | null
  /** Login of an author without an account here, and full name; empty for others. */
  original_author: Generated<string>
  original_name: Generated<string>
}

export type NewTimelineEntry = Insertable<TimelineTable>

/** The conversations that texts and commits name. Timelines show them as entries. */
export interface ReferencesTable {
  id: Generated<number>
  /** The conversation that is named. */
  target_id: number
  /** Names of compatible systems. */
  type: 'issue_ref' | 'pull_ref' | 'comment_ref' | 'commit_ref'
  /** The repository of the text or the commit. */
  repository_id: number
  /** The conversation of the text; null for a commit. */
  source_id: number | null
  /** Null for titles, descriptions and commits. */
  comment_id: number | null
  /** The latest commit with `change_key`; empty for a text. */
  commit_id: Generated<string>
  /** A digest of the author, the time and the message of a commit; null for a text. */
  change_key: string | null
  /** What a merge of the pull request that has the text does to the issue. */
  action: ReferenceAction
  /** Who wrote the text or pushed the commit; null if the account was deleted. */
  writer_id: number | null
  /** Unix seconds. */
  create_time: number
}

/** What a text says about a conversation: a name alone, or with a word that closes or reopens. */
export type ReferenceAction = 'none' | 'closes' | 'reopens'

export type StoredReference = Selectable<ReferencesTable>

export type NewReference = Insertable<ReferencesTable>

/** Pushes and merges whose references are not followed yet. */
export interface ReferenceWorkTable {
  id: Generated<number>
  repository_id: number
  /** Who pushed or merged; null if the account was deleted. */
  actor_id: number | null
  /** Without `refs/heads/`. */
  branch: string
  /** The commits that this commit contains are known; null for none. */
  from_commit: string | null
  /** The new commit of the branch, or the commit of the merge. */
  to_commit: string
  /** The pull request that was merged; null for a push. */
  pull_request_id: number | null
  /** The number of commits, from the oldest one, that are done. */
  done: Generated<number>
  /** Number of failed attempts. */
  tries: Generated<number>
  /** Time of the next attempt, in Unix milliseconds. */
  due_time: number
}

export type ReferenceWork = Selectable<ReferenceWorkTable>

/**
 * Changes of conversations whose notifications are pending. A row is deleted when the last user has
 * been notified.
 */
export interface NoticesTable {
  id: Generated<number>
  issue_id: number
  type: Extract<RepositoryEventsTable['type'], `${'ISSUE' | 'PULL_REQUEST'}_${string}`>
  /** Id of the user who made the change, who may be deleted; null for the server. */
  actor_id: number | null
  /** Id of a comment on the conversation, which may be deleted; null for changes without one. */
  comment_id: number | null
  /** Id of a submitted review; null for other changes. */
  review_id: number | null
  /** JSON: the users whom the change concerns. */
  told: string
  /** Unix milliseconds. */
  time: number
  /** The users up to this id have been notified. */
  last_user_id: Generated<number>
  failures: Generated<number>
  /** Unix milliseconds. */
  due_time: number
}

export type Notice = Selectable<NoticesTable>

/**
 * The conversations of webhook messages. The body of such a message is built when it is sent. A row is
 * deleted with its message.
 */
export interface ConversationMessagesTable {
  message_id: number
  /** The conversation may have been deleted. */
  issue_id: number
  /** The user who caused the event, who may have been deleted; null for the server. */
  actor_id: number | null
}

export type ConversationMessage = Selectable<ConversationMessagesTable>

/** The users whom texts of a conversation have ever mentioned, whatever they may read. */
interface IssueMentionsTable {
  user_id: number
  issue_id: number
}

/** The issues that are parts of others. */
interface SubIssuesTable {
  issue_id: number
  parent_id: number
  /** From 1. Deleted issues leave gaps. */
  position: number
}

/** Imports of issues. */
interface IssueImportsTable {
  id: Generated<number>
  repository_id: number
  /** Who imports; null if the account was deleted. */
  user_id: number | null
  /** Empty for none. */
  request_id: string
  /** A digest of the request. */
  digest: string
  /** Number of records. */
  total: number
  /** Number of records that are stored. */
  done: Generated<number>
  /** The stored issues, as a list in JSON. */
  issue_ids: Generated<string>
  /** Number of stored issues whose events, links and references are made. */
  referring: Generated<number>
  /** Number of files in the records. */
  files: Generated<number>
  /** Number of files that are stored or left out. */
  files_done: Generated<number>
  /** What could not be imported, as a list of texts in JSON. */
  problems: Generated<string>
  /** Unix seconds. */
  create_time: number
}

/** What imported issues have to do with an issue that a later request of the import may bring. */
interface IssueImportWaitsTable {
  id: Generated<number>
  /** The import that brought the issue that waits. */
  import_id: number
  /** Where the missing issue is to be, with its number. */
  repository_id: number
  number: number
  /** The issue that waits, and the comment with the reference; null if no comment waits. */
  issue_id: number
  comment_id: number | null
  /** `text`: a reference. The others are the names of the parts of records. */
  kind: 'text' | 'event' | 'dependencies' | 'blocks' | 'children' | 'parent' | 'duplicate_of'
  /** An event as it is stored, in JSON; empty for another kind. */
  entry: string
  /** The problem of the import that says what is missing; empty for a text. */
  problem: string
}

/** The former numbers of issues that other repositories have now. */
interface IssueTransfersTable {
  repository_id: number
  number: number
  issue_id: number
}

/** What accounts have written of late. Rows are kept for an hour at least. */
interface ContributionsTable {
  user_id: number
  /**
   * `TEXT` for a comment, a review or a reaction. Pull requests count as issues. `MENTION` for a user
   * who was told of a mention.
   */
  kind: 'ISSUE' | 'TEXT' | 'MENTION'
  /** Unix seconds. */
  create_time: number
}

export type Contribution = Selectable<ContributionsTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    issue_transfers: IssueTransfersTable
    sub_issues: SubIssuesTable
    issue_imports: IssueImportsTable
    issue_import_waits: IssueImportWaitsTable
    contributions: ContributionsTable
    issue_mentions: IssueMentionsTable
    labels: LabelsTable
    milestones: MilestonesTable
    issue_attachments: IssueAttachmentsTable
    issue_comments: IssueCommentsTable
    issue_comment_edits: CommentEditsTable
    issue_dependencies: IssueDependenciesTable
    issue_messages: ConversationMessagesTable
    issue_notices: NoticesTable
    issue_participants: ParticipantsTable
    issue_reactions: IssueReactionsTable
    issue_requests: IssueRequestsTable
    issue_references: ReferencesTable
    issue_assignees: IssueAssigneesTable
    issue_labels: IssueLabelsTable
    issue_subscriptions: IssueSubscriptionsTable
    issue_timeline: TimelineTable
    reference_work: ReferenceWorkTable
  }
}

/** The kinds of conversations. */
export interface ConversationKinds {
  readonly issues: boolean
  readonly pulls: boolean
}
