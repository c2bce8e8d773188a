import type { Tx } from '../../../platform/database/schema.ts'
import type {
  ConversationChange,
  ConversationRight,
  OpenConversation,
} from '../../conversations/ports.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { PullRequest } from '../schema.ts'
import { type OpenPull, openPullWithin, rereadForChange } from './open-pulls.ts'
import { labelEvent, recordPullChange } from './pull-changes.ts'
import { touchPull } from './pull-requests.rows.ts'

/**
 * Opens a pull request as a conversation, in a repository that is open already and whose pull
 * requests the caller may read.
 *
 * @throws as `Conversations.open`
 */
export async function openPullConversation(
  app: ReposApp,
  caller: Caller,
  repository: OpenRepository,
  number: number,
  needed: ConversationRight,
): Promise<OpenConversation> {
  const open = await openPullWithin(app, caller, repository, number, needed).catch(asIssueError)
  return asConversation(app, open)
}

function asConversation(app: ReposApp, { pull: seen, ...open }: OpenPull): OpenConversation {
  return {
    ...open,
    conversation: seen,
    async beginChange(tx) {
      const pull = await rereadForChange(tx, { ...open, pull: seen }).catch(asIssueError)
      return {
        conversation: pull,
        record: (actorId, change) => recordChange(app, tx, actorId, pull, change),
      }
    },
  }
}

/** The methods of conversations have one reason for what is missing, whatever its kind. */
function asIssueError(error: unknown): never {
  const isMissing = error instanceof DomainError && error.reason === 'PULL_REQUEST_NOT_FOUND'
  throw isMissing ? new DomainError('ISSUE_NOT_FOUND') : error
}

async function recordChange(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  pull: PullRequest,
  change: ConversationChange,
): Promise<void> {
  if (change.type !== 'setting') await touchPull(tx, pull.id, nowSeconds(app.clock), actorId)
  await recordPullChange(app, tx, actorId, pull, pullChangeOf(change))
}

function pullChangeOf(change: ConversationChange): Parameters<typeof recordPullChange>[4] {
  switch (change.type) {
    case 'setting':
      return { type: 'PULL_REQUEST_EDITED', told: [] }
    case 'dependencies':
    case 'attachments':
      return 'PULL_REQUEST_EDITED'
    case 'labels':
      return { type: 'PULL_REQUEST_EDITED', told: [labelEvent(change.after.length)] }
    case 'assignees': {
      const action = change.after.length > 0 ? 'assigned' : 'unassigned'
      const assignees = change.after.filter((id) => !change.before.includes(id))
      return {
        type: 'PULL_REQUEST_EDITED',
        told: [{ type: 'pull_request_assign', action }],
        concerns: { everybody: false, assignees },
      }
    }
    case 'comment': {
      const { action, commentId: comment, concerns } = change
      const told = [{ type: 'pull_request_comment', action, comment } as const]
      const noted = { commentId: comment, change: action }
      return { type: 'PULL_REQUEST_COMMENTED', told, concerns, comment: noted }
    }
  }
}
