import type { Owner } from '../accounts/schema.ts'
import type { IssueCommentView } from '../conversations/issue-comments.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { Label } from '../conversations/schema.ts'
import type { Caller } from '../core/access.ts'
import type { ConversationView } from '../issues/issue-views.ts'
import type { MemoPayloads, MemosApp } from '../memos/ports.ts'
import type { PullView } from '../pulls/lists/pull-views.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { RepositoryView } from '../repositories/lifecycle/repository-views.ts'
import type { ReleaseView } from '../repositories/releases/releases.ts'

/** The interfaces that webhook deliveries need. */
export interface DeliveriesApp extends MemosApp, ConversationsApp {
  readonly payloads: Payloads
}

/** Converts resources to the JSON format of the API, for webhooks. */
export interface Payloads extends MemoPayloads {
  /** Returns a pull request as in a REST list for a viewer. */
  pullRequest(app: DeliveriesApp, viewer: Caller, view: PullView): string
  /** Returns a repository as in a REST response for a viewer. */
  repository(app: DeliveriesApp, viewer: Caller, view: RepositoryView): string
  /** Returns an issue, or a pull request as an issue, as in a REST response for a viewer. */
  issue(app: DeliveriesApp, viewer: Caller, view: ConversationView): string
  /** Returns a label in a repository as in a REST response. */
  label(app: DeliveriesApp, open: OpenRepository, label: Label): string
  /** Returns a comment on an issue or pull request as in a REST response for a viewer. */
  comment(app: DeliveriesApp, viewer: Caller, view: IssueCommentView): string
  /** Returns a release as in a REST response for a viewer. */
  release(app: DeliveriesApp, viewer: Caller, view: ReleaseView): string
  /** Returns an account as in a REST response for a viewer. */
  account(app: DeliveriesApp, viewer: Caller, account: Owner): string
}
