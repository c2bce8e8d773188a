import type { Generated, Insertable, Selectable } from 'kysely'

export type MemoVisibility = 'PRIVATE' | 'PROTECTED' | 'PUBLIC'

export interface MemosTable {
  id: Generated<number>
  /** The last segment of the resource name, case-sensitive. */
  uid: string
  creator_id: number
  /** The memo or comment that this comment belongs to; null for a memo that is not a comment. */
  parent_id: number | null
  /** The memo at the top of the tree of comments; null for a memo that is not a comment. */
  root_id: number | null
  state: 'NORMAL' | 'ARCHIVED'
  /** A comment has the visibility of its root, updated in the same transaction. */
  visibility: MemoVisibility
  /** 0 or 1, as are the four flags below. */
  pinned: number
  has_link: number
  has_code: number
  has_task_list: number
  has_incomplete_tasks: number
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /** The results of the analysis of the content, stored so that no read parses Markdown. */
  title: string
  snippet: string
  content: string
}

/** The tags of a memo, one row each. */
export interface MemoTagsTable {
  memo_id: number
  /** Without `#`. */
  tag: string
  /** The position among the tags of the memo, from 0. */
  position: number
}

export type Memo = Selectable<MemosTable>

export type NewMemo = Insertable<MemosTable>

/** The columns of a memo that can change. */
export type MemoChanges = Partial<Omit<Memo, 'id' | 'uid' | 'creator_id' | 'parent_id' | 'root_id'>>

export interface NotificationsTable {
  /** The last segment of the resource name. Unique over all receivers, and never reused. */
  id: Generated<number>
  receiver_id: number
  sender_id: number
  type: NotificationType
  status: NotificationStatus
  /** The comment, or the memo or comment with the mention; null after its deletion. */
  memo_id: number | null
  /** Unix seconds. */
  create_time: number
}

export type NotificationType = 'MEMO_COMMENT' | 'MEMO_MENTION'

export type NotificationStatus = 'UNREAD' | 'ARCHIVED'

export type Notification = Selectable<NotificationsTable>

/** The events of accounts, for watchers. Rows are deleted oldest first. */
export interface UserEventsTable {
  /** Ascends in the order of commits (`commitInOrder`). Never reused. */
  id: Generated<number>
  /** The account that the event belongs to. */
  user_id: number
  type:
    | 'MEMO_CREATED'
    | 'MEMO_UPDATED'
    | 'MEMO_DELETED'
    | 'MEMO_COMMENT_CREATED'
    | 'NOTIFICATION_CREATED'
    | 'NOTIFICATION_UPDATED'
    | 'NOTIFICATION_DELETED'
  /** The `uid` of the memo, or the number of the notification. */
  resource: string
  /** Unix milliseconds. */
  time: number
}

/** The state of an account's event log. An account has no row before its first event. */
export interface UserEventLogsTable {
  user_id: number
  /** The id of the latest event, even if that was pruned. */
  newest: number
  /** Events with ids up to this one have been pruned; 0 when none has. */
  floor: number
  /** The number of stored events. */
  count: number
}

export type UserEvent = Selectable<UserEventsTable>

export type UserEventLog = Selectable<UserEventLogsTable>

/**
 * The number of memos of an account per visibility, updated by triggers. Comments and archived
 * memos do not count.
 */
export interface MemoCountsTable {
  user_id: number
  visibility: MemoVisibility
  memos: number
  with_link: number
  with_code: number
  with_task_list: number
  with_incomplete_tasks: number
}

/** The number of these memos per tag, updated by triggers. */
export interface MemoTagCountsTable {
  user_id: number
  visibility: MemoVisibility
  tag: string
  memos: number
}

export type MemoCounts = Omit<MemoCountsTable, 'user_id' | 'visibility'>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    memo_counts: MemoCountsTable
    memo_tag_counts: MemoTagCountsTable
    memo_tags: MemoTagsTable
    memos: MemosTable
    notifications: NotificationsTable
    user_event_logs: UserEventLogsTable
    user_events: UserEventsTable
  }
}
