import { transaction } from '../../platform/database/database.ts'
import {
  editConversationLabels,
  type LabelReference,
} from '../conversations/conversation-labels.ts'
import { createIssueComment } from '../conversations/issue-comments.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { SignedIn } from '../core/access.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName } from '../core/names.ts'
import { wakeWatchers } from '../repositories/activity/repository-events.ts'
import { findNamed } from './open-issues.ts'

/** What an edit does beside its fields. */
interface Additions {
  /** All labels; undefined for no change. Ignored for callers who may not write to the conversation. */
  readonly labels: readonly LabelReference[] | undefined
  /** A comment after the change; empty for none. */
  readonly comment: string
}

/**
 * Changes the fields and labels of a conversation and adds a comment: of an issue completely or not at
 * all. A change of a pull request may wait for a merge, which no transaction may do.
 *
 * @param editFields changes the fields.
 * @throws as `editFields`, `editConversationLabels` and `createIssueComment`
 */
export async function editWithComment(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  { labels, comment }: Additions,
  editFields: (app: ConversationsApp) => Promise<unknown>,
): Promise<void> {
  const { access } = await app.conversations.open(app, caller, name, 'poster or write')
  const { conversation } = await findNamed(app, caller, name)
  const work = async (within: ConversationsApp) => {
    await editFields(within)
    if (labels && suffices(access, 'write'))
      await editConversationLabels(within, caller, name, { set: labels, add: [], remove: [] })
    if (comment !== '')
      await createIssueComment(within, caller, name, { body: comment, attachments: [] })
  }
  await (conversation.is_pull === 1
    ? work(app)
    : transaction(app.db, (tx) => work({ ...app, db: tx })))
  // The calls within the transaction woke watchers before its commit.
  wakeWatchers(app)
}
