import type { Generated, Selectable } from 'kysely'

/** Notifications of pull requests: one row for each user and pull request. */
export interface NotificationThreadsTable {
  id: Generated<number>
  user_id: number
  issue_id: number
  /** That of the pull request. */
  repository_id: number
  status: 'UNREAD' | 'READ' | 'PINNED'
  /** The strongest reason for a notification since the user read the thread. */
  reason: 'MENTION' | 'REVIEW_REQUESTED' | 'ASSIGN' | 'PARTICIPATING' | 'SUBSCRIBED'
  /** Id of the latest comment, which may be deleted; null if there was none. */
  comment_id: number | null
  /** Unix seconds. */
  update_time: number
  /** JSON: the changes that the next mail tells, oldest first. */
  mail_items: Generated<string>
  /** Unix milliseconds from which the next mail is due; null for none. */
  mail_time: Generated<number | null>
  /** Unix milliseconds of the last mail; 0 before the first one. */
  last_mail_time: Generated<number>
  mail_failures: Generated<number>
}

export type NotificationThread = Selectable<NotificationThreadsTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    notification_threads: NotificationThreadsTable
  }
}
