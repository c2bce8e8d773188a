import type { Tx } from '../../platform/database/schema.ts'
import type { Caller } from '../core/access.ts'
import type { ConversationName } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Concerns } from './concerns.ts'
import type { Conversation } from './schema.ts'

/** Dependencies of conversations on the server. */
export interface ConversationsApp extends ReposApp {
  readonly conversations: Conversations
}

/**
 * What a call requires of its caller:
 * - `read`: read access to the conversation.
 * - `take part`: read access to a conversation of a repository that is not archived.
 * - `poster or write`: to be the poster of the conversation, or to have write access.
 * - `write`: write access to conversations of the kind.
 * - `admin`: to administer the repository.
 */
export type ConversationRight = 'read' | 'take part' | 'poster or write' | 'write' | 'admin'

/**
 * What the machinery of conversations asks of those who have conversations: issues and pull
 * requests.
 */
export interface Conversations {
  /**
   * Opens the conversation that a request names.
   *
   * @throws as `openConversations`; ISSUE_NOT_FOUND, also if the caller may not read conversations of
   *   the kind; ISSUE_EDIT_DENIED, PULL_REQUEST_EDIT_DENIED or REPOSITORY_ACCESS_DENIED if the caller
   *   may read the conversation but lacks the access that is needed; REPOSITORY_ARCHIVED if more than
   *   reading is needed.
   */
  open(
    app: ReposApp,
    caller: Caller,
    name: ConversationName,
    needed: ConversationRight,
  ): Promise<OpenConversation>
}

/**
 * A conversation that the caller may read. `access` is the permission level of the caller for
 * conversations of the kind.
 */
export interface OpenConversation extends OpenRepository {
  readonly conversation: Conversation
  /**
   * Reads the conversation again, in the transaction of a change. The repository may have been
   * archived since the conversation was opened.
   *
   * @throws ISSUE_NOT_FOUND or PULL_REQUEST_NOT_FOUND, REPOSITORY_ARCHIVED
   */
  beginChange(tx: Tx): Promise<ChangingConversation>
}

/** A conversation in the transaction of a change. */
export interface ChangingConversation {
  readonly conversation: Conversation
  /**
   * Records a change for the watchers and the webhooks of the repository, for the webhooks of the
   * participants, and for the notifications of users.
   */
  record(actorId: number, change: ConversationChange): Promise<void>
}

/** A change of a conversation. */
export type ConversationChange =
  /** A `setting`, such as a lock or a pin, is no change that participants would want to see. */
  | { readonly type: 'setting' | 'dependencies' | 'attachments' }
  /** The ids of the labels or users before and after the change. */
  | {
      readonly type: 'labels' | 'assignees'
      readonly before: readonly number[]
      readonly after: readonly number[]
    }
  /** Without `concerns`, nobody is told. */
  | {
      readonly type: 'comment'
      readonly action: 'created' | 'edited' | 'deleted'
      readonly commentId: number
      /** The text of a new comment. */
      readonly body?: string
      /** The text before an edit. */
      readonly formerBody?: string
      readonly concerns?: Concerns
    }
