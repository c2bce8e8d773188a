import type { Generated, Insertable, Selectable } from 'kysely'
export type MemoVisibility = 'PRIVATE' | 'PROTECTED' | 'PUBLIC'

export interface MemosTable {
  id: Generated<number>
  /** Last segment of the resource name; its case counts. */
  uid: string
  creator_id: number
  /** The memo or comment that it comments on; null for a memo that is no comment. */
  parent_id: number | null
  /** The memo at the top of its tree of comments; null for a memo that is no comment. */
  root_id: number | null
  state: 'NORMAL' | 'ARCHIVED'
  /** Of a comment that of its root, kept equal in the same transaction. */
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
  /** What the analysis of the content found, stored so that no read parses Markdown. */
  title: string
  snippet: string
  content: string
}

/** The tags of a memo, one row each. */
export interface MemoTagsTable {
  memo_id: number
  /** Without its `#`. */
  tag: string
  /** Where it stands among the tags of the memo, from 0. */
  position: number
}

export type Memo = Selectable<MemosTable>

export type NewMemo = Insertable<MemosTable>

/** What may change of a memo. */
export type MemoChanges = Partial<Omit<Memo, 'id' | 'uid' | 'creator_id' | 'parent_id' | 'root_id'>>

export interface NotificationsTable {
  /** Last segment of the resource name, unique over all receivers and never given again. */
  id: Generated<number>
  receiver_id: number
  sender_id: number
  type: NotificationType
  status: NotificationStatus
  /** The comment, or the memo or comment with the mention; null once it was deleted. */
  memo_id: number | null
  /** Unix seconds. */
  create_time: number
}

export type NotificationType = 'MEMO_COMMENT' | 'MEMO_MENTION'

export type NotificationStatus = 'UNREAD' | 'ARCHIVED'

export type Notification = Selectable<NotificationsTable>

/**
 * What happened to the memos and notifications of an account, for those who watch. Rows come and go
 * oldest first.
 */
export interface UserEventsTable {
  /** Ascends in the order of commits: SQLite has one writer. Never given twice. */
  id: Generated<number>
  /** Whose event it is. */
  user_id: number
  type:
    | 'MEMO_CREATED'
    | 'MEMO_UPDATED'
    | 'MEMO_DELETED'
    | 'MEMO_COMMENT_CREATED'
    | 'NOTIFICATION_CREATED'
    | 'NOTIFICATION_UPDATED'
    | 'NOTIFICATION_DELETED'
  /** `uid` of the memo, or number of the notification. */
  resource: string
  /** Unix milliseconds. */
  time: number
}

/** What is known of the events of an account as a whole. It has no row before its first event. */
export interface UserEventLogsTable {
  user_id: number
  /** Id of its latest event, also once that is forgotten. */
  newest: number
  /** Events with ids up to this one have been forgotten; 0 when none has. */
  floor: number
  /** How many of its events are stored. */
  count: number
}

export type UserEvent = Selectable<UserEventsTable>

export type UserEventLog = Selectable<UserEventLogsTable>

/**
 * How many memos an account has of one visibility, kept by triggers. Comments and archived memos do
 * not count.
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

/** How many of these memos carry a tag, kept by triggers too. */
export interface MemoTagCountsTable {
  user_id: number
  visibility: MemoVisibility
  tag: string
  memos: number
}

export type MemoCounts = Omit<MemoCountsTable, 'user_id' | 'visibility'>
