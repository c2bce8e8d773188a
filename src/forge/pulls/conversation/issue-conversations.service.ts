import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type TimelineComment, TimelineCommentSchema } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.service.ts'
import type { App } from '../../app.ts'
import { labelMessagesIn } from '../../conversations/label.service.ts'
import { milestoneMessage } from '../../conversations/milestone.service.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond, secondsOf } from '../../core/wire/times.ts'
import { teamMessage } from '../../organizations/team.service.ts'
import { gitUrls } from '../../repositories/lifecycle/git-urls.message.ts'
import { lockConversation, unlockConversation } from './conversation-locks.ts'
import { listTimeline, type TimelineView } from './timelines.ts'

/** The methods of IssueService about the conversation of a pull request. */
export type ConversationMethods = Pick<
  ServiceImpl<typeof IssueService>,
  'lockIssue' | 'unlockIssue' | 'listIssueTimeline'
>

/** Implements the conversation methods of IssueService. */
export function conversationMethods(app: App): ConversationMethods {
  return {
    async lockIssue({ owner, repo, index, lockReason }, context) {
      const caller = signedIn(callerOf(context))
      await lockConversation(app, caller, { owner, repo, number: Number(index) }, lockReason)
      return {}
    },

    async unlockIssue({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      await unlockConversation(app, caller, { owner, repo, number: Number(index) })
      return {}
    },

    async listIssueTimeline({ owner, repo, index, since, before, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { entries, total } = await listTimeline(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { since: secondsOf(since), before: secondsOf(before) },
        page,
      )
      return {
        entries: entries.map((view) => timelineMessage(app, caller, view)),
        total: BigInt(total),
        limit: page.limit,
      }
    },
  }
}

function timelineMessage(app: App, viewer: Caller, view: TimelineView): TimelineComment {
  const { open, entry, actor, milestone, oldMilestone, label, assignee, team } = view
  const page = gitUrls(app, open).html(`/pulls/${open.pull.number}`)
  const isTitle = entry.type === 'change_title'
  const isBase = entry.type === 'change_target_branch'
  const hasCommit = entry.type === 'merge_pull' || entry.type === 'pull_push'
  return create(TimelineCommentSchema, {
    id: BigInt(entry.id),
    type: entry.type,
    htmlUrl: entry.type === 'comment' ? `${page}#issuecomment-${entry.id}` : page,
    pullRequestUrl: page,
    user: accountMessage(app, viewer, actor),
    body: bodyOf(view),
    createdAt: atSecond(entry.create_time),
    updatedAt: atSecond(entry.update_time),
    oldTitle: isTitle ? entry.old_value : '',
    newTitle: isTitle ? entry.new_value : '',
    oldRef: isBase ? entry.old_value : '',
    newRef: isBase ? entry.new_value : '',
    refCommitSha: hasCommit ? entry.new_value : '',
    reviewId: reviewIdOf(view),
    ...(oldMilestone && { oldMilestone: milestoneMessage(oldMilestone) }),
    ...(milestone && { milestone: milestoneMessage(milestone) }),
    ...(label && { label: labelMessagesIn(app, open, [label])[0] }),
    ...(assignee && { assignee: accountMessage(app, viewer, assignee) }),
    ...(team && { assigneeTeam: teamMessage(app, viewer, team) }),
    removedAssignee: entry.type !== 'label' && view.isRemoved,
  })
}

function reviewIdOf({ entry }: TimelineView): bigint {
  if (entry.type === 'review') return BigInt(entry.id)
  return entry.type === 'dismiss_review' ? BigInt(entry.old_value) : 0n
}

function bodyOf({ entry, isRemoved }: TimelineView): string {
  switch (entry.type) {
    case 'lock':
    case 'dismiss_review':
      return entry.new_value
    case 'label':
      return isRemoved ? '' : '1'
    case 'added_deadline':
      return dateOf(entry.new_value)
    case 'modified_deadline':
      return `${dateOf(entry.new_value)}|${dateOf(entry.old_value)}`
    case 'removed_deadline':
      return dateOf(entry.old_value)
    default:
      return entry.body
  }
}

/** Returns the day of a time in Unix seconds, in UTC. */
function dateOf(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString().slice(0, 10)
}
